//! What all archives of the process did, counted where it happens and always.

use std::sync::atomic::AtomicU64;
use std::time::Instant;

use levada_engine::{Counter, Histogram, Steps};

use crate::postgres::task;
pub use crate::postgres::task::TaskTimes;
use crate::{ArchiveError, Dropped, InsertOutcome};

/// Messages stored; for SQLite in a file, counted after the disk has them.
pub static STORED_MESSAGES: Counter = Counter::new();
/// Messages ignored because their hash was stored already.
pub static DUPLICATE_MESSAGES: Counter = Counter::new();
/// Messages too large for the archive.
pub static DROPPED_MESSAGES: Counter = Counter::new();
/// Messages that left the memory archive to make room.
pub static EVICTED_MESSAGES: Counter = Counter::new();
/// Messages that went into the local log because their database was away or slow.
pub static SPILLED_MESSAGES: Counter = Counter::new();
/// Messages dropped by retention.
pub static RETENTION_MESSAGES: Counter = Counter::new();
/// Segments dropped by retention.
pub static RETENTION_SEGMENTS: Counter = Counter::new();
/// Bytes of the segments dropped by retention.
pub static RETENTION_BYTES: Counter = Counter::new();
/// Steps of retention that failed.
pub static RETENTION_FAILURES: Counter = Counter::new();
/// Payload bytes of the messages stored.
pub static INSERTED_PAYLOAD_BYTES: Counter = Counter::new();
/// Copies of whole payloads made on insert, those of batches that failed later included.
pub static ARCHIVE_COPIES: Counter = Counter::new();
/// Bytes of the copies that [`ARCHIVE_COPIES`] counts.
pub static ARCHIVE_COPIED_BYTES: Counter = Counter::new();
/// Queries answered with a page.
pub static QUERIES: Counter = Counter::new();
/// Queries answered with an error.
pub static QUERY_FAILURES: Counter = Counter::new();
/// How long queries took, those that failed included.
pub static QUERY_DURATIONS: Histogram = Histogram::new(Steps::SECONDS);
/// Payload bytes handed out in pages.
pub static QUERIED_PAYLOAD_BYTES: Counter = Counter::new();
/// Records of the segment log that a page had from memory.
pub static MEMORY_READS: Counter = Counter::new();
/// Records of the segment log that a page had from the disk, or from the page cache before it.
pub static DISK_READS: Counter = Counter::new();
/// Bytes of the records that [`DISK_READS`] counts.
pub static DISK_READ_BYTES: Counter = Counter::new();
/// Records of the segment log left out of a page, or out of the index, because they are damaged.
pub static DAMAGED_RECORDS: Counter = Counter::new();
/// Batches that failed because the disk is full.
pub static INSERT_FAILURES_DISK_FULL: Counter = Counter::new();
/// Batches that failed because another program held the database.
pub static INSERT_FAILURES_BUSY: Counter = Counter::new();
/// Batches that failed because the file is damaged.
pub static INSERT_FAILURES_CORRUPT: Counter = Counter::new();
/// Batches that failed because the operating system refused to read or write.
pub static INSERT_FAILURES_IO: Counter = Counter::new();
/// Batches that failed for any other reason.
pub static INSERT_FAILURES_OTHER: Counter = Counter::new();

/// Payload of the message stored last in a PostgreSQL database, in bytes.
pub static LAST_DATABASE_PAYLOAD_BYTES: AtomicU64 = AtomicU64::new(0);

/// What PostgreSQL databases were asked, by its kind.
pub fn database_tasks() -> impl Iterator<Item = TaskTimes> {
    task::times()
}

/// The insert failures by kind, as label values and counts of batches.
pub fn insert_failures() -> [(&'static str, u64); 5] {
    [
        ("disk_full", INSERT_FAILURES_DISK_FULL.value()),
        ("busy", INSERT_FAILURES_BUSY.value()),
        ("corrupt", INSERT_FAILURES_CORRUPT.value()),
        ("io", INSERT_FAILURES_IO.value()),
        ("other", INSERT_FAILURES_OTHER.value()),
    ]
}

/// The counts of one batch, gathered without atomics and published once.
#[derive(Debug, Default)]
pub(crate) struct InsertTally {
    pub(crate) outcome: InsertOutcome,
    pub(crate) stored_bytes: u64,
    pub(crate) copies: u64,
    pub(crate) copied_bytes: u64,
    pub(crate) evicted: u64,
}

impl InsertTally {
    /// Notes a stored message whose payload was copied once.
    pub(crate) fn stored(&mut self, payload_bytes: usize) {
        self.stored_copying(payload_bytes, payload_bytes);
    }

    /// Notes a stored message, and how much of its payload was copied: the ends of one that was written from where it lay are bytes, but no
    /// copy.
    pub(crate) fn stored_copying(&mut self, payload_bytes: usize, copied_bytes: usize) {
        self.outcome.stored += 1;
        self.stored_bytes += payload_bytes as u64;
        self.copies += u64::from(payload_bytes > 0 && copied_bytes == payload_bytes);
        self.copied_bytes += copied_bytes as u64;
    }

    /// Adds the tally to the counters and turns it into the result of the batch.
    pub(crate) fn publish(self, result: Result<(), ArchiveError>) -> Result<InsertOutcome, ArchiveError> {
        ARCHIVE_COPIES.add(self.copies);
        ARCHIVE_COPIED_BYTES.add(self.copied_bytes);
        match result {
            Ok(()) => {
                STORED_MESSAGES.add(self.outcome.stored);
                INSERTED_PAYLOAD_BYTES.add(self.stored_bytes);
                DUPLICATE_MESSAGES.add(self.outcome.duplicates);
                DROPPED_MESSAGES.add(self.outcome.dropped);
                EVICTED_MESSAGES.add(self.evicted);
                Ok(self.outcome)
            }
            Err(error) => {
                failure_counter(&error).add(1);
                Err(error)
            }
        }
    }
}

/// Counts a step of retention by its result, and hands it on.
pub(crate) fn count_retention(dropped: Result<Dropped, ArchiveError>) -> Result<Dropped, ArchiveError> {
    match &dropped {
        Ok(dropped) => {
            RETENTION_MESSAGES.add(dropped.messages);
            RETENTION_SEGMENTS.add(dropped.segments);
            RETENTION_BYTES.add(dropped.bytes);
        }
        Err(_) => RETENTION_FAILURES.add(1),
    }
    dropped
}

/// Counts a query by its result, and the time it took.
pub(crate) fn count_query(began: Instant, result: &Result<crate::Page, ArchiveError>) {
    QUERY_DURATIONS.observe_duration(began.elapsed());
    match result {
        Ok(page) => {
            QUERIES.add(1);
            let bodies = page.messages.iter().filter_map(|message| message.body.as_ref());
            QUERIED_PAYLOAD_BYTES.add(bodies.map(|body| body.payload.len() as u64).sum());
        }
        Err(_) => QUERY_FAILURES.add(1),
    }
}

fn failure_counter(error: &ArchiveError) -> &'static Counter {
    match error {
        ArchiveError::DiskFull { .. } => &INSERT_FAILURES_DISK_FULL,
        ArchiveError::Busy { .. } => &INSERT_FAILURES_BUSY,
        ArchiveError::Corrupt { .. } | ArchiveError::NotADatabase { .. } => &INSERT_FAILURES_CORRUPT,
        ArchiveError::Io { .. } | ArchiveError::FileReadOnly { .. } => &INSERT_FAILURES_IO,
        _ => &INSERT_FAILURES_OTHER,
    }
}
