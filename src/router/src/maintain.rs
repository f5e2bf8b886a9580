//! What a heartbeat does to the mesh of one topic.

use crate::action::Actions;
use crate::index::{PeerIndex, TopicIndex};
use crate::peer::Peer;
use crate::router::Router;
use crate::time::Moment;

impl<H: Clone> Router<H> {
    /// Brings the mesh back between its bounds (gossipsub 1.0, mesh maintenance; 1.1, heartbeat maintenance).
    pub(crate) fn maintain_mesh(&mut self, topic: TopicIndex, now: Moment, out: &mut Actions<H>) {
        self.prune_negative(topic, now, out);
        let degrees = self.config.mesh.degrees;
        let size = self.mesh(topic).len();
        if size < degrees.low {
            self.graft_some(topic, degrees.target - size, now, out, |_| true);
        }
        if self.mesh(topic).len() > degrees.high {
            self.prune_excess(topic, now, out);
        }
        if self.mesh(topic).len() >= degrees.low {
            let missing = degrees.outbound.saturating_sub(self.outbound_in_mesh(topic));
            self.graft_some(topic, missing, now, out, |peer| peer.info.outbound);
        }
        if u64::from(self.heartbeats).is_multiple_of(self.config.mesh.opportunistic_heartbeats.max(1)) {
            self.graft_opportunistically(topic, now, out);
        }
    }

    fn outbound_in_mesh(&self, topic: TopicIndex) -> usize {
        let is_outbound = |index: &&PeerIndex| self.peers.get(**index).is_some_and(|peer| peer.info.outbound);
        self.mesh(topic).iter().filter(is_outbound).count()
    }

    fn score_of(&self, index: PeerIndex) -> f64 {
        self.score(index).unwrap_or(0.0)
    }

    fn prune_negative(&mut self, topic: TopicIndex, now: Moment, out: &mut Actions<H>) {
        let mut chosen = std::mem::take(&mut self.chosen);
        chosen.clear();
        chosen.extend(self.mesh(topic).iter().filter(|peer| self.score_of(**peer) < 0.0));
        for peer in &chosen {
            self.prune_peer(topic, *peer, self.config.mesh.prune_backoff, now, out);
        }
        self.chosen = chosen;
    }

    /// Grafts up to `count` peers at random, of those that may be grafted and fulfil the condition.
    pub(crate) fn graft_some(
        &mut self,
        topic: TopicIndex,
        count: usize,
        now: Moment,
        out: &mut Actions<H>,
        condition: impl Fn(&Peer) -> bool,
    ) {
        if count == 0 {
            return;
        }
        let mut chosen = std::mem::take(&mut self.chosen);
        chosen.clear();
        if let Some(known) = self.topics.get(topic) {
            let fits = |index: &&PeerIndex| {
                self.peers.get(**index).is_some_and(&condition) && self.may_graft(topic, **index, now)
            };
            chosen.extend(known.gossipers.iter().filter(fits));
        }
        for peer in self.rng.choose(&mut chosen, count) {
            let peer = *peer;
            self.graft_peer(topic, peer, now, out);
        }
        self.chosen = chosen;
    }

    /// Keeps the best, then others at random, and among all of them enough outbound connections.
    fn prune_excess(&mut self, topic: TopicIndex, now: Moment, out: &mut Actions<H>) {
        let degrees = self.config.mesh.degrees;
        let mut chosen = std::mem::take(&mut self.chosen);
        chosen.clear();
        chosen.extend(self.mesh(topic));
        // Shuffled first, so that equal scores do not favour old peers.
        self.rng.shuffle(&mut chosen);
        chosen.sort_by(|a, b| self.score_of(*b).total_cmp(&self.score_of(*a)));
        self.rng.shuffle(&mut chosen[degrees.score.min(degrees.target)..]);
        let (kept, pruned) = chosen.split_at_mut(degrees.target);
        let is_outbound = |index: &PeerIndex| self.peers.get(*index).is_some_and(|peer| peer.info.outbound);
        let mut missing = degrees.outbound.saturating_sub(kept.iter().filter(|peer| is_outbound(peer)).count());
        // From the end: the random ones give way first, then those of lower score.
        for place in kept.iter_mut().rev().filter(|peer| !is_outbound(peer)) {
            let Some(replacement) = pruned.iter_mut().find(|peer| missing > 0 && is_outbound(peer)) else { break };
            std::mem::swap(place, replacement);
            missing -= 1;
        }
        for peer in pruned {
            self.prune_peer(topic, *peer, self.config.mesh.prune_backoff, now, out);
        }
        self.chosen = chosen;
    }

    /// Adds a few better peers to a mesh whose median score is low, so that a mesh of bad peers does not last.
    fn graft_opportunistically(&mut self, topic: TopicIndex, now: Moment, out: &mut Actions<H>) {
        let mut chosen = std::mem::take(&mut self.chosen);
        chosen.clear();
        chosen.extend(self.mesh(topic));
        chosen.sort_by(|a, b| self.score_of(*a).total_cmp(&self.score_of(*b)));
        let median = chosen.get(chosen.len() / 2).map(|peer| self.score_of(*peer));
        self.chosen = chosen;
        if let Some(median) = median.filter(|median| *median < self.config.thresholds.opportunistic_graft) {
            let count = self.config.mesh.opportunistic_peers;
            self.graft_some(topic, count, now, out, |peer| peer.score() > median);
        }
    }
}
