//! One producer, one consumer: Lamport's queue with cached indices (Lamport 1983; Lee et al., "B-Queue", 2013).
//!
//! Each side keeps its own index and a cached copy of the other's, and looks at the shared line only when the cached
//! copy says full or empty; a batch is published by one store.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use crossbeam::utils::CachePadded;

use crate::sync::{Arc, AtomicBool, AtomicU32, AtomicUsize};

/// Makes a ring of `capacity` indices. `capacity` must be a power of two.
///
/// # Panics
/// When `capacity` is not a power of two; the topology builder refuses such a link with a named error before it comes here.
pub fn ring(capacity: usize) -> (Producer, Consumer) {
    assert!(capacity.is_power_of_two(), "ring capacity {capacity} is not a power of two");
    let shared = Arc::new(Shared {
        head: CachePadded::new(AtomicUsize::new(0)),
        tail: CachePadded::new(AtomicUsize::new(0)),
        closed: AtomicBool::new(false),
        abandoned: AtomicBool::new(false),
        ends: AtomicU32::new(2),
        cells: (0..capacity).map(|_| AtomicU32::new(0)).collect(),
    });
    (Producer { shared: shared.clone(), tail: 0, head_cached: 0 }, Consumer { shared, head: 0, tail_cached: 0 })
}

#[derive(Debug)]
struct Shared {
    /// Position of the next index to pop; written by the consumer. Counts on past the capacity.
    head: CachePadded<AtomicUsize>,
    /// Position of the next index to push; written by the producer. `tail - head` is in `0..=capacity`.
    tail: CachePadded<AtomicUsize>,
    /// The producer is gone and pushes no more.
    closed: AtomicBool,
    /// The consumer is gone and pops no more.
    abandoned: AtomicBool,
    /// Ends not retired yet: the last one out takes what is left in the ring.
    ends: AtomicU32,
    cells: Box<[AtomicU32]>,
}

impl Shared {
    fn cell(&self, position: usize) -> &AtomicU32 {
        &self.cells[position & (self.cells.len() - 1)]
    }

    /// One end goes; the last one hands out what was pushed and never popped.
    fn leave(&self, mut take: impl FnMut(u32)) {
        // Both halves of AcqRel pair with the other end's decrement: its last push or pop is visible.
        if self.ends.fetch_sub(1, AcqRel) == 1 {
            let (head, tail) = (self.head.load(Relaxed), self.tail.load(Relaxed));
            (0..tail.wrapping_sub(head)).for_each(|offset| take(self.cell(head.wrapping_add(offset)).load(Relaxed)));
        }
    }
}

/// The pushing end. Dropping it closes the ring.
#[derive(Debug)]
pub struct Producer {
    shared: Arc<Shared>,
    tail: usize,
    /// At most the true head: the ring may have more room than this says.
    head_cached: usize,
}

impl Producer {
    /// Pushes as many of `indices` as fit, in order, published together; returns how many.
    pub fn push_batch(&mut self, indices: &[u32]) -> usize {
        let capacity = self.shared.cells.len();
        if capacity - self.tail.wrapping_sub(self.head_cached) < indices.len() {
            // Pairs with the release store of `head` in `Consumer::pop`: the cells before it have been read.
            self.head_cached = self.shared.head.load(Acquire);
        }
        let room = capacity - self.tail.wrapping_sub(self.head_cached);
        let count = indices.len().min(room);
        for (offset, index) in indices[..count].iter().enumerate() {
            self.shared.cell(self.tail.wrapping_add(offset)).store(*index, Relaxed);
        }
        if count > 0 {
            self.tail = self.tail.wrapping_add(count);
            // Pairs with the acquire load of `tail` in `Consumer::pop`: cells, and what the indices stand for, are visible.
            self.shared.tail.store(self.tail, Release);
        }
        count
    }

    /// The consumer is gone: what is pushed will never be popped.
    pub fn is_abandoned(&self) -> bool {
        self.shared.abandoned.load(Acquire)
    }

    /// Closes the ring. If the consumer went before, `take` gets every index that was left in it.
    pub fn retire(self, take: impl FnMut(u32)) {
        self.close();
        self.shared.leave(take);
    }

