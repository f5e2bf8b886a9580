//! The shared free slots of a class: a lock-free stack (Treiber 1986) of bundles, linked through the envelope headers.
//!
//! A bundle is a few slots that come and go as one: the header of its first slot names the others. So a thread that
//! takes many exchanges the top, and fetches a header from another core, once for all of them.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crossbeam_utils::CachePadded;

use crate::arena::Record;
use crate::arena::table::{MEMBERS, Table};
use crate::sync::{AtomicU32, AtomicU64};

/// No bundle below this one.
const NONE: u32 = u32::MAX;

/// Most slots in a bundle.
pub(super) const BUNDLE_SLOTS: usize = MEMBERS + 1;

/// A stack of bundles. The top carries a tag that grows with each change, so that a top that was popped and pushed
/// again is told from one that never moved.
#[derive(Debug)]
pub(super) struct Stack(CachePadded<Top>);

#[derive(Debug)]
struct Top {
    /// Tag in the high half, the bundle's first slot in the low half.
    top: AtomicU64,
    /// Slots popped and not pushed back.
    out: AtomicU32,
    out_max: AtomicU32,
}

/// Up to two bundles, as they were popped.
#[derive(Debug)]
pub(super) struct Bundles {
    slots: [[u32; BUNDLE_SLOTS]; 2],
    counts: [usize; 2],
}

impl Bundles {
    /// Gives out every slot, the one pushed last at last.
    #[inline]
    pub fn oldest_first(&self, take: impl FnMut(u32)) {
        let [newer, older] = [0, 1].map(|place| &self.slots[place][..self.counts[place]]);
        older.iter().chain(newer).copied().for_each(take);
    }

    /// The slots of the first bundle, oldest first.
    pub fn as_slice(&self) -> &[u32] {
        &self.slots[0][..self.counts[0]]
    }
}

impl Stack {
    pub fn new() -> Self {
        let top = AtomicU64::new(u64::from(NONE));
        Self(CachePadded::new(Top { top, out: AtomicU32::new(0), out_max: AtomicU32::new(0) }))
    }

    /// Adds a bundle of slots that were never popped, oldest first.
    pub fn seed<M: Record>(&self, bundle: &[u32], table: &Table<M>) {
        self.link_in(bundle[0], write(bundle, table), table);
    }

    /// The tag goes on from `tag`; nobody else knows the stack yet.
    pub fn start_at(&self, tag: u32) {
        let first = index_of(self.0.top.load(Relaxed));
        self.0.top.store(u64::from(tag) << 32 | u64::from(first), Relaxed);
    }

    /// Pushes slots, oldest first, in bundles of `bundle_slots`.
    pub fn push<M: Record>(&self, slots: &[u32], bundle_slots: usize, table: &Table<M>) {
        // Counted first: a slot popped again at once must not count twice.
        self.0.out.fetch_sub(slots.len() as u32, Relaxed);
        let mut below = None;
        for bundle in slots.chunks(bundle_slots) {
            let first = write(bundle, table);
            if let Some(below) = below {
                table.header(first).link.store(below, Relaxed);
            }
            below = Some(first);
        }
        if let Some(newest) = below {
            self.link_in(slots[0], newest, table);
        }
    }

    /// Puts a chain of bundles, linked from `newest` down to `oldest`, on top.
    fn link_in<M: Record>(&self, oldest: u32, newest: u32, table: &Table<M>) {
        let mut top = self.0.top.load(Relaxed);
        loop {
            table.header(oldest).link.store(index_of(top), Relaxed);
            // Release pairs with the acquire in `pop`: the bundles, and all that was done with the slots, are visible.
            match self.0.top.compare_exchange_weak(top, next_top(top, newest), Release, Relaxed) {
                Ok(_) => return,
                Err(seen) => top = seen,
            }
        }
    }

    /// Pops one bundle; an empty one when there is none.
    pub fn pop_one<M: Record>(&self, table: &Table<M>) -> Bundles {
        self.pop(1, table)
    }

    /// Pops two bundles, or as many as there are.
    pub fn pop_two<M: Record>(&self, table: &Table<M>) -> Bundles {
        self.pop(2, table)
    }

    fn pop<M: Record>(&self, most: usize, table: &Table<M>) -> Bundles {
        let mut bundles = Bundles { slots: [[0; BUNDLE_SLOTS]; 2], counts: [0; 2] };
        // Pairs with the release exchange in `link_in`.
        let mut top = self.0.top.load(Acquire);
        let firsts = loop {
            let first = index_of(top);
            if first == NONE {
                return bundles;
            }
            // Links may change under us when another thread pops these bundles; then the tag has moved and the
            // exchange fails. Whatever a link holds meanwhile, it names a slot or nothing.
            let second = if most > 1 { table.header(first).link.load(Relaxed) } else { NONE };
            let last = if second == NONE { first } else { second };
            let below = table.header(last).link.load(Relaxed);
            // It need not release: an exchange passes on what the pushes before it released. A failure pairs with those
            // as the load above does.
            match self.0.top.compare_exchange_weak(top, next_top(top, below), Relaxed, Acquire) {
                Ok(_) => break [first, second],
                Err(seen) => top = seen,
            }
        };
        for (place, first) in firsts.into_iter().filter(|first| *first != NONE).enumerate() {
            bundles.counts[place] = read(first, &mut bundles.slots[place], table);
        }
        self.count_out(bundles.counts.iter().sum::<usize>() as u32);
        bundles
    }

    fn count_out(&self, slots: u32) {
        let out = self.0.out.fetch_add(slots, Relaxed) + slots;
        if out > self.0.out_max.load(Relaxed) {
            self.0.out_max.fetch_max(out, Relaxed);
        }
    }

    /// Slots popped and not pushed back.
    pub fn out(&self) -> u64 {
        u64::from(self.0.out.load(Relaxed))
    }

    /// Most slots that were popped and not pushed back at once.
    pub fn out_max(&self) -> u64 {
        u64::from(self.0.out_max.load(Relaxed))
    }
}

/// Writes a bundle into the header of its first slot, and names that.
fn write<M: Record>(bundle: &[u32], table: &Table<M>) -> u32 {
    let header = table.header(bundle[0]);
    header.members.iter().zip(&bundle[1..]).for_each(|(member, index)| member.store(*index, Relaxed));
    header.bundle.store(bundle.len() as u32, Relaxed);
    bundle[0]
}

/// Reads the bundle of `first`, which the caller has popped; how many slots it is.
fn read<M: Record>(first: u32, slots: &mut [u32; BUNDLE_SLOTS], table: &Table<M>) -> usize {
    let header = table.header(first);
    slots[0] = first;
    let count = header.bundle.load(Relaxed) as usize;
    slots[1..count].iter_mut().zip(&header.members).for_each(|(index, member)| *index = member.load(Relaxed));
    count
}

fn index_of(top: u64) -> u32 {
    top as u32
}

fn next_top(top: u64, index: u32) -> u64 {
    let tag = (top >> 32).wrapping_add(1);
    (tag << 32) | u64::from(index)
}
