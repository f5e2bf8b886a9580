//! How far a transfer is, for whoever draws it.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counts that grow while a file is sent or fetched.
#[derive(Debug, Default)]
pub struct Progress {
    total_bytes: AtomicU64,
    done_bytes: AtomicU64,
    kept_bytes: AtomicU64,
    in_flight_bytes: AtomicU64,
    limit: AtomicU64,
}

/// The counts at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Bytes of the file.
    pub total_bytes: u64,
    /// Bytes that are where they belong, those of an earlier run included.
    pub done_bytes: u64,
    /// Bytes of those that an earlier run had done.
    pub kept_bytes: u64,
    /// Bytes of chunks that are under way.
    pub in_flight_bytes: u64,
    /// Chunks that may be under way at once.
    pub limit: u64,
}

impl Progress {
    /// The counts now.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            total_bytes: self.total_bytes.load(Relaxed),
            done_bytes: self.done_bytes.load(Relaxed),
            kept_bytes: self.kept_bytes.load(Relaxed),
            in_flight_bytes: self.in_flight_bytes.load(Relaxed),
            limit: self.limit.load(Relaxed),
        }
    }

    /// Another file begins.
    pub(super) fn begin(&self, total_bytes: u64) {
        self.total_bytes.store(total_bytes, Relaxed);
        self.done_bytes.store(0, Relaxed);
        self.kept_bytes.store(0, Relaxed);
    }

    pub(super) fn sets_out(&self, bytes: usize) {
        self.in_flight_bytes.fetch_add(bytes as u64, Relaxed);
    }

    pub(super) fn comes_back(&self, bytes: usize, is_done: bool) {
        self.in_flight_bytes.fetch_sub(bytes as u64, Relaxed);
        if is_done {
            self.done_bytes.fetch_add(bytes as u64, Relaxed);
        }
    }

    pub(super) fn kept(&self, bytes: usize) {
        self.done_bytes.fetch_add(bytes as u64, Relaxed);
        self.kept_bytes.fetch_add(bytes as u64, Relaxed);
    }

    pub(super) fn set_limit(&self, limit: usize) {
        self.limit.store(limit as u64, Relaxed);
    }
}
