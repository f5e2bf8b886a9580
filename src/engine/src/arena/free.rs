//! Free slots: a small last-in first-out magazine per thread over a shared stack.
//!
//! Last in first out on both levels, because the slot used last is the one still in cache: a first-in first-out list
//! walks the whole arena and makes each fill several times dearer.

use std::cell::UnsafeCell;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crossbeam::utils::CachePadded;

use crate::arena::Record;
use crate::arena::stack::Stack;
use crate::arena::table::Table;
use crate::sync::AtomicBool;

/// Magazines per class. Threads beyond this many share them; a magazine in use is passed over, never waited for.
#[cfg(not(loom))]
const MAGAZINES: usize = 16;
#[cfg(loom)]
const MAGAZINES: usize = 1;

/// Most slots a thread keeps for itself.
#[cfg(not(loom))]
const MAGAZINE_SLOTS: usize = 32;
#[cfg(loom)]
const MAGAZINE_SLOTS: usize = 2;

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
    stack: Stack,
}

impl FreeList {
    pub fn new(slots: u32) -> Self {
        Self {
            magazines: (0..MAGAZINES).map(|_| CachePadded::new(Magazine::default())).collect(),
            magazine_slots: MAGAZINE_SLOTS.min((slots / SLOTS_PER_MAGAZINE_SLOT) as usize),
            stack: Stack::new(),
        }
    }

    /// Adds a slot that was never lent out.
    pub fn seed<M: Record>(&self, index: u32, table: &Table<M>) {
        self.stack.seed(index, table);
    }

    /// Most slots that were out of the shared stack at once since the last was seeded.
    pub fn out_max(&self) -> u64 {
        self.stack.out_max()
    }

    pub fn take<M: Record>(&self, table: &Table<M>) -> Option<u32> {
        if self.magazine_slots > 0
            && let Some(own) = self.own().try_lock()
        {
            if own.indices.is_empty() {
                let refill = self.magazine_slots.div_ceil(2);
                (0..refill).map_while(|_| self.stack.pop(table)).for_each(|index| own.indices.push(index));
                // The top of the stack was returned last: it is lent out first here too.
                own.indices.reverse();
            }
            if let Some(index) = own.indices.pop() {
                return Some(index);
            }
        }
        self.stack.pop(table).or_else(|| self.steal())
    }

    pub fn put<M: Record>(&self, index: u32, table: &Table<M>) {
        if self.magazine_slots > 0
            && let Some(mut own) = self.own().try_lock()
        {
            if own.indices.len() == self.magazine_slots {
                own.spill(self.magazine_slots.div_ceil(2), &self.stack, table);
            }
            own.indices.push(index);
            return;
        }
        self.stack.push_chain(index, index, 1, table);
    }

    fn own(&self) -> &Magazine {
        &self.magazines[crate::counters::thread_lane() % self.magazines.len()]
    }

    /// The shared stack is empty: look into the magazines of others before saying so.
    fn steal(&self) -> Option<u32> {
        self.magazines.iter().find_map(|magazine| magazine.try_lock()?.indices.pop())
    }
}

/// A thread's own few slots, behind a lock that is only ever tried.
#[derive(Debug, Default)]
struct Magazine {
    busy: AtomicBool,
    indices: UnsafeCell<Indices>,
}

// SAFETY: `indices` is reached only between winning and clearing `busy`.
unsafe impl Sync for Magazine {}

impl Magazine {
    fn try_lock(&self) -> Option<MagazineGuard<'_>> {
        // Acquire pairs with the release store in `MagazineGuard::drop`: the indices are as the last holder left them.
        let won = !self.busy.load(Relaxed) && self.busy.compare_exchange(false, true, Acquire, Relaxed).is_ok();
        won.then(|| MagazineGuard {
            // SAFETY: `busy` was won, so no other reference to the indices exists until the guard clears it.
            indices: unsafe { &mut *self.indices.get() },
            busy: &self.busy,
        })
    }
}

#[derive(Debug)]
struct MagazineGuard<'a> {
    indices: &'a mut Indices,
    busy: &'a AtomicBool,
}

impl MagazineGuard<'_> {
    /// Moves the `count` oldest indices to the shared stack: the newest are the ones still in cache.
    fn spill<M: Record>(&mut self, count: usize, stack: &Stack, table: &Table<M>) {
        let oldest = &self.indices.array[..count];
        for pair in oldest.windows(2) {
            table.header(pair[1]).link.store(pair[0], Relaxed);
        }
        stack.push_chain(oldest[count - 1], oldest[0], count as u32, table);
        self.indices.drop_oldest(count);
    }
}

impl Drop for MagazineGuard<'_> {
    fn drop(&mut self) {
        // Pairs with the acquire exchange in `Magazine::try_lock`.
        self.busy.store(false, Release);
    }
}

/// A stack of fixed size.
#[derive(Debug)]
struct Indices {
    array: [u32; MAGAZINE_SLOTS],
    length: usize,
}

impl Default for Indices {
    fn default() -> Self {
        Self { array: [0; MAGAZINE_SLOTS], length: 0 }
    }
}

impl Indices {
    fn len(&self) -> usize {
        self.length
    }

    fn is_empty(&self) -> bool {
        self.length == 0
    }

    fn push(&mut self, index: u32) {
        self.array[self.length] = index;
        self.length += 1;
    }

    fn pop(&mut self) -> Option<u32> {
        self.length = self.length.checked_sub(1)?;
        Some(self.array[self.length])
    }

    fn reverse(&mut self) {
        self.array[..self.length].reverse();
    }

    fn drop_oldest(&mut self, count: usize) {
        self.array.copy_within(count..self.length, 0);
        self.length -= count;
    }
}
