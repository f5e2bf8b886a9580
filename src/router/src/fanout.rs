//! Peers that own messages go to on a topic that is not joined, when publishing does not flood.

use crate::action::Actions;
use crate::index::{PeerIndex, TopicIndex};
use crate::router::Router;
use crate::time::Moment;
use crate::topics::Fanout;

impl<H: Clone> Router<H> {
    /// Makes sure that the topic has a fanout of D peers, if there are so many, and notes that it is used now.
    pub(crate) fn use_fanout(&mut self, topic: TopicIndex, now: Moment) {
        if let Some(known) = self.topics.get_mut(topic) {
            let peers = known.fanout.take().map_or_else(Vec::new, |fanout| fanout.peers);
            known.fanout = Some(Fanout { peers, published: now });
            self.fill_fanout(topic);
        }
    }

    fn fill_fanout(&mut self, topic: TopicIndex) {
        let publish = self.config.thresholds.publish;
        let Some(known) = self.topics.get_mut(topic) else { return };
        let Some(fanout) = &mut known.fanout else { return };
        let is_good = |index: &PeerIndex| self.peers.get(*index).is_some_and(|peer| peer.score() >= publish);
        fanout.peers.retain(is_good);
        let missing = self.config.mesh.degrees.target.saturating_sub(fanout.peers.len());
        self.chosen.clear();
        self.chosen.extend(known.gossipers.iter().filter(|peer| !fanout.peers.contains(peer) && is_good(peer)));
        fanout.peers.extend_from_slice(self.rng.choose(&mut self.chosen, missing));
    }

    /// A heartbeat: drops the fanout when nothing was published for long, and fills it up otherwise.
    pub(crate) fn maintain_fanout(&mut self, topic: TopicIndex, now: Moment) {
        let Some(known) = self.topics.get_mut(topic) else { return };
        let Some(fanout) = &known.fanout else { return };
        if fanout.published.after(self.config.mesh.fanout_ttl) <= now {
            known.fanout = None;
        } else {
            self.fill_fanout(topic);
        }
    }

    /// The topic is joined now: the peers of its fanout are the first of its mesh.
    pub(crate) fn graft_fanout(&mut self, topic: TopicIndex, now: Moment, out: &mut Actions<H>) {
        let fanout = self.topics.get_mut(topic).and_then(|known| known.fanout.take());
        for peer in fanout.map_or_else(Vec::new, |fanout| fanout.peers) {
            if self.mesh(topic).len() < self.config.mesh.degrees.target && self.may_graft(topic, peer, now) {
                self.graft_peer(topic, peer, now, out);
            }
        }
    }
}
