//! What a disk that refuses writes does to a batch, and the plans of the statements.

use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use levada_engine::io::{Piece, Writes};
use tempfile::TempDir;

use super::format::SegmentHeader;
use super::io::{SegmentIo, StoreIo, Way};
use super::{HELD_BYTES_DEFAULT, RECENT_BYTES_DEFAULT, SegmentArchive, Settings};
use crate::sqlite::query;
use crate::{Archive, ArchiveError, ArchiveMessage, InsertOutcome, Query, SqliteArchive};

/// A disk that is full, or fails, after so many more bytes.
#[derive(Clone, Debug)]
struct Disk {
    bytes_left: Arc<AtomicU64>,
    then: ErrorKind,
}

impl Disk {
    fn new(bytes: u64, then: ErrorKind) -> Self {
        Self { bytes_left: Arc::new(AtomicU64::new(bytes)), then }
    }

    fn take(&self, bytes: u64) -> Result<(), Error> {
        let left = self.bytes_left.load(Ordering::SeqCst).checked_sub(bytes).ok_or(self.then)?;
        self.bytes_left.store(left, Ordering::SeqCst);
        Ok(())
    }

    /// Segments of so many bytes on this disk.
    fn settings(&self, segment_bytes: u64) -> Settings {
        let disk = self.clone();
        let way = Way::new(StoreIo::Auto).expect("some way is there");
        let create = Arc::clone(&way.create);
        let create = Arc::new(move |path: &Path, header: SegmentHeader| {
            let inner = create(path, header)?;
            disk.take(4_096)?;
            Ok(Box::new(Limited { inner, disk: disk.clone() }) as Box<dyn SegmentIo>)
        });
        let way = Way { create, ..way };
        let (recent_bytes, held_bytes) = (RECENT_BYTES_DEFAULT, HELD_BYTES_DEFAULT);
        Settings { segment_bytes, way, recent_bytes, held_bytes, waiting_hashes: 64 }
    }
}

#[derive(Debug)]
struct Limited {
    inner: Box<dyn SegmentIo>,
    disk: Disk,
}

impl SegmentIo for Limited {
    fn write<'a>(
        &self,
        pieces: &[Piece<'a>],
        offset: u64,
        mut writes: Option<&mut Writes<'_, 'a>>,
    ) -> Result<(), Error> {
        let bytes: usize = pieces.iter().map(|piece| piece.len()).sum();
        if let Err(error) = self.disk.take(bytes as u64) {
            // As a real disk does, it takes what fits.
            let mut room = self.disk.bytes_left.load(Ordering::SeqCst) as usize;
            let whole = |piece: &&Piece<'a>| {
                let fits = piece.len() <= room;
                room = room.saturating_sub(piece.len());
                fits
            };
            let fitting: Vec<Piece<'a>> = pieces.iter().take_while(whole).cloned().collect();
            self.inner.write(&fitting, offset, writes.as_deref_mut())?;
            return Err(error);
        }
        self.inner.write(pieces, offset, writes)
    }

    fn sync(&self) -> Result<(), Error> {
        self.inner.sync()
    }

    fn alignment(&self) -> usize {
        self.inner.alignment()
    }
}

fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("levada.index");
    (folder, path)
}

/// Messages of 100 kB.
fn messages(numbers: std::ops::Range<u8>) -> impl Iterator<Item = ArchiveMessage<'static>> {
    let (pubsub_topic, content_topic, payload) = ("/waku/2/rs/0/0", "/test/1/segments/proto", &[7; 100_000][..]);
    numbers.map(move |number| ArchiveMessage {
        hash: [number; 32],
        pubsub_topic,
        content_topic,
        payload,
        version: 0,
        timestamp: i64::from(number),
        meta: &[],
    })
}

fn insert(archive: &mut SegmentArchive, numbers: std::ops::Range<u8>) -> Result<InsertOutcome, ArchiveError> {
    archive.insert_batch(&mut messages(numbers))
}

