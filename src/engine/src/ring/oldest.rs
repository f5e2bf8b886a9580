//! Pushing onto a full ring at the price of its oldest index: what a link does that drops its oldest.

use crate::ring::mpmc::{Refused, Ring};

impl Ring {
    /// Pushes `index`; of a full ring the oldest goes. `dropped` gets what is not, or no longer, in the ring. True when `index` is.
    ///
    /// For one producer, beside any number of consumers. It never waits: when a consumer is in the middle of taking the oldest, there is
    /// no room yet and nothing older to drop, and `index` itself goes. A closed ring takes nothing.
    pub fn push_over_oldest(&self, index: u32, mut dropped: impl FnMut(u32)) -> bool {
        let mut outcome = self.push(index);
        // Fewer indices than cells and yet full: a consumer holds the cell. Dropping others would not free it.
        if outcome == Err(Refused::Full)
            && self.depth() == self.capacity()
            && let Some(oldest) = self.pop()
        {
            dropped(oldest);
            outcome = self.push(index);
        }
        if outcome.is_err() {
            dropped(index);
        }
        outcome.is_ok()
    }
}
