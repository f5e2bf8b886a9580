//! What a resume counts.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use levada_engine::Counter;

/// Shared with the metrics, and with the health of the archive.
#[derive(Debug, Default)]
pub struct ResumeCounters {
    /// Messages that were fetched and are in the archive now.
    pub archived: Counter,
    /// Messages that the archive had already.
    pub known: Counter,
    /// Messages that the validators refused, or that are not to be archived.
    pub refused: Counter,
    /// Messages on pubsub topics that the node takes no part in.
    pub unknown_topic: Counter,
    /// Pages that were fetched and are in the archive.
    pub pages: Counter,
    /// Tries that failed.
    pub failures: Counter,
    missing_seconds: AtomicU64,
    is_running: AtomicBool,
}

/// A resume is running until this is dropped, however it ends.
pub(super) struct Run(Arc<ResumeCounters>);

impl Drop for Run {
    fn drop(&mut self) {
        self.0.is_running.store(false, Relaxed);
    }
}

impl ResumeCounters {
    /// Says how long the stretch is that is still to be fetched.
    pub(super) fn set_missing(&self, seconds: u64) {
        self.missing_seconds.store(seconds, Relaxed);
    }

    /// Seconds of messages that are still to be fetched; 0 once they are here, or if nobody fetches.
    pub fn missing_seconds(&self) -> u64 {
        self.missing_seconds.load(Relaxed)
    }

    /// Notes that a resume has begun.
    pub(super) fn run(self: &Arc<Self>) -> Run {
        self.is_running.store(true, Relaxed);
        Run(self.clone())
    }

    /// Whether missed messages are being fetched, or the next try is waited for.
    pub fn is_running(&self) -> bool {
        self.is_running.load(Relaxed)
    }

    /// All messages so far, whatever became of them.
    pub(super) fn messages(&self) -> u64 {
        let counters = [&self.archived, &self.known, &self.refused, &self.unknown_topic];
        counters.map(Counter::value).iter().sum()
    }
}