fn count(archive: &SegmentArchive) -> usize {
    let query = Query { include_data: true, page_size: Some(100), ..Query::default() };
    archive.reader().unwrap().query(&query).unwrap().messages.len()
}

/// Whatever the batch has reached when the disk is full (the first block, a later one, a new segment), none of it stays, and the
/// next one that fits is stored.
#[test]
fn full_disk_costs_the_batch_and_nothing_else() {
    for room in [0, 4_095, 4_096, 400_000, 1 << 20, (1 << 20) + 8_192, 2_200_000, 2_900_000] {
        let (_folder, path) = folder();
        let disk = Disk::new(room + 600_000, ErrorKind::StorageFull);
        let mut archive = SegmentArchive::open_with(&path, &disk.settings(1_500_000)).unwrap();
        assert_eq!(insert(&mut archive, 1..6).unwrap().stored, 5);
        let failures = crate::counters::INSERT_FAILURES_DISK_FULL.value();
        for _ in 0..3 {
            let error = insert(&mut archive, 10..50).unwrap_err();
            assert!(matches!(error, ArchiveError::DiskFull { .. }), "{error}");
        }
        assert!(crate::counters::INSERT_FAILURES_DISK_FULL.value() >= failures + 3);
        assert_eq!((archive.message_count().unwrap(), count(&archive)), (5, 5), "room {room}");
        assert_eq!(archive.files.list().unwrap(), [0], "room {room}");
        disk.bytes_left.store(10_000_000, Ordering::SeqCst);
        assert_eq!(insert(&mut archive, 4..50).unwrap(), InsertOutcome { stored: 44, duplicates: 2, dropped: 0 });
        assert_eq!(count(&archive), 49);
        drop(archive);
        let archive = SegmentArchive::open_with(&path, &disk.settings(1_500_000)).unwrap();
        assert_eq!(count(&archive), 49, "room {room}");
    }
}

#[test]
fn other_errors_of_the_disk_are_told_apart() {
    let (_folder, path) = folder();
    let disk = Disk::new(1_000_000, ErrorKind::Other);
    let mut archive = SegmentArchive::open_with(&path, &disk.settings(1 << 30)).unwrap();
    let error = insert(&mut archive, 0..20).unwrap_err();
    assert!(matches!(error, ArchiveError::Io { .. }), "{error}");
    let disk = Disk::new(0, ErrorKind::ReadOnlyFilesystem);
    drop(archive);
    let mut archive = SegmentArchive::open_with(&path, &disk.settings(1 << 30)).unwrap();
    let error = insert(&mut archive, 0..20).unwrap_err();
    assert!(matches!(error, ArchiveError::FileReadOnly { .. }), "{error}");
    assert_eq!(count(&archive), 0);
}

/// The index is on the same disk; a database that may not grow stands for one that is full there.
#[test]
fn full_index_costs_the_batch_and_nothing_else() {
    let (_folder, path) = folder();
    let disk = Disk::new(100_000_000, ErrorKind::StorageFull);
    let mut archive = SegmentArchive::open_with(&path, &disk.settings(1_500_000)).unwrap();
    insert(&mut archive, 0..3).unwrap();
    let limit = |archive: &SegmentArchive, pages: i64| {
        archive.log().conn.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(())).unwrap();
    };
    limit(&archive, 1);
    let error = insert(&mut archive, 10..60).unwrap_err();
    assert!(matches!(error, ArchiveError::DiskFull { .. }), "{error}");
    assert_eq!((count(&archive), archive.files.list().unwrap()), (3, vec![0]));
    limit(&archive, 100_000);
    assert_eq!(insert(&mut archive, 10..60).unwrap().stored, 50);
    assert_eq!(count(&archive), 53);
}

