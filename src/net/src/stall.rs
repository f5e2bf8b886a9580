//! Whether reading is stopped, and since when, for everybody to see.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::counters;

/// A time during which at least one stream is not read. The network's tasks keep a [`Stalled`] each, and any thread may look at it.
pub(crate) struct Stall {
    epoch: Instant,
    /// Streams that are not read; held to change `began` with it.
    streams: Mutex<usize>,
    /// Nanoseconds from the epoch to the begin, plus one; zero while there is no stall.
    began: AtomicU64,
}

impl Default for Stall {
    fn default() -> Self {
        Self { epoch: Instant::now(), streams: Mutex::new(0), began: AtomicU64::new(0) }
    }
}

impl Stall {
    /// A stream is no longer read.
    fn begin(&self) {
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        *streams += 1;
        if *streams == 1 {
            self.began.store(self.now_ns().saturating_add(1), Relaxed);
        }
    }

    /// A stream is read again, or gone.
    fn end(&self) {
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        *streams = streams.saturating_sub(1);
        if *streams == 0 {
            self.began.store(0, Relaxed);
        }
    }

    pub(crate) fn lasts_for(&self) -> Option<Duration> {
        let began = self.began.load(Relaxed);
        (began != 0).then(|| Duration::from_nanos(self.now_ns().saturating_sub(began - 1)))
    }

    fn now_ns(&self) -> u64 {
        u64::try_from(self.epoch.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

/// A time during which one stream is not read, counted; it ends when this is dropped.
pub(crate) struct Stalled {
    stall: Arc<Stall>,
    since: Instant,
}

impl Stalled {
    pub(crate) fn begin(stall: &Arc<Stall>) -> Self {
        counters::INBOUND_STALLS.add(1);
        stall.begin();
        Self { stall: stall.clone(), since: Instant::now() }
    }
}

impl Drop for Stalled {
    fn drop(&mut self) {
        self.stall.end();
        counters::INBOUND_STALLED_NS.add(u64::try_from(self.since.elapsed().as_nanos()).unwrap_or(u64::MAX));
    }
}

#[cfg(test)]
mod tests {
    use super::Stall;

    #[test]
    fn it_lasts_from_the_first_begin_to_the_last_end() {
        let stall = Stall::default();
        assert_eq!(stall.lasts_for(), None);
        stall.begin();
        let first = stall.lasts_for().expect("it has begun");
        stall.begin();
        stall.end();
        assert!(stall.lasts_for().expect("one stream is still not read") >= first);
        stall.end();
        assert_eq!(stall.lasts_for(), None);
    }
}
