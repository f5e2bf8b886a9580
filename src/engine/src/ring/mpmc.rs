//! Many producers, many consumers: a sequence number per cell (Vyukov, "Bounded MPMC queue").
//!
//! A producer preempted between claiming a cell and filling it delays the consumer that reaches this very cell, and
//! nobody else. (Rings with one shared pair of claim and publish indices stop for everybody.)

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};

use crossbeam::utils::CachePadded;

use crate::sync::{AtomicU32, AtomicU64};

/// Set in `tail` once the ring is closed; positions stay far below it.
const CLOSED: u64 = 1 << 63;

/// A bounded queue that any thread may push to and pop from.
#[derive(Debug)]
pub struct Ring {
    head: CachePadded<AtomicU64>,
    tail: CachePadded<AtomicU64>,
    cells: Box<[Cell]>,
}

#[derive(Debug)]
struct Cell {
    /// `position`: free for the push at that position. `position + 1`: filled by it. `position + capacity`: free again.
    sequence: AtomicU64,
    index: AtomicU32,
}

/// Why a push was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// No room at this moment.
    Full,
    /// The ring is closed for good.
    Closed,
}

impl Ring {
    /// Makes a ring of `capacity` indices.
    ///
    /// # Panics
    /// When `capacity` is not a power of two above 1 (with a single cell, filled and free again would be the same
    /// sequence number); the topology builder refuses such a link with a named error before it comes here.
    pub fn new(capacity: usize) -> Self {
        assert!(capacity > 1 && capacity.is_power_of_two(), "ring capacity {capacity} is not a power of two above 1");
        let cell = |position| Cell { sequence: AtomicU64::new(position), index: AtomicU32::new(0) };
        Self {
            head: CachePadded::new(AtomicU64::new(0)),
            tail: CachePadded::new(AtomicU64::new(0)),
            cells: (0..capacity as u64).map(cell).collect(),
        }
    }

    fn cell(&self, position: u64) -> &Cell {
        &self.cells[position as usize & (self.cells.len() - 1)]
    }

    /// Pushes one index.
    ///
    /// # Errors
    /// [`Refused`] when the ring is full or closed; the index was not taken.
    pub fn push(&self, index: u32) -> Result<(), Refused> {
        let mut position = self.tail.load(Relaxed);
        loop {
            if position & CLOSED != 0 {
                return Err(Refused::Closed);
            }
            let cell = self.cell(position);
            // Pairs with the release store of `sequence` in `pop`: the consumer has read the cell.
            let lag = cell.sequence.load(Acquire).wrapping_sub(position) as i64;
            if lag == 0 {
                match self.tail.compare_exchange_weak(position, position + 1, Relaxed, Relaxed) {
                    Ok(_) => {
                        cell.index.store(index, Relaxed);
                        // Pairs with the acquire load of `sequence` in `pop`: the index, and what it stands for, are visible.
                        cell.sequence.store(position + 1, Release);
                        return Ok(());
                    }
                    Err(seen) => position = seen,
                }
            } else {
                let seen = self.tail.load(Relaxed);
                if seen == position && lag < 0 {
                    return Err(Refused::Full);
                }
                position = seen;
            }
        }
    }

    /// Takes the oldest index that has been filled; `None` when there is none.
    pub fn pop(&self) -> Option<u32> {
        let mut position = self.head.load(Relaxed);
        loop {
            let cell = self.cell(position);
            // Pairs with the release store of `sequence` in `push`.
            let lag = cell.sequence.load(Acquire).wrapping_sub(position + 1) as i64;
            if lag == 0 {
                match self.head.compare_exchange_weak(position, position + 1, Relaxed, Relaxed) {
                    Ok(_) => {
                        let index = cell.index.load(Relaxed);
                        // Pairs with the acquire load of `sequence` in `push`: the cell may be filled anew.
                        cell.sequence.store(position + self.cells.len() as u64, Release);
                        return Some(index);
                    }
                    Err(seen) => position = seen,
                }
            } else {
                let seen = self.head.load(Relaxed);
                if seen == position && lag < 0 {
                    return None;
                }
                position = seen;
            }
        }
    }

    /// Refuses every later push. A push under way at this moment either is refused or will be popped.
    pub fn close(&self) {
        self.tail.fetch_or(CLOSED, SeqCst);
    }

    /// Closed, and everything that was pushed has been popped.
    pub fn is_finished(&self) -> bool {
        let tail = self.tail.load(Acquire);
        tail & CLOSED != 0 && self.head.load(Acquire) == tail & !CLOSED
    }

    /// Nothing pushed or being pushed at this moment.
    pub fn is_empty(&self) -> bool {
        self.depth() == 0
    }

    /// Indices in the ring, as of some moment during the call.
    pub fn depth(&self) -> usize {
        let head = self.head.load(Acquire);
        let tail = self.tail.load(Acquire) & !CLOSED;
        (tail.saturating_sub(head) as usize).min(self.cells.len())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// A ring as after `start` indices, which must be a multiple of the capacity.
    fn ring_at(capacity: usize, start: u64) -> Ring {
        let ring = Ring::new(capacity);
        ring.head.store(start, Relaxed);
        ring.tail.store(start, Relaxed);
        ring.cells.iter().zip(start..).for_each(|(cell, sequence)| cell.sequence.store(sequence, Relaxed));
        ring
    }

    #[test]
    fn positions_next_to_the_closed_bit_work() {
        let ring = ring_at(4, CLOSED - 8);
        for round in 0..7 {
            assert_eq!(ring.push(round), Ok(()));
            assert_eq!(ring.depth(), 1);
            assert_eq!(ring.pop(), Some(round));
        }
        ring.close();
        assert_eq!(ring.push(9), Err(Refused::Closed));
        assert!(ring.is_finished() && ring.is_empty());
    }
}
