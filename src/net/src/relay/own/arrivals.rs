//! Messages that have come in one turn of a stream. Their ids are computed side by side, which takes a third of the time.

use std::collections::VecDeque;

use levada_engine::{Held, HeldUnique};
use levada_router::TopicIndex;
use levada_wire::hash::{Digest, Job, Scratch, hash_many, message_id};
use levada_wire::waku::WakuRecord;

use crate::witness::{Step, note};

/// Messages that may wait: two for each lane of the widest kernel, so that a long one beside short ones does not run alone.
const ARRIVALS_MAX: usize = 32;

/// A message that is in its slot, whole.
#[derive(Debug)]
pub(crate) struct Arrived {
    /// Its record has everything but the id.
    pub(crate) slot: HeldUnique<WakuRecord>,
    pub(crate) bytes: usize,
    pub(crate) topic: TopicIndex,
    pub(crate) is_anonymous: bool,
}

/// A message with its id in its record.
#[derive(Debug)]
pub(crate) struct Identified {
    pub(crate) message: Held<WakuRecord>,
    pub(crate) topic: TopicIndex,
    pub(crate) is_anonymous: bool,
}

/// The messages that have come and have not been delivered, in order.
///
/// Memory: [`ARRIVALS_MAX`] slots, or what a turn of the reader brings, whichever is less; and 4 kB.
#[derive(Debug)]
pub(crate) struct Arrivals {
    waiting: VecDeque<Arrived>,
    /// How many at the back have no id yet.
    unidentified: usize,
    scratch: Box<Scratch>,
}

impl Arrivals {
    pub(crate) fn new() -> Self {
        Self { waiting: VecDeque::with_capacity(ARRIVALS_MAX), unidentified: 0, scratch: Box::default() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.waiting.len() >= ARRIVALS_MAX
    }

    /// Appends a message; only if there is room.
    pub(crate) fn push(&mut self, message: Arrived) {
        self.waiting.push_back(message);
        self.unidentified += 1;
    }

    /// Takes the first one out. What has come since the last time is hashed now, all of it.
    pub(crate) fn take(&mut self) -> Option<Identified> {
        if self.unidentified > 0 {
            self.identify();
        }
        let Arrived { slot, topic, is_anonymous, .. } = self.waiting.pop_front()?;
        Some(Identified { message: slot.share(), topic, is_anonymous })
    }

    fn identify(&mut self) {
        note(Step::Hash);
        let known = self.waiting.len() - std::mem::take(&mut self.unidentified);
        let new = self.waiting.range_mut(known..);
        let count = new.len();
        if count == 1 {
            new.for_each(|message| message.identify_alone());
            return;
        }
        let mut jobs = [Job::message_id(&[]); ARRIVALS_MAX];
        let mut ids = [Digest::default(); ARRIVALS_MAX];
        for (job, message) in jobs.iter_mut().zip(new) {
            *job = Job::message_id(&message.slot.payload_mut()[..message.bytes]);
        }
        hash_many(&jobs[..count], &mut ids[..count], &mut self.scratch);
        for (message, id) in self.waiting.range_mut(known..).zip(ids) {
            message.slot.record_mut().id = id;
        }
    }
}

impl Arrived {
    fn identify_alone(&mut self) {
        self.slot.record_mut().id = message_id(&self.slot.payload_mut()[..self.bytes]);
    }
}

#[cfg(test)]
mod tests {
    use levada_engine::{Arena, ArenaConfig};
    use levada_router::{Actions, Config, Moment, Rng, Router};

    use super::*;

    /// Any topic's index.
    fn topic() -> TopicIndex {
        let mut router = Router::<()>::new(Config::default(), Rng::new(1)).expect("the defaults are right");
        router.join("t", Moment::ZERO, &mut Actions::new()).expect("one topic fits").0
    }

    #[test]
    fn every_message_gets_its_own_id_and_keeps_its_place() {
        let arena = Arena::<WakuRecord>::new(&ArenaConfig::with_budget(16 << 20, 150_000)).expect("16 MiB");
        let (topic, mut arrivals, mut number) = (topic(), Arrivals::new(), 0_usize);
        for round in [1, 2, 7, 31, ARRIVALS_MAX] {
            let first = number;
            while !arrivals.is_full() && number - first < round {
                let bytes = number * 977 % 5_000;
                let mut slot = arena.claim(bytes.max(1)).expect("a slot").hold();
                slot.payload_mut()[..bytes].fill(number as u8);
                slot.set_len(bytes);
                arrivals.push(Arrived { slot, bytes, topic, is_anonymous: number.is_multiple_of(2) });
                number += 1;
            }
            for number in first..number {
                let taken = arrivals.take().expect("what was pushed");
                let data = vec![number as u8; number * 977 % 5_000];
                assert_eq!(taken.message.payload(), data);
                assert_eq!(taken.message.record().id, levada_wire::hash::sha256(&data), "message {number}");
                assert_eq!(taken.is_anonymous, number.is_multiple_of(2));
            }
            assert!(arrivals.is_empty() && arrivals.take().is_none());
        }
    }
}
