//! Counters that run in production: each thread adds to a cache line of its own, a reader sums the lines.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crossbeam_utils::CachePadded;

use crate::lane::{LANES, lane};

/// A monotonic counter that many threads add to without sharing a cache line.
///
/// A read while others add sees every addition that happened before it, and perhaps some that are happening.
#[derive(Debug)]
pub struct Counter {
    /// One for each thread that has a lane.
    lanes: [CachePadded<AtomicU64>; LANES],
    /// For all threads that have none.
    shared: CachePadded<AtomicU64>,
}

impl Counter {
    /// A counter at zero; `const`, so that a counter can be a `static`.
    pub const fn new() -> Self {
        Self {
            lanes: [const { CachePadded::new(AtomicU64::new(0)) }; LANES],
            shared: CachePadded::new(AtomicU64::new(0)),
        }
    }

    /// Adds `amount`.
    #[inline]
    pub fn add(&self, amount: u64) {
        match self.lanes.get(lane()) {
            // Nobody else writes to this lane.
            Some(own) => own.store(own.load(Relaxed).wrapping_add(amount), Relaxed),
            None => _ = self.shared.fetch_add(amount, Relaxed),
        }
    }

    /// What the calling thread has added, and those that had its lane before it; all that threads without a lane have added, if it
    /// has none. For work that stays on one thread.
    pub fn value_of_thread(&self) -> u64 {
        self.lanes.get(lane()).unwrap_or(&self.shared).load(Relaxed)
    }

    /// The sum so far.
    pub fn value(&self) -> u64 {
        self.lanes.iter().chain([&self.shared]).map(|lane| lane.load(Relaxed)).sum()
    }
}

impl Default for Counter {
    fn default() -> Self {
        Self::new()
    }
}

/// Payload copies made by this process's own code: into slots, and wherever else [`count_copy`] is called.
pub static PAYLOAD_COPIES: Counter = Counter::new();

/// Bytes of those copies.
pub static PAYLOAD_COPIED_BYTES: Counter = Counter::new();

/// Counts one copy of a payload (or a large part of one), at the place where it is made.
#[inline]
pub fn count_copy(payload_bytes: usize) {
    PAYLOAD_COPIES.add(1);
    PAYLOAD_COPIED_BYTES.add(payload_bytes as u64);
}

#[cfg(test)]
mod tests {
    use super::Counter;

    #[test]
    fn sums_over_threads() {
        let counter = Counter::new();
        std::thread::scope(|scope| {
            for _ in 0..LANES_TWICE {
                scope.spawn(|| (0..1_000).for_each(|_| counter.add(3)));
            }
        });
        assert_eq!(counter.value(), 3_000 * LANES_TWICE);
    }

    #[test]
    fn a_thread_finds_what_it_added() {
        let counter = Counter::new();
        counter.add(5);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let before = counter.value_of_thread();
                counter.add(3);
                assert_eq!(counter.value_of_thread() - before, 3);
            });
        });
        assert_eq!(counter.value(), 8);
    }

    const LANES_TWICE: u64 = 2 * crate::lane::LANES as u64;
}
