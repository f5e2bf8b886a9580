//! Dropping the oldest messages, whole segments at a time, in steps of milliseconds between two batches.
//!
//! First the rows go, some hundred in a step; the transaction that takes the last of a segment marks it as dropped. When nothing else is to
//! go, or some segments are empty, one commit waits for the disk, which then has all of these transactions, and the files are removed: a
//! crash in between leaves a file that the index has marked, and never rows without a file. The segment that is being written always stays;
//! it is ended when it holds a fair part of what may stay. On a full disk even a deletion finds no room in the write-ahead log; there, and
//! only there, the files go first. A crash in between is then reported as a missing segment at the next start, and costs nothing else.
//!
//! Removing a file takes its name; that its room is the disk's again is not waited for (see [`super::release`]). The mark of a removed file
//! is forgotten when its name is durably gone, which the folder's sync for a new segment brings along. When nothing is left to drop, pages
//! of the index that became free are given back to the disk.

use rusqlite::Connection;

use super::files::SegmentFiles;
use super::index::{self, Entry};
use super::{Failure, Log};
use crate::{Dropped, Retention};

/// Rows deleted in one step: some milliseconds, and more than a batch adds meanwhile.
const STEP_ROWS: u64 = 1_024;
/// Empty segments whose files wait for others, so that one wait for the disk is enough for all.
const EMPTIED_MAX: usize = 8;
/// Free pages moved to the end of the index, and cut off there, in one step.
const STEP_PAGES: u64 = 128;
/// Fewer free pages, 4 MiB, are left for rows to come: giving them back costs two syncs and the writing of what moves.
const FREE_PAGES_MIN: u64 = 1_024;
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
            _ if self.emptied.len() >= EMPTIED_MAX => self.remove_emptied(files),
            Some(entry) if entry.messages > STEP_ROWS => self.drop_rows(files, &entry),
            Some(entry) => self.empty(files, &entry),
            None if self.emptied.is_empty() => self.tidy(files),
            None => self.remove_emptied(files),
        }
    }

    /// Deletes the oldest rows of a segment that has many.
    fn drop_rows(&mut self, files: &SegmentFiles, entry: &Entry) -> Result<Dropped, Failure> {
        let (messages, left, ids) = self.with_room(files, Some(entry.id), |conn| {
            let transaction = index::begin(conn)?;
            let (messages, ids) = index::delete_oldest_rows(conn, entry.id, STEP_ROWS)?;
            // Fewer than there should have been were all of them.
            let left = if messages < STEP_ROWS { 0 } else { entry.messages - messages };
            index::set_messages(conn, entry.id, left)?;
            transaction.commit().map(|()| (messages, left, ids))
        })?;
        self.hashes.forget(&ids);
        self.known.set_left(left);
        Ok(Dropped { messages, unfinished: true, ..Dropped::default() })
    }

    /// Deletes the last rows of a segment, whose file is to go.
    fn empty(&mut self, files: &SegmentFiles, entry: &Entry) -> Result<Dropped, Failure> {
        self.with_room(files, Some(entry.id), |conn| delete_rows(conn, &[entry.id]))?;
        self.hashes.forget(&index::ids_of_segment(entry.id));
        self.known.remove_oldest();
        self.emptied.push(entry.id);
        Ok(Dropped { segments: 1, messages: entry.messages, bytes: entry.bytes, unfinished: true })
    }

    /// Removes the files of empty segments once the disk has it that they are.
    pub(super) fn remove_emptied(&mut self, files: &SegmentFiles) -> Result<Dropped, Failure> {
        if self.emptied.is_empty() {
            return Ok(Dropped::default());
        }
        self.with_room(files, None, |conn| delete_rows_synced(conn, &self.emptied))?;
        files.drop_oldest(&self.emptied)?;
        self.removed.append(&mut self.emptied);
        Ok(Dropped { unfinished: true, ..Dropped::default() })
    }

    /// Lets `delete` change the index; on a full disk, where not even that finds room, once more without the files of the segments that are
    /// empty or about to be.
    fn with_room<T>(
        &self,
        files: &SegmentFiles,
        oldest: Option<u32>,
        delete: impl Fn(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, Failure> {
        let deleted = delete(&self.conn);
        if deleted.as_ref().is_err_and(index::is_full) {
            let ids: Vec<u32> = self.emptied.iter().copied().chain(oldest).collect();
            files.drop_oldest(&ids)?;
            files.finish_release();
            return Ok(delete(&self.conn)?);
        }
        Ok(deleted?)
    }

    /// What is to be done when nothing is left to drop.
    fn tidy(&mut self, files: &SegmentFiles) -> Result<Dropped, Failure> {
        if !files.is_unsynced() {
            self.forget_removed(files)?;
        }
        let unfinished = self.shrink_index()?;
        Ok(Dropped { unfinished, ..Dropped::default() })
    }

    /// Forgets the segments whose files are removed, once that is durable.
    pub(super) fn forget_removed(&mut self, files: &SegmentFiles) -> Result<(), Failure> {
        if self.removed.is_empty() {
            return Ok(());
        }
        if files.is_unsynced() {
            files.sync_folder()?;
        }
        let transaction = index::begin(&self.conn)?;
        self.removed.iter().try_for_each(|id| index::forget(&self.conn, *id))?;
        transaction.commit()?;
        self.removed.clear();
        Ok(())
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
        delete_rows_synced(&self.conn, &ids)?;
        self.hashes.forget(&(0..i64::MAX));
        self.known.clear();
        self.emptied.clear();
        self.removed.clone_from(&ids);
        files.drop_oldest(&ids)?;
        files.recent.release();
        // Whoever empties an archive means to fill it again, and nobody else is kept waiting.
        files.finish_release();
        self.forget_removed(files)
    }
}

/// Deletes the rows of these segments and marks them as dropped.
fn delete_rows(conn: &Connection, ids: &[u32]) -> rusqlite::Result<()> {
    let transaction = index::begin(conn)?;
    ids.iter().try_for_each(|id| index::drop_segment(conn, *id))?;
    transaction.commit()
}

/// The same, and returns when the disk has it, and all that was committed before.
fn delete_rows_synced(conn: &Connection, ids: &[u32]) -> rusqlite::Result<()> {
    index::set_synced(conn, true)?;
    let deleted = delete_rows(conn, ids);
    index::set_synced(conn, false)?;
    deleted
}
