//! Where a message lies, by its hash.
//!
//! Hashes are scattered: entered one by one, each rewrites a page of the index, which costs more than all the rest that is said of a
//! message there. So the newest wait in memory until there are many, and then enter in their order, some with each batch, so that those
//! of one page enter it together. What waits is known from the rows behind the mark of those that have entered, and read again at opening.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;

use super::index;
use crate::Hash;

/// All that wait enter with so many batches, or with fewer if these are large.
const STEPS: usize = 12;

/// What the index keeps of a hash.
pub(super) type Prefix = [u8; 8];

/// The hashes that wait, each with the id of its row; shared with readers.
#[derive(Debug, Default)]
pub(super) struct Waiting(Mutex<HashMap<Hash, i64>>);

impl Waiting {
    /// The ids of those of `hashes` that wait. To be asked before the index is: what has entered meanwhile is found there.
    pub(super) fn ids_of(&self, hashes: impl Iterator<Item = Hash>) -> HashMap<Hash, i64> {
        let waiting = self.lock();
        hashes.filter_map(|hash| Some((hash, *waiting.get(&hash)?))).collect()
    }

    /// Nothing that can panic leaves the map between two states.
    fn lock(&self) -> MutexGuard<'_, HashMap<Hash, i64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The writer's side.
#[derive(Debug)]
pub(super) struct Hashes {
    waiting: Arc<Waiting>,
    waiting_max: usize,
    /// The newest row up to which all have entered.
    newest_entered: i64,
    /// Those of the present batch.
    added: Vec<(Hash, i64)>,
    /// Those that are entering, in the order of the index, and how many have.
    entering: Vec<(Prefix, i64)>,
    entered: usize,
}

impl Hashes {
    /// Those of an index; as soon as `waiting_max` wait, they begin to enter. On a full disk they wait on.
    pub(super) fn load(conn: &Connection, waiting_max: usize) -> rusqlite::Result<Self> {
        if index::unentered(conn)? > waiting_max as u64
            && let Err(error) = index::enter_all(conn)
            && !index::is_full(&error)
        {
            return Err(error);
        }
        let mut waiting = HashMap::new();
        index::for_each_unentered(conn, |hash, id| _ = waiting.insert(hash, id))?;
        let (waiting, newest_entered) = (Arc::new(Waiting(Mutex::new(waiting))), index::entered(conn)?);
        Ok(Self { waiting, waiting_max, newest_entered, added: Vec::new(), entering: Vec::new(), entered: 0 })
    }

    pub(super) fn waiting(&self) -> &Arc<Waiting> {
        &self.waiting
    }

    /// The batch has this message, as the row `id`.
    pub(super) fn add(&mut self, hash: &Hash, id: i64) {
        self.added.push((*hash, id));
    }

    /// The next batch has added nothing yet.
    pub(super) fn begin(&mut self) {
        self.added.clear();
    }

    /// Makes known what the batch added while `commit` makes its rows visible: who sees a row finds it by its hash.
    pub(super) fn publish(&mut self, commit: impl FnOnce() -> rusqlite::Result<()>) -> rusqlite::Result<()> {
        self.waiting.lock().extend(self.added.iter().copied());
        let committed = commit();
        if committed.is_err() {
            let mut waiting = self.waiting.lock();
            self.added.iter().for_each(|(hash, _)| _ = waiting.remove(hash));
        }
        committed
    }

    /// Lets some enter if many wait, or others are entering: twice as many as the last batch added, so that they come to an end.
    pub(super) fn step(&mut self, conn: &Connection) -> rusqlite::Result<()> {
        if self.entering.is_empty() && self.waiting.lock().len() < self.waiting_max {
            return Ok(());
        }
        self.enter(conn, self.waiting_max.div_ceil(STEPS).max(2 * self.added.len()))
    }

