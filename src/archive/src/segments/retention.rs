//! Dropping the oldest messages, whole segments at a time, in steps of milliseconds between two batches.
//!
//! First the rows go, some hundred in a step; the transaction that takes the last of a segment marks it as dropped and waits for the disk,
//! and then the file is removed: a crash in between leaves a file that the index has marked, and never rows without a file. The segment
//! that is being written always stays; it is ended when it holds a fair part of what may stay. On a full disk even a deletion finds no
//! room in the write-ahead log; there, and only there, the file goes first. A crash in between is then reported as a missing segment at
//! the next start, and costs nothing else.
//!
//! When nothing is left to drop, the mark of a removed file is forgotten, which needs the folder synced, and pages of the index that
//! became free are given back to the disk.

use rusqlite::{Connection, ErrorCode};

use super::files::SegmentFiles;
use super::index::{self, Entry};
use super::{Failure, Log};
use crate::{Dropped, Retention};

/// Rows deleted in one step: a few milliseconds, and more than a batch adds meanwhile.
const STEP_ROWS: u64 = 512;
/// Free pages moved to the end of the index, and cut off there, in one step.
const STEP_PAGES: u64 = 128;
/// Fewer free pages are left for rows to come.
const FREE_PAGES_MIN: u64 = 256;
/// The index is shrunk when more than this part of its pages is free.
const FREE_PART: u64 = 4;

impl Log {
    /// Takes one step towards what `retention` keeps.
    pub(super) fn retain(&mut self, files: &SegmentFiles, retention: &Retention) -> Result<Dropped, Failure> {
        if self.writer.active().is_some_and(|active| self.known.is_full(active, retention)) {
            self.writer.leave();
        }
        let index_bytes = if retention.bytes_max.is_some() { index::used_bytes(&self.conn)? } else { 0 };
        let (messages, bytes) = (self.known.messages(), self.known.bytes() + index_bytes);
        let oldest = self.known.oldest().filter(|entry| Some(entry.id) != self.writer.active());
        let goes = |entry: &&Entry| retention.lets_go(entry.messages, entry.timestamp_max, messages, bytes);
        match oldest.filter(goes).copied() {
            Some(entry) if entry.messages > STEP_ROWS => self.drop_rows(&entry),
            Some(entry) => self.drop_segment(files, &entry),
            None => self.tidy(files),
        }
    }

    /// Deletes the oldest rows of a segment that has many.
    fn drop_rows(&mut self, entry: &Entry) -> Result<Dropped, Failure> {
        let transaction = index::begin(&self.conn)?;
        let messages = index::delete_oldest_rows(&self.conn, entry.id, STEP_ROWS)?;
        // Fewer than there should have been were all of them.
        let left = if messages < STEP_ROWS { 0 } else { entry.messages - messages };
        index::set_messages(&self.conn, entry.id, left)?;
        transaction.commit()?;
        self.known.set_left(left);
        Ok(Dropped { messages, unfinished: true, ..Dropped::default() })
    }

    /// Deletes the last rows of a segment, and its file.
    fn drop_segment(&mut self, files: &SegmentFiles, entry: &Entry) -> Result<Dropped, Failure> {
        match delete_rows(&self.conn, &[*entry]) {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DiskFull) => {
                files.drop_oldest(&[entry.id])?;
                delete_rows(&self.conn, &[*entry])?;
            }
            deleted => deleted?,
        }
        self.known.remove_oldest();
        self.removed.push(entry.id);
        files.drop_oldest(&[entry.id])?;
        Ok(Dropped { segments: 1, messages: entry.messages, bytes: entry.bytes, unfinished: true })
    }

    /// What is to be done when nothing is left to drop.
    fn tidy(&mut self, files: &SegmentFiles) -> Result<Dropped, Failure> {
        let forgotten = self.forget_removed(files)?;
        let unfinished = forgotten || self.shrink_index()?;
        Ok(Dropped { unfinished, ..Dropped::default() })
    }

    /// Forgets the segments whose files are durably gone; whether there were any.
    pub(super) fn forget_removed(&mut self, files: &SegmentFiles) -> Result<bool, Failure> {
        if self.removed.is_empty() {
            return Ok(false);
        }
        files.sync_folder()?;
        let transaction = index::begin(&self.conn)?;
        self.removed.iter().try_for_each(|id| index::forget(&self.conn, *id))?;
        transaction.commit()?;
        self.removed.clear();
        Ok(true)
    }

    /// Gives some free pages of the index back; whether there are more.
    fn shrink_index(&mut self) -> Result<bool, Failure> {
        let (free, pages) = index::pages(&self.conn)?;
        if free > FREE_PAGES_MIN.max(pages / FREE_PART) {
            self.shrinking = true;
        }
        if !self.shrinking {
            return Ok(false);
        }
        index::free_pages(&self.conn, STEP_PAGES)?;
        let (left, _) = index::pages(&self.conn)?;
        // An index of an older build cannot give pages back, which its compaction changes.
        self.shrinking = left < free && left > FREE_PAGES_MIN;
        if !self.shrinking {
            index::write_back(&self.conn)?;
        }
        Ok(self.shrinking)
    }

    /// Drops everything, the segment that is being written included.
    pub(super) fn drop_all(&mut self, files: &SegmentFiles) -> Result<(), Failure> {
        self.writer.leave();
        let entries = index::segments(&self.conn)?;
        let ids: Vec<u32> = entries.iter().map(|entry| entry.id).collect();
        delete_rows(&self.conn, &entries)?;
        self.known.clear();
        self.removed.clone_from(&ids);
        files.drop_oldest(&ids)?;
        files.recent.release();
        self.forget_removed(files).map(|_| ())
    }
}

/// Deletes the rows of these segments and marks them as dropped, durably.
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
