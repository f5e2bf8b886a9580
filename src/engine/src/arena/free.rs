//! Free slots: a small last-in first-out magazine per thread over a shared stack.
//!
//! Last in first out on both levels, because the slot used last is the one still in cache: a first-in first-out list
//! walks the whole arena and makes each fill several times dearer.

use crossbeam::utils::CachePadded;

use crate::arena::Record;
use crate::arena::magazine::{Inside, MAGAZINE_SLOTS, Magazine};
use crate::arena::stack::{BUNDLE_SLOTS, Stack};
use crate::arena::table::Table;
use crate::barrier::Barrier;
use crate::lane::lane;

/// Magazines per class. Threads whose lane is none of these use the shared stack.
#[cfg(not(loom))]
const MAGAZINES: usize = 16;
#[cfg(loom)]
const MAGAZINES: usize = 1;

/// A class with few slots keeps them all in the shared stack, where every thread sees them.
#[cfg(not(loom))]
const SLOTS_PER_MAGAZINE_SLOT: u32 = 64;
#[cfg(loom)]
const SLOTS_PER_MAGAZINE_SLOT: u32 = 2;

/// The free slots of one class.
#[derive(Debug)]
pub(super) struct FreeList {
    magazines: Box<[CachePadded<Magazine>]>,
    magazine_slots: usize,
    /// Most slots that go to and from the shared stack as one.
    bundle_slots: usize,
    stack: Stack,
    barrier: Barrier,
}

impl FreeList {
    pub fn new(slots: u32) -> Self {
        let magazine_slots = MAGAZINE_SLOTS.min((slots / SLOTS_PER_MAGAZINE_SLOT) as usize);
        let magazines = if magazine_slots > 0 { MAGAZINES } else { 0 };
        Self {
            magazines: (0..magazines).map(|_| CachePadded::new(Magazine::new())).collect(),
            magazine_slots,
            // Two are fetched at once, and they are half a magazine.
            bundle_slots: (magazine_slots / 4).clamp(1, BUNDLE_SLOTS),
            stack: Stack::new(),
            barrier: Barrier::new(),
        }
    }

    /// Adds `count` slots from `first` on that were never lent out, so that the lowest is taken first.
    pub fn seed<M: Record>(&self, first: u32, count: u32, table: &Table<M>) {
        let all: Vec<u32> = (first..first + count).rev().collect();
        all.chunks(self.bundle_slots).for_each(|bundle| self.stack.seed(bundle, table));
    }

    /// Most slots that were out of the shared stack at once since the last was seeded.
    pub fn out_max(&self) -> u64 {
        self.stack.out_max()
    }

    /// Slots lent out, exact when no other thread takes or puts at this moment.
    pub fn lent(&self) -> u64 {
        let kept: usize = self.magazines.iter().map(|magazine| magazine.len()).sum();
        self.stack.out().saturating_sub(kept as u64)
    }

    /// A slot of the calling thread's magazine: the quick way, which finds nothing now and then.
    #[inline]
    pub fn take_own(&self) -> Option<u32> {
        self.own()?.pop()
    }

    /// A slot from anywhere.
    #[cold]
    pub fn take<M: Record>(&self, table: &Table<M>) -> Option<u32> {
        if let Some(own) = self.own() {
            if own.len() == 0 {
                self.stack.pop_two(table).oldest_first(|index| own.push(index));
            }
            if let Some(index) = own.pop() {
                return Some(index);
            }
        }
        self.take_shared(table)
    }

    fn take_shared<M: Record>(&self, table: &Table<M>) -> Option<u32> {
        let bundle = self.stack.pop_one(table);
        let Some((index, rest)) = bundle.as_slice().split_last() else { return self.steal() };
        if !rest.is_empty() {
            self.stack.push(rest, self.bundle_slots, table);
        }
        Some(*index)
    }

    #[inline]
    pub fn put<M: Record>(&self, index: u32, table: &Table<M>) {
        match self.own() {
            Some(own) if own.len() < self.magazine_slots => own.push(index),
            own => self.put_shared(own, index, table),
        }
    }

    /// Makes room in the magazine, or does without.
    #[cold]
    fn put_shared<M: Record>(&self, own: Option<Inside<'_>>, index: u32, table: &Table<M>) {
        let Some(own) = own else { return self.stack.push(&[index], 1, table) };
        let count = self.magazine_slots.div_ceil(2);
        self.stack.push(&own.take_oldest(count)[..count], self.bundle_slots, table);
        own.push(index);
    }

    /// The calling thread's magazine, if it has one and no thief is in it.
    #[inline]
    fn own(&self) -> Option<Inside<'_>> {
        self.magazines.get(lane())?.enter(self.barrier)
    }

    /// The shared stack is empty: look into the magazines of others before saying so.
    fn steal(&self) -> Option<u32> {
        let mut knocked = 0_u32;
        for (place, magazine) in self.magazines.iter().enumerate() {
            if magazine.len() > 0 && magazine.knock() {
                knocked |= 1 << place;
            }
        }
        if knocked == 0 {
            return None;
        }
        self.barrier.heavy();
        let mut stolen = None;
        for (place, magazine) in self.magazines.iter().enumerate() {
            if knocked & 1 << place != 0 {
                // Breaking in lowers the flag, whether it succeeds or not.
                let inside = magazine.break_in();
                stolen = stolen.or_else(|| inside.as_ref().and_then(Inside::pop));
            }
        }
        stolen
    }
}

const _: () = assert!(MAGAZINES <= u32::BITS as usize);

/// The bundles fetched at once find room in an empty magazine, however few slots it is to keep.
const _: () = assert!(2 * BUNDLE_SLOTS <= MAGAZINE_SLOTS || cfg!(loom));