    /// Lets all enter.
    pub(super) fn finish(&mut self, conn: &Connection) -> rusqlite::Result<()> {
        while !self.waiting.lock().is_empty() {
            self.enter(conn, usize::MAX)?;
        }
        Ok(())
    }

    /// Rows with these ids are gone.
    pub(super) fn forget(&mut self, ids: &Range<i64>) {
        if ids.end <= self.newest_entered {
            return;
        }
        self.waiting.lock().retain(|_, id| !ids.contains(id));
        if self.entering.iter().any(|(_, id)| ids.contains(id)) {
            // What of them has entered is deleted with the rows; the rest begins anew, and finds what has entered there.
            self.entering.clear();
            self.entered = 0;
        }
    }

    fn enter(&mut self, conn: &Connection, count_max: usize) -> rusqlite::Result<()> {
        if self.entering.is_empty() {
            self.entering.extend(self.waiting.lock().iter().map(|(hash, id)| (prefix_of(hash), *id)));
            self.entering.sort_unstable();
        }
        let end = self.entering.len().min(self.entered.saturating_add(count_max));
        let is_last = end == self.entering.len();
        let newest = if is_last { self.entering.iter().map(|(_, id)| *id).max() } else { None };
        index::enter(conn, &self.entering[self.entered..end], newest)?;
        self.entered = end;
        if let Some(newest) = newest {
            self.newest_entered = newest;
            self.waiting.lock().retain(|_, id| *id > newest);
            self.entering.clear();
            self.entered = 0;
        }
        Ok(())
    }
}

pub(super) fn prefix_of(hash: &Hash) -> Prefix {
    let mut prefix = Prefix::default();
    prefix.copy_from_slice(&hash[..size_of::<Prefix>()]);
    prefix
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use tempfile::TempDir;

    use crate::{Archive, ArchiveMessage, Hash, Query, Retention, SegmentArchive, SegmentOptions};

    /// Those of four messages in a row begin alike.
    fn hash_of(number: u64) -> Hash {
        let mut hash = [0; 32];
        hash[..8].copy_from_slice(&(number / 4 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes());
        hash[24..].copy_from_slice(&number.to_be_bytes());
        hash
    }

    fn open(folder: &TempDir) -> SegmentArchive {
        let options = SegmentOptions { segment_bytes: 64 << 10, waiting_hashes: 100, ..SegmentOptions::default() };
        SegmentArchive::open(&folder.path().join("levada.index"), &options).unwrap()
    }

    fn insert(archive: &mut SegmentArchive, numbers: std::ops::Range<u64>) {
        let mut batch = numbers.map(|number| ArchiveMessage {
            hash: hash_of(number),
            pubsub_topic: "/waku/2/rs/0/0",
            content_topic: "/test/1/hashes/proto",
            payload: &[7; 500],
            version: 0,
            timestamp: number as i64,
            meta: &[],
        });
        archive.insert_batch(&mut batch).unwrap();
    }

    /// Which of the first 2 000 numbers are found by their hashes.
    fn found(archive: &SegmentArchive) -> BTreeSet<u64> {
        let mut reader = archive.reader().unwrap();
        let hashes: Vec<Hash> = (0..2_000).map(hash_of).collect();
        let pages = hashes.chunks(20).map(|hashes| {
            let query = Query { hashes: hashes.to_vec(), page_size: Some(20), ..Query::default() };
            reader.query(&query).unwrap().messages
        });
        pages.flatten().map(|stored| u64::from_be_bytes(stored.hash[24..].try_into().unwrap())).collect()
    }

    /// How many hashes wait, and how many have entered.
    fn places(archive: &SegmentArchive) -> (usize, usize) {
        let log = archive.log();
        let entered: u32 = log.conn.query_row("SELECT count(*) FROM hash", [], |row| row.get(0)).unwrap();
        (archive.waiting.lock().len(), entered as usize)
    }

    #[test]
    fn a_message_is_found_by_its_hash_wherever_that_is() {
        let folder = tempfile::tempdir().unwrap();
        let mut archive = open(&folder);
        let (mut both, mut waiting_most) = (0, 0);
        for first in (0..1_000).step_by(10) {
            insert(&mut archive, first..first + 10);
            assert!(found(&archive).into_iter().eq(0..first + 10), "behind {first}");
            let (waiting, entered) = places(&archive);
            both += usize::from(waiting + entered > first as usize + 10);
            waiting_most = waiting_most.max(waiting);
        }
        assert!(both > 10, "they enter little by little");
        assert!((100..200).contains(&waiting_most), "{waiting_most} waited");
        // Lost without having entered, as in a crash, and found in the rows.
        drop(archive);
        let archive = open(&folder);
        let (waiting, entered) = places(&archive);
        assert!(waiting > 0 && waiting + entered >= 1_000);
        assert!(found(&archive).into_iter().eq(0..1_000));
        Box::new(archive).close().unwrap();
        let archive = open(&folder);
        assert_eq!(places(&archive), (0, 1_000), "a closed index has them all");
        assert!(found(&archive).into_iter().eq(0..1_000));
    }

    /// Numbers of segments are not used again, so that ids are not either.
    #[test]
    fn an_archive_that_was_emptied_begins_behind_what_has_entered() {
        let folder = tempfile::tempdir().unwrap();
        let mut archive = open(&folder);
        insert(&mut archive, 0..500);
        Box::new(archive).close().unwrap();
        let mut archive = open(&folder);
        archive.clear().unwrap();
        Box::new(archive).close().unwrap();
        let mut archive = open(&folder);
        insert(&mut archive, 500..550);
        assert!(found(&archive).into_iter().eq(500..550));
        drop(archive);
        let archive = open(&folder);
        assert_eq!(places(&archive), (50, 0));
        assert!(found(&archive).into_iter().eq(500..550), "also behind a crash");
    }

    /// A segment whose rows go in several steps, while their hashes wait and enter.
    #[test]
    fn rows_that_stay_keep_their_hashes_when_others_of_their_segment_go() {
        let folder = tempfile::tempdir().unwrap();
        let options = SegmentOptions { segment_bytes: 900 << 10, waiting_hashes: 10_000, ..SegmentOptions::default() };
        let mut archive = SegmentArchive::open(&folder.path().join("levada.index"), &options).unwrap();
        (0..2_000).step_by(100).for_each(|first| insert(&mut archive, first..first + 100));
        let kept = Retention { messages_max: Some(100), ..Retention::default() };
        assert!(archive.retain(&kept).unwrap().unfinished);
        let count = archive.message_count().unwrap();
        assert!((500..1_000).contains(&count), "{count} stay behind the first step");
        assert!(found(&archive).into_iter().eq(2_000 - count..2_000));
        Box::new(archive).close().unwrap();
        assert!(found(&open(&folder)).into_iter().eq(2_000 - count..2_000));
    }

    #[test]
    fn what_is_dropped_leaves_no_hash_behind() {
        let folder = tempfile::tempdir().unwrap();
        let mut archive = open(&folder);
        let retention = Retention { messages_max: Some(150), ..Retention::default() };
        for first in (0..2_000).step_by(10) {
            insert(&mut archive, first..first + 10);
            while archive.retain(&retention).unwrap().unfinished {}
            let kept = archive.message_count().unwrap();
            assert!(found(&archive).into_iter().eq(first + 10 - kept..first + 10), "behind {first}");
            assert!(places(&archive).0 < 200, "they enter all the same");
        }
        let kept = archive.message_count().unwrap() as usize;
        assert!(kept < 500, "{kept}");
        Box::new(archive).close().unwrap();
        let mut archive = open(&folder);
        assert_eq!(places(&archive), (0, kept));
        archive.clear().unwrap();
        assert_eq!((places(&archive), found(&archive).len()), ((0, 0), 0));
    }
}
