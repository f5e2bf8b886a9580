//! A thread's own few free slots, last in first out.
//!
//! Its owner, the thread whose lane it belongs to, comes and goes without a read-modify-write: it raises a flag and
//! looks whether a thief has raised the other. A thief, a thread that found no slot anywhere else, pays for both with
//! the heavy side of a fence. Neither waits: who finds the other inside goes elsewhere.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::barrier::Barrier;
use crate::sync::{AtomicBool, AtomicU32};

/// Most slots a thread keeps for itself.
#[cfg(not(loom))]
pub(super) const MAGAZINE_SLOTS: usize = 32;
#[cfg(loom)]
pub(super) const MAGAZINE_SLOTS: usize = 2;

#[derive(Debug)]
pub(super) struct Magazine {
    /// The owner is inside.
    owned: AtomicBool,
    /// A thief is inside, or wants to be.
    robbed: AtomicBool,
    length: AtomicU32,
    /// Oldest first.
    indices: [AtomicU32; MAGAZINE_SLOTS],
}

impl Magazine {
    pub fn new() -> Self {
        Self {
            owned: AtomicBool::new(false),
            robbed: AtomicBool::new(false),
            length: AtomicU32::new(0),
            indices: std::array::from_fn(|_| AtomicU32::new(0)),
        }
    }

    /// Slots in it, as of some moment; its owner's last word unless a thief is inside.
    pub fn len(&self) -> usize {
        self.length.load(Relaxed) as usize
    }

    /// The owner goes in, unless a thief is there. No other thread may call this.
    #[inline]
    pub fn enter(&self, barrier: Barrier) -> Option<Inside<'_>> {
        self.owned.store(true, Relaxed);
        barrier.light();
        let inside = Inside { magazine: self, flag: &self.owned };
        // Pairs with the release store in a thief's `Inside::drop`: the slots are as it left them.
        (!self.robbed.load(Acquire)).then_some(inside)
    }

    /// Raises a thief's flag; false when another thief has.
    pub fn knock(&self) -> bool {
        // Acquire pairs with the release store in the last thief's `Inside::drop`.
        self.robbed.compare_exchange(false, true, Acquire, Relaxed).is_ok()
    }

    /// A thief who has knocked goes in, unless the owner is there; the heavy side of the fence lies between.
    pub fn break_in(&self) -> Option<Inside<'_>> {
        let inside = Inside { magazine: self, flag: &self.robbed };
        // Pairs with the release store in the owner's `Inside::drop`: the slots are as it left them.
        (!self.owned.load(Acquire)).then_some(inside)
    }
}

/// The right to the slots; its end lowers the flag it came by.
#[derive(Debug)]
pub(super) struct Inside<'a> {
    magazine: &'a Magazine,
    flag: &'a AtomicBool,
}

impl Inside<'_> {
    #[inline]
    pub fn len(&self) -> usize {
        self.magazine.len()
    }

    #[inline]
    pub fn push(&self, index: u32) {
        let length = self.len();
        self.magazine.indices[length].store(index, Relaxed);
        self.magazine.length.store(length as u32 + 1, Relaxed);
    }

    #[inline]
    pub fn pop(&self) -> Option<u32> {
        let length = self.len().checked_sub(1)?;
        let index = self.magazine.indices[length].load(Relaxed);
        self.magazine.length.store(length as u32, Relaxed);
        Some(index)
    }

    /// Takes out the `count` oldest, oldest first: the newest are the ones still in cache.
    pub fn take_oldest(&self, count: usize) -> [u32; MAGAZINE_SLOTS] {
        let indices = &self.magazine.indices;
        let oldest = std::array::from_fn(|place| if place < count { indices[place].load(Relaxed) } else { 0 });
        for place in count..self.len() {
            indices[place - count].store(indices[place].load(Relaxed), Relaxed);
        }
        self.magazine.length.store((self.len() - count) as u32, Relaxed);
        oldest
    }
}

impl Drop for Inside<'_> {
    #[inline]
    fn drop(&mut self) {
        // Pairs with the acquire loads in `enter` and `break_in`, and the exchange in `knock`.
        self.flag.store(false, Release);
    }
}
