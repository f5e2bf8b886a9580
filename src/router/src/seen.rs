//! The ids that have come within the last two minutes, and what became of their messages.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use crate::index::MessageId;
use crate::time::Moment;

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// There is no verdict yet, or there will be none.
    Open,
    /// This node published it.
    Own,
    /// It was accepted at this moment.
    Accepted(Moment),
    /// It was rejected: who sends it again is penalised again.
    Rejected,
}

/// The seen set.
///
/// Memory: at most [`crate::Limits::seen_max`] ids at about 140 bytes, of which 40 are the queue and 100 the hash table, which may
/// be half empty after it has grown: 37 MB with the default.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    fates: HashMap<MessageId, Fate>,
    /// In the order in which they came.
    order: VecDeque<(MessageId, Moment)>,
}

impl Seen {
    pub(crate) fn get(&self, id: &MessageId) -> Option<Fate> {
        self.fates.get(id).copied()
    }

    /// Remembers a new id. Tells whether an older one had to go early to make room.
    pub(crate) fn insert(&mut self, id: MessageId, fate: Fate, now: Moment, seen_max: usize) -> bool {
        let is_full = self.order.len() >= seen_max;
        if is_full && let Some((oldest, _)) = self.order.pop_front() {
            self.fates.remove(&oldest);
        }
        if self.fates.insert(id, fate).is_none() {
            self.order.push_back((id, now));
        }
        is_full
    }

    /// Sets what became of a message; one that is no longer remembered stays forgotten.
    pub(crate) fn settle(&mut self, id: &MessageId, fate: Fate) {
        if let Some(open) = self.fates.get_mut(id) {
            *open = fate;
        }
    }

    pub(crate) fn expire(&mut self, now: Moment, ttl: Duration) {
        while self.order.front().is_some_and(|(_, came)| came.after(ttl) <= now) {
            if let Some((id, _)) = self.order.pop_front() {
                self.fates.remove(&id);
            }
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.fates.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_expire_in_order() {
        let mut seen = Seen::default();
        seen.insert([1; 32], Fate::Open, Moment::from_nanos(0), 9);
        seen.insert([2; 32], Fate::Own, Moment::from_nanos(5), 9);
        seen.settle(&[1; 32], Fate::Rejected);
        seen.settle(&[3; 32], Fate::Rejected);
        assert_eq!((seen.get(&[1; 32]), seen.get(&[3; 32])), (Some(Fate::Rejected), None));
        seen.expire(Moment::from_nanos(9), Duration::from_nanos(10));
        assert_eq!(seen.len(), 2);
        seen.expire(Moment::from_nanos(10), Duration::from_nanos(10));
        assert_eq!((seen.get(&[1; 32]), seen.get(&[2; 32])), (None, Some(Fate::Own)));
    }

    #[test]
    fn a_full_set_forgets_the_oldest() {
        let mut seen = Seen::default();
        assert!(!seen.insert([1; 32], Fate::Open, Moment::ZERO, 2));
        assert!(!seen.insert([2; 32], Fate::Open, Moment::ZERO, 2));
        assert!(seen.insert([3; 32], Fate::Open, Moment::ZERO, 2));
        assert_eq!((seen.len(), seen.get(&[1; 32])), (2, None));
    }
}
