//! Dropping the oldest messages, whole segments at a time.
//!
//! First the rows go, in a transaction that waits for the disk, and then the files: a crash in between leaves files that the index has
//! marked, and never rows without a file. The segment that is being written always stays. On a full disk even a deletion finds no room in
//! the write-ahead log; there, and only there, the files go first. A crash in between is then reported as a missing segment at the next
//! start, and costs nothing else.

use rusqlite::{Connection, ErrorCode};

use super::files::SegmentFiles;
use super::index::{self, Entry};
use super::{Failure, SegmentArchive};
use crate::ArchiveError;

/// What an archive keeps. Segments are dropped, the oldest first, as long as one of the limits asks for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// Drop what can go while at least so many messages remain.
    pub messages_max: Option<u64>,
    /// Drop until the segments have at most so many bytes.
    pub bytes_max: Option<u64>,
    /// Drop segments that hold only messages from before this time, nanoseconds since the Unix epoch.
    pub timestamp_min_ns: Option<i64>,
}

/// What was dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    /// Segments.
    pub segments: u64,
    /// Messages in them.
    pub messages: u64,
    /// Bytes of their files.
    pub bytes: u64,
}

impl Retention {
    /// The first of `entries` that need not be kept.
    fn select<'a>(&self, entries: &'a [Entry], active: Option<u32>) -> &'a [Entry] {
        let mut messages: u64 = entries.iter().map(|entry| entry.messages).sum();
        let mut bytes: u64 = entries.iter().map(|entry| entry.bytes).sum();
        let stays = |entry: &Entry| {
            let goes = self.messages_max.is_some_and(|max| messages - entry.messages >= max)
                || self.bytes_max.is_some_and(|max| bytes > max)
                || self.timestamp_min_ns.is_some_and(|min| entry.timestamp_max < min);
            messages -= entry.messages;
            bytes -= entry.bytes;
            Some(entry.id) == active || !goes
        };
        let kept_from = entries.iter().position(stays).unwrap_or(entries.len());
        &entries[..kept_from]
    }
}

impl SegmentArchive {
    /// Drops what `retention` does not ask to keep. Queries go on meanwhile; inserts wait.
    ///
    /// # Errors
    /// Any [`ArchiveError`] about the file. What was dropped stays dropped, and a later call goes on.
    pub fn retain(&mut self, retention: &Retention) -> Result<Dropped, ArchiveError> {
        let log = self.log();
        let dropped = index::segments(&log.conn).map_err(Failure::from).and_then(|entries| {
            let entries: Vec<Entry> = entries.into_iter().filter(|entry| !entry.dropped).collect();
            drop_segments(&log.conn, &self.files, retention.select(&entries, log.writer.active()))
        });
        dropped.map_err(|failure| failure.translate(&self.locked.path))
    }
}

/// Drops these segments, which are the oldest, rows first.
pub(super) fn drop_segments(conn: &Connection, files: &SegmentFiles, entries: &[Entry]) -> Result<Dropped, Failure> {
    if entries.is_empty() {
        return Ok(Dropped::default());
    }
    let ids: Vec<u32> = entries.iter().map(|entry| entry.id).collect();
    match delete_rows(conn, entries) {
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::DiskFull) => {
            files.drop_oldest(&ids)?;
            delete_rows(conn, entries)?;
        }
        deleted => deleted?,
    }
    files.drop_oldest(&ids)?;
    ids.iter().try_for_each(|id| index::forget(conn, *id))?;
    Ok(Dropped {
        segments: entries.len() as u64,
        messages: entries.iter().map(|entry| entry.messages).sum(),
        bytes: entries.iter().map(|entry| entry.bytes).sum(),
    })
}

fn delete_rows(conn: &Connection, entries: &[Entry]) -> rusqlite::Result<()> {
    let delete = || {
        let transaction = index::begin(conn)?;
        entries.iter().try_for_each(|entry| index::drop_segment(conn, entry.id))?;
        transaction.commit()
    };
    index::set_synced(conn, true)?;
    let deleted = delete();
    index::set_synced(conn, false)?;
    deleted
}

#[cfg(test)]
mod tests {
    use super::{Entry, Retention};

    fn selected(retention: Retention, active: Option<u32>) -> usize {
        let entry = |id: u32| {
            let timestamp_max = i64::from(id) * 100;
            Entry { id, bytes: 1_000, records: 10, messages: 10, timestamp_max, dropped: false }
        };
        let entries: Vec<Entry> = (1..=5).map(entry).collect();
        retention.select(&entries, active).len()
    }

    #[test]
    fn only_what_no_limit_keeps_is_dropped() {
        let none = Retention::default();
        assert_eq!(selected(none, None), 0);
        for (messages_max, expected) in [(50, 0), (49, 0), (41, 0), (40, 1), (11, 3), (10, 4), (0, 5)] {
            assert_eq!(selected(Retention { messages_max: Some(messages_max), ..none }, None), expected);
        }
        for (bytes_max, expected) in [(5_000, 0), (4_999, 1), (4_000, 1), (1, 5), (0, 5)] {
            assert_eq!(selected(Retention { bytes_max: Some(bytes_max), ..none }, None), expected);
        }
        for (timestamp_min_ns, expected) in [(0, 0), (100, 0), (101, 1), (500, 4), (501, 5)] {
            assert_eq!(selected(Retention { timestamp_min_ns: Some(timestamp_min_ns), ..none }, None), expected);
        }
        let joined = Retention { messages_max: Some(40), bytes_max: Some(3_000), timestamp_min_ns: Some(101) };
        assert_eq!(selected(joined, None), 2);
    }

    #[test]
    fn the_active_segment_stays() {
        let everything = Retention { bytes_max: Some(0), ..Retention::default() };
        assert_eq!(selected(everything, Some(5)), 4);
        assert_eq!(selected(everything, Some(1)), 0);
    }
}
