//! How many workers have begun and how many have ended, for a thread that waits for them.

use std::time::Instant;

use parking_lot::{Condvar, Mutex};

/// Workers count themselves in and out.
///
/// The lock is `parking_lot`'s for the sake of ThreadSanitizer: that crate is compiled with it, the standard library is not, and the slow
/// path of the standard lock, which channels use too, looks like a race.
#[derive(Debug, Default)]
pub(super) struct Roll {
    counts: Mutex<Counts>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Counts {
    begun: usize,
    ended: usize,
}

impl Roll {
    /// One more has begun.
    pub fn begin(&self) {
        self.counts.lock().begun += 1;
        self.changed.notify_all();
    }

    /// One more has ended.
    pub fn end(&self) {
        self.counts.lock().ended += 1;
        self.changed.notify_all();
    }

    /// Waits until `all` have begun.
    pub fn wait_for_all(&self, all: usize) {
        self.changed.wait_while(&mut self.counts.lock(), |counts| counts.begun < all);
    }

    /// Waits until more than `before` have ended; false when `deadline` came first.
    pub fn wait_for_next_end(&self, before: usize, deadline: Instant) -> bool {
        let mut counts = self.counts.lock();
        self.changed.wait_while_until(&mut counts, |counts| counts.ended <= before, deadline);
        counts.ended > before
    }
}
