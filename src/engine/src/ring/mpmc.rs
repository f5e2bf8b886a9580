//! Many producers, many consumers: a sequence number per cell (Vyukov, "Bounded MPMC queue").
//!
//! A producer preempted between claiming a cell and filling it holds up the consumers that come to this cell, until it
//! runs again; other producers go on. (Rings with one shared pair of claim and publish indices stop for everybody.) A
//! batch claims its cells with one exchange, and only cells it has seen free, so that nobody ever waits for anybody
//! else's cell.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crossbeam_utils::CachePadded;

use crate::sync::{AtomicU64, pause};

/// Set in `tail` once the ring is closed; positions stay far below it.
const CLOSED: u64 = 1 << 63;

/// A bounded queue that any thread may push to and pop from.
#[derive(Debug)]
pub struct Ring {
    head: CachePadded<AtomicU64>,
    tail: CachePadded<AtomicU64>,
    cells: Box<[Cell]>,
}

/// A sequence number in the high half, an index in the low one: one store fills a cell and publishes it.
///
/// The sequence is the low half of a position. `position`: free for the push at that position. `position + 1`: filled
/// by it. `position + capacity`: free again. A sequence that came round to the same value is no danger: claiming needs
/// `head` or `tail` not to have moved.
#[derive(Debug)]
struct Cell(AtomicU64);

impl Cell {
    /// How far the cell is ahead of `position` (behind it: negative), and the index in it.
    #[inline]
    fn lead(&self, position: u64) -> (i32, u32) {
        // Pairs with the release store in `set`: what was done with the cell before, and what the index stands for,
        // are visible.
        let word = self.0.load(Acquire);
        (((word >> 32) as u32).wrapping_sub(position as u32) as i32, word as u32)
    }

    #[inline]
    fn set(&self, sequence: u64, index: u32) {
        // Pairs with the acquire load in `lead`.
        self.0.store(sequence << 32 | u64::from(index), Release);
    }
}

/// Pauses after each exchange lost to another thread, twice as long each time. Long from the start: while one thread
/// waits the other goes on alone, many times as fast as two that fight for every place.
#[derive(Debug, Default)]
struct Backoff(u32);

impl Backoff {
    /// Pauses after the first loss: about as long as fifty uncontended pushes.
    const PAUSES: u32 = 16;
    const DOUBLINGS_MAX: u32 = 3;

    #[inline]
    fn lost(&mut self) {
        (0..Self::PAUSES << self.0).for_each(|_| pause());
        self.0 = (self.0 + 1).min(Self::DOUBLINGS_MAX);
    }
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
    /// sequence number) and at most 2³⁰; the topology builder refuses such a link with a named error before it comes
    /// here.
    pub fn new(capacity: usize) -> Self {
        Self::starting_at(capacity, 0)
    }

    /// The same with positions that go on from `start`, below 2⁶³: for the proofs, which let sequence numbers come round.
    ///
    /// # Panics
    /// As [`new`](Self::new).
    #[doc(hidden)]
    pub fn starting_at(capacity: usize, start: u64) -> Self {
        assert!(capacity > 1 && capacity.is_power_of_two(), "ring capacity {capacity} is not a power of two above 1");
        assert!(capacity <= 1 << 30, "ring capacity {capacity} is beyond what sequence numbers tell apart");
        Self {
            head: CachePadded::new(AtomicU64::new(start)),
            tail: CachePadded::new(AtomicU64::new(start)),
            // In each the sequence of the position that comes to it first.
            cells: (0..capacity as u64)
                .map(|place| start + (place.wrapping_sub(start) & (capacity as u64 - 1)))
                .map(|position| Cell(AtomicU64::new(position << 32)))
                .collect(),
        }
    }

    #[inline]
    fn cell(&self, position: u64) -> &Cell {
        &self.cells[position as usize & (self.cells.len() - 1)]
    }

    /// Pushes one index.
    ///
    /// # Errors
    /// [`Refused`] when the ring is full or closed; the index was not taken.
    #[inline]
    pub fn push(&self, index: u32) -> Result<(), Refused> {
        let (mut position, mut backoff) = (self.tail.load(Relaxed), Backoff::default());
        loop {
            if position & CLOSED != 0 {
                return Err(Refused::Closed);
            }
            let cell = self.cell(position);
            let (lead, _) = cell.lead(position);
            if lead == 0 {
                match self.tail.compare_exchange_weak(position, position + 1, Relaxed, Relaxed) {
                    Ok(_) => {
                        cell.set(position + 1, index);
                        return Ok(());
                    }
                    Err(seen) => {
                        backoff.lost();
                        position = seen;
                    }
                }
            } else {
                let seen = self.tail.load(Relaxed);
                if seen == position && lead < 0 {
                    return Err(Refused::Full);
                }
                position = seen;
            }
        }
    }

