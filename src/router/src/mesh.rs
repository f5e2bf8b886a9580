//! GRAFT and PRUNE: how a peer comes into a mesh and out of it.

use std::time::Duration;

use crate::action::{Action, Actions};
use crate::index::{PeerIndex, TopicIndex};
use crate::router::Router;
use crate::time::Moment;

/// What a GRAFT deserves.
enum GraftVerdict {
    /// The topic is not joined: silence, so that nonsense costs its sender alone (gossipsub 1.1, spam protection).
    Ignore,
    /// It is in the mesh already.
    Known,
    /// It comes into the mesh.
    Take,
    /// A PRUNE.
    Refuse,
    /// A PRUNE and a penalty, twice the penalty if it comes right after the last PRUNE.
    Penalise { times: f64 },
}

impl<H: Clone> Router<H> {
    /// A peer has put this node into its mesh.
    pub fn graft(&mut self, from: PeerIndex, topic: TopicIndex, now: Moment, out: &mut Actions<H>) {
        if !self.hears(from) {
            return;
        }
        match self.judge_graft(from, topic, now) {
            GraftVerdict::Ignore => self.counters.grafts_ignored += 1,
            GraftVerdict::Known => {}
            GraftVerdict::Take => self.add_to_mesh(topic, from, now),
            GraftVerdict::Refuse => self.refuse_graft(topic, from, now, out),
            GraftVerdict::Penalise { times } => {
                self.counters.grafts_in_backoff += 1;
                self.penalise(from, self.config.score.graft_penalty * times);
                self.refuse_graft(topic, from, now, out);
            }
        }
    }

    fn judge_graft(&self, from: PeerIndex, topic: TopicIndex, now: Moment) -> GraftVerdict {
        let (Some(known), Some(peer)) = (self.topics.joined(topic), self.peers.get(from)) else {
            return GraftVerdict::Ignore;
        };
        if !peer.info.protocol.speaks_gossipsub() {
            return GraftVerdict::Ignore;
        }
        if known.mesh.contains(&from) {
            return GraftVerdict::Known;
        }
        if let Some(until) = peer.standing.backoffs.until(topic).filter(|until| *until > now) {
            let mesh = &self.config.mesh;
            let left = until.since(now);
            let is_flood = left > mesh.prune_backoff.saturating_sub(mesh.graft_flood_window);
            return GraftVerdict::Penalise { times: if is_flood { 2.0 } else { 1.0 } };
        }
        // A mesh needs subscribers, agreements stand beside it, and one that is full only takes whom this node has chosen itself.
        let is_subscribed = peer.topics.binary_search(&topic).is_ok();
        let is_full = known.mesh.len() >= self.config.mesh.degrees.high && !peer.info.outbound;
        if peer.info.direct || !is_subscribed || peer.score() < 0.0 || is_full {
            return GraftVerdict::Refuse;
        }
        GraftVerdict::Take
    }

    fn refuse_graft(&mut self, topic: TopicIndex, from: PeerIndex, now: Moment, out: &mut Actions<H>) {
        self.counters.grafts_refused += 1;
        self.send_prune(topic, from, self.config.mesh.prune_backoff, now, out);
    }

    /// A peer has taken this node out of its mesh, or refuses to take it in. `backoff_s` is how long it wants to be left alone.
    /// Peers that came with the PRUNE are none of this router's business.
    pub fn prune(&mut self, from: PeerIndex, topic: TopicIndex, backoff_s: Option<u64>, now: Moment) {
        if !self.hears(from) || self.topics.joined(topic).is_none() {
            return;
        }
        self.remove_from_mesh(topic, from, now);
        let mesh = &self.config.mesh;
        let asked = backoff_s.filter(|seconds| *seconds > 0).map(Duration::from_secs);
        let backoff = asked.unwrap_or(mesh.prune_backoff).min(mesh.backoff_max);
        if let Some(peer) = self.peers.get_mut(from) {
            peer.standing.backoffs.extend(topic, now.after(backoff));
        }
    }

    /// Whether this node may take the peer into the mesh by itself.
    pub(crate) fn may_graft(&self, topic: TopicIndex, index: PeerIndex, now: Moment) -> bool {
        let (Some(known), Some(peer)) = (self.topics.joined(topic), self.peers.get(index)) else { return false };
        let is_barred = peer.standing.backoffs.bars(topic, now, self.config.mesh.backoff_slack);
        peer.gossips() && peer.score() >= 0.0 && !is_barred && !known.mesh.contains(&index)
    }

    /// Takes a peer into the mesh and tells it.
    pub(crate) fn graft_peer(&mut self, topic: TopicIndex, index: PeerIndex, now: Moment, out: &mut Actions<H>) {
        self.add_to_mesh(topic, index, now);
        out.push(Action::Graft { topic, to: index });
    }

    /// Takes a peer out of the mesh and tells it.
    pub(crate) fn prune_peer(
        &mut self,
        topic: TopicIndex,
        index: PeerIndex,
        backoff: Duration,
        now: Moment,
        out: &mut Actions<H>,
    ) {
        self.remove_from_mesh(topic, index, now);
        self.send_prune(topic, index, backoff, now, out);
    }

    fn send_prune(
        &mut self,
        topic: TopicIndex,
        index: PeerIndex,
        backoff: Duration,
        now: Moment,
        out: &mut Actions<H>,
    ) {
        let Some(peer) = self.peers.get_mut(index) else { return };
        peer.standing.backoffs.extend(topic, now.after(backoff));
        let backoff_s = peer.info.protocol.knows_backoff().then_some(backoff.as_secs());
        out.push(Action::Prune { topic, backoff_s, to: index });
    }

    fn add_to_mesh(&mut self, topic: TopicIndex, index: PeerIndex, now: Moment) {
        let (Some(known), Some(peer)) = (self.topics.get_mut(topic), self.peers.get_mut(index)) else { return };
        known.mesh.push(index);
        if let Some(fanout) = &mut known.fanout {
            fanout.peers.retain(|peer| *peer != index);
        }
        peer.standing.score.topic(topic).graft(now);
    }

    pub(crate) fn remove_from_mesh(&mut self, topic: TopicIndex, index: PeerIndex, now: Moment) {
        let Some(known) = self.topics.get_mut(topic) else { return };
        let Some(at) = known.mesh.iter().position(|peer| *peer == index) else { return };
        known.mesh.swap_remove(at);
        if let Some(peer) = self.peers.get_mut(index) {
            peer.standing.score.topic(topic).prune(self.config.score.of_topic(known.params), now);
        }
    }
}
