//! What was asked of whom: peers that announce messages they do not have are found out (gossipsub 1.1, spam protection).

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use crate::index::{MessageId, PeerIndex};
use crate::time::Moment;

/// One id of an IHAVE that was answered with IWANT, chosen at random.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Promise {
    pub(crate) id: MessageId,
    pub(crate) peer: PeerIndex,
    deadline: Moment,
}

/// The promises of all peers, and how many peers each id was asked of.
///
/// Memory: a peer makes one promise of 48 bytes per IHAVE message, within its budget, and each is kept for
/// [`crate::GossipParams::iwant_followup`]: with the defaults 30 per peer, 0.7 MB for 512 peers. The askings are at most
/// [`crate::Limits::asked_max`] of about 100 bytes, 6.5 MB; when they are full, ids are asked for without counting.
#[derive(Debug, Default)]
pub(crate) struct Promises {
    order: VecDeque<Promise>,
    asked: HashMap<MessageId, (u8, Moment)>,
    /// When this node last could not take in what it had asked for.
    stalled: Option<Moment>,
}

impl Promises {
    /// Whether one more peer may be asked for the message.
    pub(crate) fn may_ask(&self, id: &MessageId, askings_max: u8) -> bool {
        self.asked.get(id).is_none_or(|(peers, _)| *peers < askings_max)
    }

    /// A peer is asked for the message.
    pub(crate) fn ask(&mut self, id: MessageId, now: Moment, asked_max: usize) {
        if self.asked.len() < asked_max || self.asked.contains_key(&id) {
            let (peers, since) = self.asked.entry(id).or_insert((0, now));
            *peers = peers.saturating_add(1);
            *since = now;
        }
    }

    /// The peer has announced the message, so it must come before the deadline.
    pub(crate) fn promise(&mut self, id: MessageId, peer: PeerIndex, deadline: Moment) {
        self.order.push_back(Promise { id, peer, deadline });
    }

    /// The next promise whose time is over, if there is one.
    pub(crate) fn pop_due(&mut self, now: Moment) -> Option<Promise> {
        let is_due = self.order.front().is_some_and(|promise| promise.deadline <= now);
        if is_due { self.order.pop_front() } else { None }
    }

    /// The message has come.
    pub(crate) fn arrived(&mut self, id: &MessageId) {
        if !self.asked.is_empty() {
            self.asked.remove(id);
        }
    }

    /// This node cannot take messages in at the moment.
    pub(crate) fn stall(&mut self, now: Moment) {
        self.stalled = Some(now);
    }

    /// Whether this node itself may be why the message has not come: it stalled after it had asked.
    pub(crate) fn is_excused(&self, promise: &Promise, followup: Duration) -> bool {
        self.stalled.is_some_and(|stalled| stalled.after(followup) >= promise.deadline)
    }

    /// Forgets askings that were not answered in time, so that others are asked.
    pub(crate) fn expire(&mut self, now: Moment, ask_again_after: Duration) {
        self.asked.retain(|_, (_, since)| since.after(ask_again_after) > now);
    }

    /// How many promises and askings are held.
    pub(crate) fn size(&self) -> (usize, usize) {
        (self.order.len(), self.asked.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_asked_of_a_few_peers_and_again_when_they_do_not_answer() {
        let mut promises = Promises::default();
        let (id, wait) = ([1; 32], Duration::from_secs(1));
        for _ in 0..2 {
            assert!(promises.may_ask(&id, 2));
            promises.ask(id, Moment::ZERO, 9);
        }
        assert!(!promises.may_ask(&id, 2));
        promises.expire(Moment::ZERO.after(wait), wait);
        assert!(promises.may_ask(&id, 2));
        promises.ask(id, Moment::ZERO, 9);
        promises.arrived(&id);
        assert_eq!(promises.size(), (0, 0));
    }

    #[test]
    fn askings_are_bounded() {
        let mut promises = Promises::default();
        (0..9).for_each(|number| promises.ask([number; 32], Moment::ZERO, 4));
        assert_eq!(promises.size().1, 4);
        assert!(promises.may_ask(&[8; 32], 1) && !promises.may_ask(&[1; 32], 1));
    }

    #[test]
    fn promises_fall_due_in_order() {
        let peer = PeerIndex { slot: 1, generation: 0 };
        let mut promises = Promises::default();
        promises.promise([1; 32], peer, Moment::from_nanos(5));
        promises.promise([2; 32], peer, Moment::from_nanos(6));
        assert!(promises.pop_due(Moment::from_nanos(4)).is_none());
        assert_eq!(promises.pop_due(Moment::from_nanos(5)).unwrap().id, [1; 32]);
        assert!(promises.pop_due(Moment::from_nanos(5)).is_none());
    }
}
