//! The shared free slots of a class: a lock-free stack linked through the envelope headers (Treiber 1986).

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crossbeam::utils::CachePadded;

use crate::arena::Record;
use crate::arena::table::Table;
use crate::sync::{AtomicU32, AtomicU64};

/// No slot below this one.
const NONE: u32 = u32::MAX;

/// A stack of slot indices. The top carries a tag that grows with each change, so that a top that was popped and
/// pushed again is told from one that never moved.
#[derive(Debug)]
pub(super) struct Stack {
    /// Tag in the high half, index in the low half.
    top: CachePadded<AtomicU64>,
    /// Slots popped and not pushed back.
    out: AtomicU32,
    out_max: AtomicU32,
}

impl Stack {
    pub fn new() -> Self {
        Self {
            top: CachePadded::new(AtomicU64::new(u64::from(NONE))),
            out: AtomicU32::new(0),
            out_max: AtomicU32::new(0),
        }
    }

    /// Adds a slot that was never popped.
    pub fn seed<M: Record>(&self, index: u32, table: &Table<M>) {
        self.link_in(index, index, table);
    }

    /// Pushes `count` slots already linked from `newest` down to `oldest`.
    pub fn push_chain<M: Record>(&self, newest: u32, oldest: u32, count: u32, table: &Table<M>) {
        // Counted first: a slot popped again at once must not count twice.
        self.out.fetch_sub(count, Relaxed);
        self.link_in(newest, oldest, table);
    }

    fn link_in<M: Record>(&self, newest: u32, oldest: u32, table: &Table<M>) {
        let mut top = self.top.load(Relaxed);
        loop {
            table.header(oldest).link.store(index_of(top), Relaxed);
            // Release pairs with the acquire in `pop`: the links, and all that was done with the slots, are visible.
            match self.top.compare_exchange_weak(top, next_top(top, newest), Release, Relaxed) {
                Ok(_) => return,
                Err(seen) => top = seen,
            }
        }
    }

    pub fn pop<M: Record>(&self, table: &Table<M>) -> Option<u32> {
        // Pairs with the release exchanges in `link_in` and below.
        let mut top = self.top.load(Acquire);
        loop {
            let index = index_of(top);
            if index == NONE {
                return None;
            }
            // The link may change under us when another thread pops this slot; then the tag has moved and the exchange fails.
            let below = table.header(index).link.load(Relaxed);
            // A pop publishes too: whoever pops next reads the links of earlier pushes through this exchange.
            match self.top.compare_exchange_weak(top, next_top(top, below), Release, Acquire) {
                Ok(_) => break,
                Err(seen) => top = seen,
            }
        }
        let out = self.out.fetch_add(1, Relaxed) + 1;
        self.out_max.fetch_max(out, Relaxed);
        Some(index_of(top))
    }

    /// Most slots that were popped and not pushed back at once.
    pub fn out_max(&self) -> u64 {
        u64::from(self.out_max.load(Relaxed))
    }
}

fn index_of(top: u64) -> u32 {
    top as u32
}

fn next_top(top: u64, index: u32) -> u64 {
    let tag = (top >> 32).wrapping_add(1);
    (tag << 32) | u64::from(index)
}