    fn close(&self) {
        // Pairs with the acquire load in `Consumer::is_closed`: every push is visible to whoever sees the flag.
        self.shared.closed.store(true, Release);
    }

    /// A view of the ring's depth for counters.
    pub fn gauge(&self) -> Gauge {
        Gauge(self.shared.clone())
    }
}

impl Drop for Producer {
    fn drop(&mut self) {
        self.close();
    }
}

/// The popping end. Dropping it tells the producer.
#[derive(Debug)]
pub struct Consumer {
    shared: Arc<Shared>,
    head: usize,
    /// At most the true tail: the ring may hold more than this says.
    tail_cached: usize,
}

impl Consumer {
    /// Takes the oldest index.
    pub fn pop(&mut self) -> Option<u32> {
        if self.head == self.tail_cached {
            // Pairs with the release store of `tail` in `Producer::push_batch`.
            self.tail_cached = self.shared.tail.load(Acquire);
            if self.head == self.tail_cached {
                return None;
            }
        }
        let index = self.shared.cell(self.head).load(Relaxed);
        self.head = self.head.wrapping_add(1);
        // Pairs with the acquire load of `head` in `Producer::push_batch`: the cell may be overwritten from here on.
        self.shared.head.store(self.head, Release);
        Some(index)
    }

    /// Nothing to pop at this moment.
    pub fn is_empty(&self) -> bool {
        self.head == self.shared.tail.load(Acquire)
    }

    /// Tells the producer that nothing is popped any more. If the producer went before, `take` gets what is left;
    /// otherwise the producer's own retirement does.
    pub fn retire(self, take: impl FnMut(u32)) {
        self.abandon();
        self.shared.leave(take);
    }

    fn abandon(&self) {
        // Pairs with the acquire load in `Producer::is_abandoned`.
        self.shared.abandoned.store(true, Release);
    }

    /// The producer is gone. What it pushed before may still wait: ask [`is_empty`](Self::is_empty) afterwards.
    pub fn is_closed(&self) -> bool {
        self.shared.closed.load(Acquire)
    }
}

impl Drop for Consumer {
    fn drop(&mut self) {
        self.abandon();
    }
}

/// Reads a ring's depth from any thread.
#[derive(Debug, Clone)]
pub struct Gauge(Arc<Shared>);

impl Gauge {
    /// Indices in the ring, as of some moment during the call.
    pub fn depth(&self) -> usize {
        let head = self.0.head.load(Relaxed);
        self.0.tail.load(Relaxed).wrapping_sub(head).min(self.0.cells.len())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// A ring whose positions start at `start`, as after that many indices.
    fn ring_at(capacity: usize, start: usize) -> (Producer, Consumer) {
        let (mut producer, mut consumer) = ring(capacity);
        producer.shared.head.store(start, Relaxed);
        producer.shared.tail.store(start, Relaxed);
        (producer.tail, producer.head_cached) = (start, start);
        (consumer.head, consumer.tail_cached) = (start, start);
        (producer, consumer)
    }

    #[test]
    fn positions_wrap_around() {
        let (mut producer, mut consumer) = ring_at(4, usize::MAX - 1);
        let gauge = producer.gauge();
        assert_eq!(producer.push_batch(&[1, 2, 3, 4, 5]), 4);
        assert_eq!(gauge.depth(), 4);
        assert_eq!(producer.push_batch(&[5]), 0);
        assert_eq!([consumer.pop(), consumer.pop()], [Some(1), Some(2)]);
        assert_eq!(producer.push_batch(&[5, 6, 7]), 2);
        assert_eq!(gauge.depth(), 4);
        let rest: Vec<u32> = std::iter::from_fn(|| consumer.pop()).collect();
        assert_eq!(rest, [3, 4, 5, 6]);
        assert!(consumer.is_empty());
    }

    #[test]
    fn leftovers_are_handed_out_across_the_wrap() {
        let (mut producer, consumer) = ring_at(4, usize::MAX);
        assert_eq!(producer.push_batch(&[1, 2, 3]), 3);
        consumer.retire(|index| panic!("{index} is the producer's to take"));
        assert!(producer.is_abandoned());
        let mut left = Vec::new();
        producer.retire(|index| left.push(index));
        assert_eq!(left, [1, 2, 3]);
    }
}
