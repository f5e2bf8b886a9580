//! What the two ends of a one-to-one ring tell each other besides indices: that they are gone.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};

use crate::sync::{AtomicBool, AtomicU32};

/// Which of the two ends are still there.
#[derive(Debug)]
pub(super) struct Ends {
    /// The producer is gone and pushes no more.
    closed: AtomicBool,
    /// The consumer is gone and pops no more.
    abandoned: AtomicBool,
    /// Ends not retired yet: the last one out takes what is left in the ring.
    left: AtomicU32,
}

impl Ends {
    pub fn new() -> Self {
        Self { closed: AtomicBool::new(false), abandoned: AtomicBool::new(false), left: AtomicU32::new(2) }
    }

    pub fn close(&self) {
        // Pairs with the acquire load in `is_closed`: every push is visible to whoever sees the flag.
        self.closed.store(true, Release);
    }

    pub fn is_closed(&self) -> bool {
        // Pairs with the release store in `close`.
        self.closed.load(Acquire)
    }

    pub fn abandon(&self) {
        // Pairs with the acquire load in `is_abandoned`.
        self.abandoned.store(true, Release);
    }

    pub fn is_abandoned(&self) -> bool {
        // Pairs with the release store in `abandon`.
        self.abandoned.load(Acquire)
    }

    /// One end retires; true for the last one.
    pub fn leave(&self) -> bool {
        // Both halves of AcqRel pair with the other end's decrement: its last push or pop is visible.
        self.left.fetch_sub(1, AcqRel) == 1
    }
}
