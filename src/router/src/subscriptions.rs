//! Who is in which topic: this node's own membership (JOIN and LEAVE) and what peers announce.

use crate::action::{Action, Actions};
use crate::error::JoinError;
use crate::index::{PeerIndex, TopicIndex};
use crate::router::Router;
use crate::time::Moment;

/// What an announcement of a peer has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subscribed {
    /// The peer is in the topic now, or no longer.
    Changed(TopicIndex),
    /// It said what was known.
    Unchanged,
    /// The peer is unknown or graylisted, has too many topics, or the name is too long or finds no room. Nothing is kept.
    Refused,
}

impl<H: Clone> Router<H> {
    /// This node joins a topic: peers are told, and the mesh is filled from the fanout and then at random. Tells whether the topic
    /// was joined just now.
    ///
    /// # Errors
    /// [`JoinError`]; nothing has then changed.
    pub fn join(&mut self, name: &str, now: Moment, out: &mut Actions<H>) -> Result<(TopicIndex, bool), JoinError> {
        let (topic, is_new) = self.topics.join(name, &self.config)?;
        if is_new {
            if let Some(to) = out.add_peers(self.peers.indices()) {
                out.push(Action::Announce { topic, joined: true, to });
            }
            self.graft_fanout(topic, now, out);
            let missing = self.config.mesh.degrees.target.saturating_sub(self.mesh(topic).len());
            self.graft_some(topic, missing, now, out, |_| true);
        }
        Ok((topic, is_new))
    }

    /// This node leaves a topic: the mesh is pruned and peers are told. Tells whether it was in it.
    pub fn leave(&mut self, topic: TopicIndex, now: Moment, out: &mut Actions<H>) -> bool {
        if self.topics.joined(topic).is_none() {
            return false;
        }
        let backoff = self.config.mesh.unsubscribe_backoff;
        while let Some(peer) = self.mesh(topic).last().copied() {
            self.prune_peer(topic, peer, backoff, now, out);
        }
        let mesh = &self.config.mesh;
        let lingers = mesh.prune_backoff.max(backoff) + mesh.backoff_slack;
        self.topics.leave(topic, now.after(lingers));
        if let Some(to) = out.add_peers(self.peers.indices()) {
            out.push(Action::Announce { topic, joined: false, to });
        }
        true
    }

    /// A peer announces that it has joined a topic or left it.
    pub fn subscription(
        &mut self,
        from: PeerIndex,
        name: &str,
        joined: bool,
        now: Moment,
        out: &mut Actions<H>,
    ) -> Subscribed {
        if !self.hears(from) {
            return Subscribed::Refused;
        }
        if joined { self.subscribe_peer(from, name, now, out) } else { self.unsubscribe_peer(from, name, now) }
    }

    fn subscribe_peer(&mut self, from: PeerIndex, name: &str, now: Moment, out: &mut Actions<H>) -> Subscribed {
        let topics_max = self.config.limits.topics_per_peer_max;
        let known = self.topics.find(name);
        let Some(peer) = self.peers.get(from) else { return Subscribed::Refused };
        if known.is_some_and(|topic| peer.topics.binary_search(&topic).is_ok()) {
            return Subscribed::Unchanged;
        }
        let has_room = peer.topics.len() < topics_max;
        let Some(topic) = has_room.then(|| self.topics.intern(name, &self.config)).flatten() else {
            self.counters.subscriptions_refused += 1;
            return Subscribed::Refused;
        };
        if let Some(peer) = self.peers.get_mut(from)
            && let Err(at) = peer.topics.binary_search(&topic)
            && let Some(known) = self.topics.get_mut(topic)
        {
            peer.topics.insert(at, topic);
            if peer.gossips() { known.gossipers.push(from) } else { known.always.push(from) }
        }
        self.graft_newcomer(topic, from, now, out);
        Subscribed::Changed(topic)
    }

    /// A mesh that lacks peers need not wait for the heartbeat.
    fn graft_newcomer(&mut self, topic: TopicIndex, from: PeerIndex, now: Moment, out: &mut Actions<H>) {
        let is_short = self.topics.joined(topic).is_some_and(|known| known.mesh.len() < self.config.mesh.degrees.low);
        if is_short && self.may_graft(topic, from, now) {
            self.graft_peer(topic, from, now, out);
        }
    }

    fn unsubscribe_peer(&mut self, from: PeerIndex, name: &str, now: Moment) -> Subscribed {
        let Some(topic) = self.topics.find(name) else { return Subscribed::Unchanged };
        let Some(peer) = self.peers.get_mut(from) else { return Subscribed::Refused };
        let Ok(at) = peer.topics.binary_search(&topic) else { return Subscribed::Unchanged };
        peer.topics.remove(at);
        self.remove_from_topic(topic, from, now);
        Subscribed::Changed(topic)
    }

    /// The peer is no longer in the topic; no PRUNE is due to it.
    pub(crate) fn remove_from_topic(&mut self, topic: TopicIndex, index: PeerIndex, now: Moment) {
        self.remove_from_mesh(topic, index, now);
        let Some(known) = self.topics.get_mut(topic) else { return };
        known.gossipers.retain(|peer| *peer != index);
        known.always.retain(|peer| *peer != index);
        if let Some(fanout) = &mut known.fanout {
            fanout.peers.retain(|peer| *peer != index);
        }
        self.topics.forget_if_unused(topic, now);
    }
}
