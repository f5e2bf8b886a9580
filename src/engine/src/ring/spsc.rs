//! One producer, one consumer: the rings that join two workers.
//!
//! There are two ways to lay such a ring out, and the capacity chooses (see [`Mode::of`]): a ring as short as a link
//! may be is there to hand a batch over soon, a longer one to keep two workers busy. Both take and give the same, in
//! the same order.

use crate::ring::CAPACITY_MIN;
use crate::ring::ends::Ends;
use crate::ring::{index, vector};
use crate::sync::Arc;

/// How a ring is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Slots of two cache lines with up to 31 indices and their own full flag: a batch is handed over by the lines it
    /// stands in, at the price of 128 bytes per index of capacity.
    Vector,
    /// Dense cells between two indices, each of which the other side looks at as seldom as it can: most indices per
    /// second.
    Index,
}

impl Mode {
    /// The rule, the same for every link: a ring of the least capacity a link can have ([`CAPACITY_MIN`]) is laid out
    /// for latency, a longer one for throughput.
    ///
    /// Whoever asks for room beyond that expects a backlog, and a backlog is what dense cells carry best; a ring too
    /// short for a backlog is one whose every index is waited for.
    pub fn of(capacity: usize) -> Self {
        if capacity <= CAPACITY_MIN { Self::Vector } else { Self::Index }
    }
}

/// Makes a ring of `capacity` indices, laid out as [`Mode::of`] says.
///
/// # Panics
/// When `capacity` is not a power of two; the topology builder refuses such a link with a named error before it comes
/// here.
pub fn ring(capacity: usize) -> (Producer, Consumer) {
    ring_of(Mode::of(capacity), capacity)
}

/// Makes a ring of a chosen layout: for the proofs, which try both at every capacity.
///
/// # Panics
/// As [`ring`].
pub fn ring_of(mode: Mode, capacity: usize) -> (Producer, Consumer) {
    ring_at(mode, capacity, 0)
}

/// The same with positions that go on from `start`: for the proofs, which let them come round.
///
/// # Panics
/// As [`ring`].
#[doc(hidden)]
pub fn ring_at(mode: Mode, capacity: usize, start: usize) -> (Producer, Consumer) {
    assert!(capacity.is_power_of_two(), "ring capacity {capacity} is not a power of two");
    let (pushing, popping) = match mode {
        Mode::Vector => {
            let (producer, consumer) = vector::ring(capacity, start);
            (Pushing::Vector(producer), Popping::Vector(consumer))
        }
        Mode::Index => {
            let (producer, consumer) = index::ring(capacity, start);
            (Pushing::Index(producer), Popping::Index(consumer))
        }
    };
    (Producer { pushing }, Consumer { popping })
}

/// The pushing end. Dropping it closes the ring.
///
/// It has cache lines to itself, for what it remembers changes with every push: beside the other end, on a stack or in
/// a heap, it would double the time of a hand-over.
#[derive(Debug)]
#[repr(align(128))]
pub struct Producer {
    pushing: Pushing,
}

#[derive(Debug)]
enum Pushing {
    Vector(vector::Producer),
    Index(index::Producer),
}

impl Producer {
    /// Pushes as many of `indices` as fit, in order, published together; returns how many.
    #[inline]
    pub fn push_batch(&mut self, indices: &[u32]) -> usize {
        match &mut self.pushing {
            Pushing::Vector(producer) => producer.push_batch(indices),
            Pushing::Index(producer) => producer.push_batch(indices),
        }
    }

    /// The consumer is gone: what is pushed will never be popped.
    #[inline]
    pub fn is_abandoned(&self) -> bool {
        self.ends().is_abandoned()
    }

    /// Closes the ring. If the consumer went before, `take` gets every index that was left in it.
    pub fn retire(self, take: impl FnMut(u32)) {
        self.ends().close();
        if self.ends().leave() {
            self.gauge().drain(take);
        }
    }

    fn ends(&self) -> &Ends {
        match &self.pushing {
            Pushing::Vector(producer) => &producer.shared.ends,
            Pushing::Index(producer) => &producer.shared.ends,
        }
    }

    /// A view of the ring's depth for counters.
    pub fn gauge(&self) -> Gauge {
        Gauge(match &self.pushing {
            Pushing::Vector(producer) => Shared::Vector(producer.shared.clone()),
            Pushing::Index(producer) => Shared::Index(producer.shared.clone()),
        })
    }
}

impl Drop for Producer {
    fn drop(&mut self) {
        self.ends().close();
    }
}

/// The popping end. Dropping it tells the producer. It has cache lines to itself, as the [`Producer`] has.
#[derive(Debug)]
#[repr(align(128))]
pub struct Consumer {
    popping: Popping,
}

#[derive(Debug)]
enum Popping {
    Vector(vector::Consumer),
    Index(index::Consumer),
}

impl Consumer {
    /// Takes the oldest index.
    #[inline]
    pub fn pop(&mut self) -> Option<u32> {
        let mut index = [0];
        (self.pop_batch(&mut index) == 1).then_some(index[0])
    }