    /// Pushes as many of `indices` as there are free cells in a row, in order; returns how many, at least one.
    ///
    /// # Errors
    /// [`Refused`] when the ring is full or closed; no index was taken.
    #[inline]
    pub fn push_batch(&self, indices: &[u32]) -> Result<usize, Refused> {
        let (mut position, mut backoff) = (self.tail.load(Relaxed), Backoff::default());
        loop {
            if position & CLOSED != 0 {
                return Err(Refused::Closed);
            }
            let (count, lead) = self.run(position, indices.len(), position);
            if count > 0 || indices.is_empty() {
                match self.tail.compare_exchange_weak(position, position + count as u64, Relaxed, Relaxed) {
                    Ok(_) => {
                        for (place, index) in (position..).zip(&indices[..count]) {
                            self.cell(place).set(place + 1, *index);
                        }
                        return Ok(count);
                    }
                    Err(seen) => {
                        backoff.lost();
                        position = seen;
                    }
                }
            } else {
                let seen = self.tail.load(Relaxed);
                if seen == position && lead < 0 {
                    return Err(Refused::Full);
                }
                position = seen;
            }
        }
    }

    /// Cells from `position` on, at most `most`, whose sequence is `sequence`, `sequence + 1` and so on; and the lead
    /// of the first that is not.
    #[inline]
    fn run(&self, position: u64, most: usize, sequence: u64) -> (usize, i32) {
        for offset in 0..most.min(self.cells.len()) as u64 {
            let (lead, _) = self.cell(position + offset).lead(sequence + offset);
            if lead != 0 {
                return (offset as usize, lead);
            }
        }
        (most.min(self.cells.len()), 0)
    }

    /// Takes the oldest index that has been filled; `None` when there is none.
    #[inline]
    pub fn pop(&self) -> Option<u32> {
        let (mut position, mut backoff) = (self.head.load(Relaxed), Backoff::default());
        loop {
            let cell = self.cell(position);
            let (lead, index) = cell.lead(position + 1);
            if lead == 0 {
                match self.head.compare_exchange_weak(position, position + 1, Relaxed, Relaxed) {
                    Ok(_) => {
                        cell.set(position + self.cells.len() as u64, 0);
                        return Some(index);
                    }
                    Err(seen) => {
                        backoff.lost();
                        position = seen;
                    }
                }
            } else {
                let seen = self.head.load(Relaxed);
                if seen == position && lead < 0 {
                    return None;
                }
                position = seen;
            }
        }
    }

    /// Takes the oldest indices that have been filled, as many as stand in a row and `indices` holds; returns how many.
    #[inline]
    pub fn pop_batch(&self, indices: &mut [u32]) -> usize {
        let (mut position, mut backoff) = (self.head.load(Relaxed), Backoff::default());
        loop {
            let (count, lead) = self.run(position, indices.len(), position + 1);
            if count > 0 {
                match self.head.compare_exchange_weak(position, position + count as u64, Relaxed, Relaxed) {
                    Ok(_) => {
                        for (place, index) in (position..).zip(&mut indices[..count]) {
                            let cell = self.cell(place);
                            *index = cell.lead(place).1;
                            cell.set(place + self.cells.len() as u64, 0);
                        }
                        return count;
                    }
                    Err(seen) => {
                        backoff.lost();
                        position = seen;
                    }
                }
            } else {
                let seen = self.head.load(Relaxed);
                if indices.is_empty() || (seen == position && lead < 0) {
                    return 0;
                }
                position = seen;
            }
        }
    }

    /// Refuses every later push. A push under way at this moment either is refused or will be popped.
    pub fn close(&self) {
        // Pairs with the acquire load in `is_finished`: what came before the close is visible.
        self.tail.fetch_or(CLOSED, Release);
    }

    /// Closed, and everything that was pushed has been popped.
    pub fn is_finished(&self) -> bool {
        // Pairs with the release in `close`. After it the tail stands still, and the head never passes it: so it does not
        // matter when the head is read.
        let tail = self.tail.load(Acquire);
        tail & CLOSED != 0 && self.head.load(Relaxed) == tail & !CLOSED
    }

    /// Nothing pushed or being pushed at this moment.
    pub fn is_empty(&self) -> bool {
        self.depth() == 0
    }

    /// Indices the ring holds.
    pub fn capacity(&self) -> usize {
        self.cells.len()
    }

    /// Indices in the ring; about as many while others push and pop.
    pub fn depth(&self) -> usize {
        // Whoever pops acquires by the cell: a look that takes nothing need not.
        let head = self.head.load(Relaxed);
        let tail = self.tail.load(Relaxed) & !CLOSED;
        (tail.saturating_sub(head) as usize).min(self.cells.len())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn sequences_wrap_around() {
        let ring = Ring::starting_at(4, (1 << 32) - 8);
        for round in 0..7 {
            assert_eq!(ring.push_batch(&[round, round + 1, round + 2, 9, 9]), Ok(4));
            assert_eq!(ring.push_batch(&[9]), Err(Refused::Full));
            assert_eq!(ring.pop(), Some(round));
            assert_eq!(ring.push(8), Ok(()));
            let mut popped = [0; 5];
            assert_eq!(ring.pop_batch(&mut popped), 4);
            assert_eq!(popped, [round + 1, round + 2, 9, 8, 0]);
            assert_eq!(ring.pop_batch(&mut popped), 0);
        }
    }

    #[test]
    fn positions_next_to_the_closed_bit_work() {
        let ring = Ring::starting_at(4, CLOSED - 8);
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
