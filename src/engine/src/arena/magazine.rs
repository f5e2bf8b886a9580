//! A few free slots of a class, last in first out. Only who is inside their [`Door`](crate::arena::door::Door) may
//! touch them.

use std::sync::atomic::Ordering::Relaxed;

use crate::sync::AtomicU32;

/// Most slots of a class that a thread keeps for itself: two batches, so that one more or less of them stays within.
#[cfg(not(loom))]
pub(super) const MAGAZINE_SLOTS: usize = 64;
#[cfg(loom)]
pub(super) const MAGAZINE_SLOTS: usize = 2;

#[derive(Debug)]
pub(super) struct Magazine {
    length: AtomicU32,
    /// Oldest first.
    indices: [AtomicU32; MAGAZINE_SLOTS],
}

impl Magazine {
    pub fn new() -> Self {
        Self { length: AtomicU32::new(0), indices: std::array::from_fn(|_| AtomicU32::new(0)) }
    }

    /// Slots in it; as of some moment for who is not inside.
    #[inline]
    pub fn len(&self) -> usize {
        self.length.load(Relaxed) as usize
    }

    #[inline]
    pub fn push(&self, index: u32) {
        let length = self.len();
        self.indices[length].store(index, Relaxed);
        self.length.store(length as u32 + 1, Relaxed);
    }

    #[inline]
    pub fn push_all(&self, indices: &[u32]) {
        let length = self.len();
        let cells = &self.indices[length..length + indices.len()];
        cells.iter().zip(indices).for_each(|(cell, index)| cell.store(*index, Relaxed));
        self.length.store((length + indices.len()) as u32, Relaxed);
    }

    /// Takes the newest.
    #[inline]
    pub fn pop(&self) -> Option<u32> {
        let length = self.len().checked_sub(1)?;
        let index = self.indices[length].load(Relaxed);
        self.length.store(length as u32, Relaxed);
        Some(index)
    }

    /// Takes as many of the newest as `indices` has room for, the newest last; returns how many.
    #[inline]
    pub fn pop_all(&self, indices: &mut [u32]) -> usize {
        let length = self.len();
        let count = length.min(indices.len());
        let cells = &self.indices[length - count..length];
        indices.iter_mut().zip(cells).for_each(|(index, cell)| *index = cell.load(Relaxed));
        self.length.store((length - count) as u32, Relaxed);
        count
    }

    /// Takes out the `count` oldest, oldest first: the newest are the ones still in cache.
    pub fn take_oldest(&self, count: usize) -> [u32; MAGAZINE_SLOTS] {
        let indices = &self.indices;
        let oldest = std::array::from_fn(|place| if place < count { indices[place].load(Relaxed) } else { 0 });
        for place in count..self.len() {
            indices[place - count].store(indices[place].load(Relaxed), Relaxed);
        }
        self.length.store((self.len() - count) as u32, Relaxed);
        oldest
    }
}