    /// Takes the oldest indices, as many as there are and `indices` holds, and frees their places together; returns
    /// how many.
    #[inline]
    pub fn pop_batch(&mut self, indices: &mut [u32]) -> usize {
        match &mut self.popping {
            Popping::Vector(consumer) => consumer.pop_batch(indices),
            Popping::Index(consumer) => consumer.pop_batch(indices),
        }
    }

    /// Gives the oldest indices to `take`, at most `most` and no more once it says false, and frees their places
    /// together; returns how many. An index given to a `take` that panics has been popped.
    #[inline]
    pub fn pop_each(&mut self, most: usize, take: impl FnMut(u32) -> bool) -> usize {
        match &mut self.popping {
            Popping::Vector(consumer) => consumer.pop_each(most, take),
            Popping::Index(consumer) => consumer.pop_each(most, take),
        }
    }

    /// Nothing to pop at this moment.
    #[inline]
    pub fn is_empty(&self) -> bool {
        match &self.popping {
            Popping::Vector(consumer) => consumer.is_empty(),
            Popping::Index(consumer) => consumer.is_empty(),
        }
    }

    /// Tells the producer that nothing is popped any more. If the producer went before, `take` gets what is left;
    /// otherwise the producer's own retirement does.
    pub fn retire(self, take: impl FnMut(u32)) {
        self.ends().abandon();
        let shared = match &self.popping {
            Popping::Vector(consumer) => {
                consumer.note_position();
                Shared::Vector(consumer.shared.clone())
            }
            Popping::Index(consumer) => Shared::Index(consumer.shared.clone()),
        };
        if self.ends().leave() {
            Gauge(shared).drain(take);
        }
    }

    fn ends(&self) -> &Ends {
        match &self.popping {
            Popping::Vector(consumer) => &consumer.shared.ends,
            Popping::Index(consumer) => &consumer.shared.ends,
        }
    }

    /// The producer is gone. What it pushed before may still wait: ask [`is_empty`](Self::is_empty) afterwards.
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.ends().is_closed()
    }
}

impl Drop for Consumer {
    fn drop(&mut self) {
        self.ends().abandon();
    }
}

/// Reads a ring's depth from any thread.
#[derive(Debug, Clone)]
pub struct Gauge(Shared);

#[derive(Debug, Clone)]
enum Shared {
    Vector(Arc<vector::Shared>),
    Index(Arc<index::Shared>),
}

impl Gauge {
    /// Indices in the ring, as of some moment during the call.
    pub fn depth(&self) -> usize {
        match &self.0 {
            Shared::Vector(shared) => shared.depth(),
            Shared::Index(shared) => shared.depth(),
        }
    }

    /// Hands out what was left by both ends.
    fn drain(&self, take: impl FnMut(u32)) {
        match &self.0 {
            Shared::Vector(shared) => shared.drain(take),
            Shared::Index(shared) => shared.drain(take),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const MODES: [Mode; 2] = [Mode::Vector, Mode::Index];

    #[test]
    fn positions_wrap_around() {
        for (mode, singly) in MODES.into_iter().flat_map(|mode| [(mode, false), (mode, true)]) {
            let (mut producer, mut consumer) = ring_at(mode, 4, usize::MAX - 3);
            let gauge = producer.gauge();
            let mut push = |indices: &[u32]| match singly {
                true => indices.chunks(1).map(|index| producer.push_batch(index)).sum(),
                false => producer.push_batch(indices),
            };
            assert_eq!(push(&[1, 2, 3, 4, 5]), 4);
            assert_eq!(gauge.depth(), 4);
            assert_eq!(push(&[5]), 0);
            assert_eq!([consumer.pop(), consumer.pop()], [Some(1), Some(2)]);
            assert_eq!(push(&[5, 6, 7]), 2);
            assert_eq!(gauge.depth(), 4);
            let rest: Vec<u32> = std::iter::from_fn(|| consumer.pop()).collect();
            assert_eq!(rest, [3, 4, 5, 6]);
            assert!(consumer.is_empty());
        }
    }

    #[test]
    fn leftovers_are_handed_out_across_the_wrap() {
        for mode in MODES {
            let (mut producer, mut consumer) = ring_at(mode, 4, usize::MAX - 3);
            for index in 1..=6 {
                assert_eq!(producer.push_batch(&[index]), 1);
                assert!(index > 3 || consumer.pop() == Some(index));
            }
            consumer.retire(|index| panic!("{index} is the producer's to take"));
            assert!(producer.is_abandoned());
            let mut left = Vec::new();
            producer.retire(|index| left.push(index));
            assert_eq!(left, [4, 5, 6]);
        }
    }

    #[test]
    fn the_shortest_link_is_laid_out_for_latency() {
        assert_eq!([2, CAPACITY_MIN].map(Mode::of), [Mode::Vector; 2]);
        assert_eq!([2 * CAPACITY_MIN, 1024].map(Mode::of), [Mode::Index; 2]);
    }
}
