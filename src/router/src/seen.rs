//! The ids that have come lately, and what became of their messages: marks in a set that all threads of a node share.

use std::sync::Arc;
use std::time::Duration;

use levada_engine::seen::{Set, Sight};

use crate::index::MessageId;
use crate::time::Moment;

/// The router knows the id. Others that share the set may have put it there before.
const KNOWN: u8 = 1;
const OWN: u8 = 1 << 1;
const ACCEPTED: u8 = 1 << 2;
const REJECTED: u8 = 1 << 3;

/// The marks that the router gives ids; those who share its set use others.
pub const SEEN_MARKS: u8 = KNOWN | OWN | ACCEPTED | REJECTED;

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// There is no verdict yet, or there will be none.
    Open,
    /// This node published it.
    Own,
    /// It was accepted.
    Accepted,
    /// It was rejected: who sends it again is penalised again.
    Rejected,
}

impl Fate {
    fn marks(self) -> u8 {
        KNOWN
            | match self {
                Self::Open => 0,
                Self::Own => OWN,
                Self::Accepted => ACCEPTED,
                Self::Rejected => REJECTED,
            }
    }

    /// Marks are only ever added: the last verdict counts.
    fn of(marks: u8) -> Option<Self> {
        match marks {
            _ if marks & KNOWN == 0 => None,
            _ if marks & REJECTED != 0 => Some(Self::Rejected),
            _ if marks & ACCEPTED != 0 => Some(Self::Accepted),
            _ if marks & OWN != 0 => Some(Self::Own),
            _ => Some(Self::Open),
        }
    }
}

/// The router's view of the set.
#[derive(Debug)]
pub(crate) struct Seen {
    ids: Arc<Set>,
    /// When the present window of time began; none if somebody else sees to the age of ids.
    window: Option<Moment>,
}

impl Seen {
    /// A set of its own, in which an id stays for one to two times `seen_ttl`.
    pub(crate) fn alone(ids: Set) -> Self {
        Self { ids: Arc::new(ids), window: Some(Moment::ZERO) }
    }

    /// A set that others use as well, one of whom forgets old ids.
    pub(crate) fn shared(ids: Arc<Set>) -> Self {
        Self { ids, window: None }
    }

    pub(crate) fn get(&self, id: &MessageId) -> Option<Fate> {
        self.ids.get(id).and_then(Fate::of)
    }

    /// Remembers a new id.
    pub(crate) fn insert(&self, id: &MessageId, fate: Fate) {
        let sight = self.ids.insert(id, fate.marks());
        debug_assert!(!matches!(sight, Sight::Known { marks } if marks & KNOWN != 0), "the id was known");
    }

    /// Sets what became of a message; one that is no longer remembered stays forgotten.
    pub(crate) fn settle(&self, id: &MessageId, fate: Fate) {
        _ = self.ids.mark(id, fate.marks());
    }

    pub(crate) fn expire(&mut self, now: Moment, ttl: Duration) {
        if let Some(began) = &mut self.window
            && began.after(ttl) <= now
        {
            *began = now;
            self.ids.rotate();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen() -> Seen {
        Seen::alone(Set::with_secret(256, [1, 2, 3, 4]))
    }

    #[test]
    fn a_fate_is_what_was_settled_last() {
        let seen = seen();
        for (number, fates) in [
            (1, &[Fate::Open, Fate::Accepted][..]),
            (2, &[Fate::Open, Fate::Rejected]),
            (3, &[Fate::Own]),
            (4, &[Fate::Open]),
        ] {
            let id = [number; 32];
            assert_eq!(seen.get(&id), None);
            seen.insert(&id, fates[0]);
            fates[1..].iter().for_each(|fate| seen.settle(&id, *fate));
            assert_eq!(seen.get(&id), fates.last().copied());
        }
        seen.settle(&[5; 32], Fate::Rejected);
        assert_eq!(seen.get(&[5; 32]), None, "what is forgotten stays so");
    }

    #[test]
    fn marks_of_others_do_not_make_an_id_known() {
        let ids = Arc::new(Set::with_secret(256, [1, 2, 3, 4]));
        let seen = Seen::shared(ids.clone());
        ids.insert(&[1; 32], !SEEN_MARKS);
        assert_eq!(seen.get(&[1; 32]), None);
        seen.insert(&[1; 32], Fate::Open);
        assert_eq!((seen.get(&[1; 32]), ids.get(&[1; 32])), (Some(Fate::Open), Some(!SEEN_MARKS | KNOWN)));
    }

    #[test]
    fn an_id_stays_for_one_window_and_goes_after_two() {
        let (mut seen, ttl) = (seen(), Duration::from_nanos(10));
        seen.insert(&[1; 32], Fate::Own);
        for now in [9, 10, 19] {
            seen.expire(Moment::from_nanos(now), ttl);
            assert_eq!(seen.get(&[1; 32]), Some(Fate::Own), "at {now}");
        }
        seen.expire(Moment::from_nanos(20), ttl);
        assert_eq!(seen.get(&[1; 32]), None);
        let mut shared = Seen::shared(seen.ids.clone());
        shared.insert(&[2; 32], Fate::Open);
        (1..4).for_each(|window| shared.expire(Moment::from_nanos(window * 100), ttl));
        assert_eq!(shared.get(&[2; 32]), Some(Fate::Open), "others see to that");
    }
}
