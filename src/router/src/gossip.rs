//! IHAVE and IWANT: what the mesh did not bring is asked for.

use crate::action::{Action, Actions, Message, Reason};
use crate::index::{MessageId, PeerIndex, TopicIndex};
use crate::router::Router;
use crate::time::Moment;

impl<H: Clone> Router<H> {
    /// A peer announces messages. Ids that are not 32 bytes long cannot be of Waku and are skipped.
    pub fn ihave<'a>(
        &mut self,
        from: PeerIndex,
        topic: TopicIndex,
        ids: impl IntoIterator<Item = &'a [u8]>,
        now: Moment,
        out: &mut Actions<H>,
    ) {
        if !self.hears(from) {
            return;
        }
        if !self.heeds_ihave(from, topic) {
            self.counters.ihave_ignored += 1;
            return;
        }
        self.collect_unseen(ids);
        self.ask(from, now, out);
    }

    /// Whether the announcement is within the peer's budget, which it uses up.
    fn heeds_ihave(&mut self, from: PeerIndex, topic: TopicIndex) -> bool {
        let gossip = &self.config.gossip;
        let is_joined = self.topics.joined(topic).is_some();
        let Some(peer) = self.peers.get_mut(from) else { return false };
        if peer.score() < self.config.thresholds.gossip && !peer.info.direct {
            return false;
        }
        peer.budget.ihave_messages = peer.budget.ihave_messages.saturating_add(1);
        let has_budget =
            peer.budget.ihave_messages <= gossip.ihave_messages_max && peer.budget.asked_ids < gossip.ihave_ids_max;
        has_budget && is_joined
    }

    /// Fills `ids` with what of the list has not come and may be asked for.
    fn collect_unseen<'a>(&mut self, ids: impl IntoIterator<Item = &'a [u8]>) {
        self.ids.clear();
        for id in ids.into_iter().take(self.config.gossip.ihave_ids_max) {
            let Ok(id) = MessageId::try_from(id) else {
                self.counters.ids_malformed += 1;
                continue;
            };
            let is_known = self.seen.get(&id).is_some() || self.pending.contains(&id);
            if !is_known && self.promises.may_ask(&id, self.config.gossip.askings_max) {
                self.ids.push(id);
            }
        }
        // Sorted only to find repetitions.
        self.ids.sort_unstable();
        self.ids.dedup();
    }

    /// Asks the peer for `ids`, as far as its budget goes, and takes one of them for a promise.
    fn ask(&mut self, from: PeerIndex, now: Moment, out: &mut Actions<H>) {
        let gossip = &self.config.gossip;
        let Some(peer) = self.peers.get_mut(from) else { return };
        let allowed = gossip.ihave_ids_max - peer.budget.asked_ids;
        // In random order, so that neither side's limits always hit the same ids, and the promise is a random one.
        let wanted = self.rng.choose(&mut self.ids, allowed);
        self.rng.shuffle(wanted);
        let Some(promised) = wanted.first().copied() else { return };
        peer.budget.asked_ids += wanted.len();
        self.counters.iwant_sent += wanted.len() as u64;
        for id in wanted.iter() {
            self.promises.ask(*id, now, self.config.limits.asked_max);
        }
        self.promises.promise(promised, from, now.after(gossip.iwant_followup));
        if let Some(ids) = out.add_ids(wanted.iter().copied()) {
            out.push(Action::IWant { ids, to: from });
        }
    }

    /// A peer asks for messages. Those that are in the message cache and were not sent to it too often go out.
    pub fn iwant<'a>(&mut self, from: PeerIndex, ids: impl IntoIterator<Item = &'a [u8]>, out: &mut Actions<H>) {
        if !self.hears(from) {
            return;
        }
        for id in ids {
            match self.find_wanted(from, id) {
                Some(message) => {
                    self.counters.iwant_answered += 1;
                    if let Some(to) = out.add_peers([from]) {
                        out.push(Action::Send { message, reason: Reason::Requested, to });
                    }
                }
                None => self.counters.iwant_ignored += 1,
            }
        }
    }

    fn find_wanted(&mut self, from: PeerIndex, id: &[u8]) -> Option<Message<H>> {
        let gossip = &self.config.gossip;
        let peer = self.peers.get_mut(from)?;
        let is_low = peer.score() < self.config.thresholds.gossip && !peer.info.direct;
        if is_low || peer.budget.wanted_ids >= gossip.iwant_ids_max {
            return None;
        }
        peer.budget.wanted_ids += 1;
        let Ok(id) = MessageId::try_from(id) else {
            self.counters.ids_malformed += 1;
            return None;
        };
        let message = self.mcache.request(&id, from, gossip.retransmissions_max)?;
        // A topic that was forgotten has no name to put into the frame.
        self.topics.get(message.topic)?;
        // Asking is later than IDONTWANT, so it counts.
        peer.dont_want.remove(&id);
        Some(message.clone())
    }

    /// The caller cannot read from peers for the moment, because its memory is full. What was promised may come late, and nobody
    /// is blamed for it.
    pub fn stalled(&mut self, now: Moment) {
        self.promises.stall(now);
    }

    /// Penalises peers whose announcements were not followed by the message, from whomever it may have come.
    pub(crate) fn check_promises(&mut self, now: Moment) {
        while let Some(promise) = self.promises.pop_due(now) {
            let is_excused = self.promises.is_excused(&promise, self.config.gossip.iwant_followup);
            if !is_excused && self.seen.get(&promise.id).is_none() {
                self.counters.promises_broken += 1;
                let penalty = self.config.score.promise_penalty;
                self.blame(promise.peer, now, |score| score.penalise(penalty));
            }
        }
        self.promises.expire(now, self.config.gossip.ask_again_after);
    }

    /// Announces recent messages to some of the peers that are not sent them in full.
    pub(crate) fn emit_gossip(&mut self, out: &mut Actions<H>) {
        let mut announced = std::mem::take(&mut self.announced);
        announced.clear();
        let recent = self.mcache.recent(self.config.gossip.gossip_windows);
        announced.extend(recent.map(|message| (message.topic, message.id)));
        announced.sort_unstable();
        for of_topic in announced.chunk_by_mut(|a, b| a.0 == b.0) {
            let topic = of_topic[0].0;
            self.choose_listeners(topic);
            let ids = self.rng.choose(of_topic, self.config.gossip.ihave_ids_max);
            if let Some(to) = out.add_peers(self.chosen.iter().copied())
                && let Some(ids) = out.add_ids(ids.iter().map(|(_, id)| *id))
            {
                out.push(Action::IHave { topic, ids, to });
            }
        }
        self.announced = announced;
    }

    /// Fills `chosen` with peers to gossip to: at random, a share of them all but at least D_lazy.
    fn choose_listeners(&mut self, topic: TopicIndex) {
        self.chosen.clear();
        let Some(known) = self.topics.get(topic).filter(|known| known.joined || known.fanout.is_some()) else { return };
        let fanout = known.fanout.as_ref().map_or(&[][..], |fanout| &fanout.peers);
        let listens = |index: &&PeerIndex| {
            let peer = self.peers.get(**index);
            let is_good = peer.is_some_and(|peer| peer.score() >= self.config.thresholds.gossip);
            is_good && !known.mesh.contains(index) && !fanout.contains(index)
        };
        self.chosen.extend(known.gossipers.iter().filter(listens));
        let share = (self.config.gossip.factor * self.chosen.len() as f64) as usize;
        let count = share.max(self.config.mesh.degrees.lazy);
        let chosen = self.rng.choose(&mut self.chosen, count).len();
        self.chosen.truncate(chosen);
    }
}
