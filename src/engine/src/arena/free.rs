//! Free slots of a class: what threads keep, in small last-in first-out magazines, over a shared stack.
//!
//! Last in first out on both levels, because the slot used last is the one still in cache: a first-in first-out list
//! walks the whole arena and makes each fill several times dearer.

use crate::arena::Record;
use crate::arena::magazine::{MAGAZINE_SLOTS, Magazine};
use crate::arena::stack::{BUNDLE_SLOTS, Stack};
use crate::arena::table::Table;

/// A class with few slots keeps them all in the shared stack, where every thread sees them.
#[cfg(not(loom))]
const SLOTS_PER_MAGAZINE_SLOT: u32 = 64;
#[cfg(loom)]
const SLOTS_PER_MAGAZINE_SLOT: u32 = 2;

/// The free slots of one class.
#[derive(Debug)]
pub(super) struct FreeList {
    /// Most that a thread keeps; 0 when the class is too small for that.
    magazine_slots: usize,
    /// Most slots that go to and from the shared stack as one.
    bundle_slots: usize,
    stack: Stack,
}

impl FreeList {
    pub fn new(slots: u32) -> Self {
        let magazine_slots = MAGAZINE_SLOTS.min((slots / SLOTS_PER_MAGAZINE_SLOT) as usize);
        Self {
            magazine_slots,
            // Two are fetched at once, and they are half a magazine.
            bundle_slots: (magazine_slots / 4).clamp(1, BUNDLE_SLOTS),
            stack: Stack::new(),
        }
    }

    /// Adds `count` slots from `first` on that were never lent out, so that the lowest is taken first.
    pub fn seed<M: Record>(&self, first: u32, count: u32, table: &Table<M>) {
        let all: Vec<u32> = (first..first + count).rev().collect();
        all.chunks(self.bundle_slots).for_each(|bundle| self.stack.seed(bundle, table));
    }

    /// The tag of the shared stack goes on from `tag`; nobody else knows the list yet.
    pub fn start_at(&self, tag: u32) {
        self.stack.start_at(tag);
    }

    /// Its slots are enough for threads to keep some each.
    pub fn is_kept(&self) -> bool {
        self.magazine_slots > 0
    }

    /// Most slots that a thread should handle together, so as not to hold back many from others: half of what it may keep.
    pub fn together_max(&self) -> usize {
        (self.magazine_slots / 2).max(1)
    }

    /// Slots out of the shared stack: lent out, or kept by a thread.
    pub fn out(&self) -> u64 {
        self.stack.out()
    }

    /// Most slots that were out of the shared stack at once since the last was seeded.
    pub fn out_max(&self) -> u64 {
        self.stack.out_max()
    }

    /// A slot of the calling thread's magazine, which is filled from the shared stack first if it is empty, or of that.
    #[cold]
    pub fn take<M: Record>(&self, own: Option<&Magazine>, table: &Table<M>) -> Option<u32> {
        if let Some(own) = own.filter(|_| self.is_kept()) {
            if own.len() == 0 {
                self.stack.pop_two(table).oldest_first(|index| own.push(index));
            }
            if let Some(index) = own.pop() {
                return Some(index);
            }
        }
        self.take_one(table)
    }

    fn take_one<M: Record>(&self, table: &Table<M>) -> Option<u32> {
        let bundle = self.stack.pop_one(table);
        let (index, rest) = bundle.as_slice().split_last()?;
        if !rest.is_empty() {
            self.stack.push(rest, self.bundle_slots, table);
        }
        Some(*index)
    }

    /// Puts a slot into the calling thread's magazine, or where every thread sees it.
    #[inline]
    pub fn put<M: Record>(&self, index: u32, own: Option<&Magazine>, table: &Table<M>) {
        match own {
            Some(own) if own.len() < self.magazine_slots => own.push(index),
            own => self.put_shared(own, index, table),
        }
    }

    /// Puts several slots where [`put`](Self::put) would.
    #[inline]
    pub fn put_all<M: Record>(&self, indices: &[u32], own: Option<&Magazine>, table: &Table<M>) {
        match own {
            Some(own) if own.len() + indices.len() <= self.magazine_slots => own.push_all(indices),
            Some(own) if self.is_kept() => indices.iter().for_each(|index| self.put(*index, Some(own), table)),
            _ => self.stack.push(indices, self.bundle_slots, table),
        }
    }

    /// Makes room in the magazine, or does without.
    #[cold]
    fn put_shared<M: Record>(&self, own: Option<&Magazine>, index: u32, table: &Table<M>) {
        let Some(own) = own.filter(|_| self.is_kept()) else { return self.stack.push(&[index], 1, table) };
        let count = self.magazine_slots.div_ceil(2);
        self.stack.push(&own.take_oldest(count)[..count], self.bundle_slots, table);
        own.push(index);
    }
}

/// The bundles fetched at once find room in an empty magazine, however few slots it is to keep.
const _: () = assert!(2 * BUNDLE_SLOTS <= MAGAZINE_SLOTS || cfg!(loom));
