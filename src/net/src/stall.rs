//! Whether reading is stopped, and since when, for everybody to see.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// A time span that the task opens and closes, and any thread may look at.
pub(crate) struct Stall {
    epoch: Instant,
    /// Nanoseconds from the epoch to the begin, plus one; zero while there is no stall.
    began: AtomicU64,
}

impl Default for Stall {
    fn default() -> Self {
        Self { epoch: Instant::now(), began: AtomicU64::new(0) }
    }
}

impl Stall {
    pub(crate) fn begin(&self) {
        self.began.store(self.now_ns().saturating_add(1), Relaxed);
    }

    /// Ends the stall and gives how long it lasted, in nanoseconds.
    pub(crate) fn end(&self) -> u64 {
        let began = self.began.swap(0, Relaxed);
        if began == 0 { 0 } else { self.since(began) }
    }

    pub(crate) fn lasts_for(&self) -> Option<Duration> {
        let began = self.began.load(Relaxed);
        (began != 0).then(|| Duration::from_nanos(self.since(began)))
    }

    fn since(&self, began: u64) -> u64 {
        self.now_ns().saturating_sub(began - 1)
    }

    fn now_ns(&self) -> u64 {
        u64::try_from(self.epoch.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::Stall;

    #[test]
    fn it_lasts_from_the_begin_to_the_end() {
        let stall = Stall::default();
        assert_eq!((stall.lasts_for(), stall.end()), (None, 0));
        stall.begin();
        let first = stall.lasts_for().expect("it has begun");
        let second = stall.lasts_for().expect("it goes on");
        assert!(second >= first);
        assert!(u128::from(stall.end()) >= second.as_nanos());
        assert_eq!(stall.lasts_for(), None);
    }
}
