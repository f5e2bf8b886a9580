//! What happens once a second.

use crate::action::{Action, Actions};
use crate::router::Router;
use crate::time::Moment;

impl<H: Clone> Router<H> {
    /// A heartbeat: budgets, scores, meshes, fanout, gossip, and the next window of the message cache, in this order. The caller
    /// calls it every [`crate::Config::heartbeat`]; a late call is made up for by nothing but the decay of scores.
    pub fn heartbeat(&mut self, now: Moment, out: &mut Actions<H>) {
        self.heartbeats = self.heartbeats.wrapping_add(1);
        self.expire(now);
        self.check_promises(now);
        self.update_scores(now);
        self.disconnect_graylisted(out);
        for slot in 0..self.topics.places() {
            let Some(topic) = self.topics.index_at(slot) else { continue };
            if self.topics.joined(topic).is_some() {
                self.maintain_mesh(topic, now, out);
            } else {
                self.maintain_fanout(topic, now);
                self.topics.forget_if_unused(topic, now);
            }
        }
        self.emit_gossip(out);
        self.mcache.shift(self.config.gossip.history_windows);
    }

    fn expire(&mut self, now: Moment) {
        let gossip = &self.config.gossip;
        for peer in self.peers.iter_mut() {
            peer.budget = Default::default();
            peer.dont_want.expire(self.heartbeats, gossip.idontwant_heartbeats);
            peer.standing.backoffs.expire(now, self.config.mesh.backoff_slack);
        }
        self.seen.expire(now, self.config.seen_ttl);
        self.retained.expire(now);
        self.counters.messages_ignored += self.pending.expire(now, self.config.seen_ttl) as u64;
    }

    fn update_scores(&mut self, now: Moment) {
        let interval = self.config.score.decay_interval;
        let mut due = *self.next_decay.get_or_insert(now.after(interval));
        let mut intervals = 0;
        // After a pause so many intervals are made up for that nothing is left; more would change nothing.
        while due <= now && intervals < 1_000 {
            intervals += 1;
            due = due.after(interval);
        }
        self.next_decay = Some(if due <= now { now.after(interval) } else { due });
        for peer in self.peers.iter_mut() {
            peer.standing.score.pass_time(now);
            for _ in 0..intervals {
                peer.standing.score.decay(&self.config.score, &self.topics);
            }
        }
        for slot in 0..self.peers.places() {
            if let Some(index) = self.peers.index_at(slot) {
                self.refresh_score(index);
            }
        }
    }

    fn disconnect_graylisted(&mut self, out: &mut Actions<H>) {
        for slot in 0..self.peers.places() {
            if let Some(peer) = self.peers.index_at(slot).filter(|peer| !self.accepts(*peer)) {
                self.counters.disconnects += 1;
                out.push(Action::Disconnect { peer });
            }
        }
    }
}