/// A move into segments that the disk interrupts leaves the old archive whole, and goes on where it was.
#[test]
fn interrupted_move_goes_on() {
    let (folder, path) = folder();
    let mut first = SqliteArchive::open(&path).unwrap();
    for number in 0..10 {
        let batch = messages(number * 25..(number + 1) * 25);
        assert_eq!(first.insert_batch(&mut { batch }).unwrap().stored, 25);
    }
    drop(first);
    let disk = Disk::new(0, ErrorKind::StorageFull);
    let bytes_of_a_batch = 17_500_000;
    for round in 0..4 {
        // 250 messages of 100 kB are one batch of 168 and one of 82.
        disk.bytes_left.store(if round == 3 { bytes_of_a_batch } else { round * 9_000_000 }, Ordering::SeqCst);
        let opened = SegmentArchive::open_with(&path, &disk.settings(1 << 30));
        let Err(error) = opened else {
            assert_eq!(round, 3, "only the second batch is left to be written");
            break;
        };
        assert!(matches!(error, ArchiveError::DiskFull { .. }), "{error}");
        let first = SqliteArchive::open(&path).unwrap();
        assert_eq!(first.message_count().unwrap(), 250, "the old archive is whole");
        assert!(folder.path().join("levada.index.migrating").exists());
    }
    let archive = SegmentArchive::open_with(&path, &disk.settings(1 << 30)).unwrap();
    assert_eq!((archive.message_count().unwrap(), count(&archive)), (250, 100));
    assert!(!folder.path().join("levada.index.migrating").exists());
    assert!(
        folder.path().join("levada.index").metadata().unwrap().len() < 1_000_000,
        "payloads have left the database"
    );
}

#[test]
fn copies_are_counted_by_the_way_of_writing() {
    for way in [StoreIo::Auto, StoreIo::Pwritev, StoreIo::Buffered] {
        let (_folder, path) = folder();
        let archive = SegmentArchive::open(&path, &super::SegmentOptions { io: way, ..Default::default() }).unwrap();
        let message = |number: u8, payload| {
            let (pubsub_topic, content_topic) = ("/waku/2/rs/0/0", "/test/1/segments/proto");
            ArchiveMessage {
                hash: [number; 32],
                pubsub_topic,
                content_topic,
                payload,
                version: 0,
                timestamp: 0,
                meta: &[],
            }
        };
        let mut tally = crate::counters::InsertTally::default();
        let batch = [message(1, &[1; 100][..]), message(2, &[2; 40_000]), message(3, &[])];
        archive.log().insert_batch(&mut batch.into_iter(), &mut tally).unwrap();
        assert_eq!((tally.copies, tally.stored_bytes), (1, 40_100), "{way:?}");
        // Where pages are written as they lie, those at the ends of a payload are copied as far as it fills them.
        let ends = if way == StoreIo::Buffered { 0..=0 } else { 0..=2 * 4_096 };
        assert!(ends.contains(&(tally.copied_bytes - 100)), "{way:?}: {} bytes", tally.copied_bytes);
        assert_eq!(tally.outcome.stored, 3);
    }
}

#[test]
fn plans_search_one_index_and_sort_nothing() {
    let (_folder, path) = folder();
    let disk = Disk::new(100_000_000, ErrorKind::StorageFull);
    let mut archive = SegmentArchive::open_with(&path, &disk.settings(1 << 30)).unwrap();
    insert(&mut archive, 0..100).unwrap();
    let log = archive.log();
    for sql in query::lookups() {
        let mut statement = log.conn.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let steps: Vec<String> = statement.raw_query().mapped(|row| row.get(3)).collect::<Result<_, _>>().unwrap();
        let [step] = steps.as_slice() else { panic!("{sql}: {steps:?}") };
        assert!(step.starts_with("SEARCH message USING "), "{sql}: {step}");
    }
    for [hashes, _] in super::index::deletions() {
        let mut statement = log.conn.prepare(&format!("EXPLAIN QUERY PLAN {hashes}")).unwrap();
        let steps: Vec<String> = statement.raw_query().mapped(|row| row.get(3)).collect::<Result<_, _>>().unwrap();
        assert!(steps[0].starts_with("SEARCH hash USING PRIMARY KEY (prefix=? AND id=?)"), "{hashes}: {steps:?}");
    }
}
