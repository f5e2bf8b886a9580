//! Where a page comes from: the newest messages from memory, others from the disk, and nothing besides.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use levada_archive::counters::{DISK_READ_BYTES, DISK_READS, MEMORY_READS};
use levada_archive::{Archive, ArchiveMessage, Direction, Handle, Hash, Query, SegmentArchive, SegmentOptions};
use levada_engine::Counter;
use tempfile::TempDir;

const PAYLOAD_BYTES: usize = 5_000;
/// With header, topics and padding.
const RECORD_BYTES: u64 = 5_136;
const PAGE: u64 = 20;

/// The counters are those of the process: one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn place() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("levada.index");
    (folder, path)
}

fn hash_of(number: u64) -> Hash {
    let mut hash = [0x55; 32];
    hash[..8].copy_from_slice(&(number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes());
    hash
}

fn open(path: &Path) -> SegmentArchive {
    let options = SegmentOptions { segment_bytes: 4 << 20, recent_bytes: 0, ..SegmentOptions::default() };
    SegmentArchive::open(path, &options).unwrap()
}

fn filled(path: &Path, messages: u64) -> SegmentArchive {
    let mut archive = open(path);
    let (pubsub_topic, content_topic, payload) = ("/waku/2/rs/0/0", "/test/1/reading/proto", &[3; PAYLOAD_BYTES][..]);
    for first in (0..messages).step_by(100) {
        let mut batch = (first..first + 100).map(|number| {
            let (hash, timestamp) = (hash_of(number), number as i64);
            ArchiveMessage { hash, pubsub_topic, content_topic, payload, version: 0, timestamp, meta: &[] }
        });
        archive.insert_batch(&mut batch).unwrap();
    }
    archive
}

/// What a page of the oldest, or of the newest, reads: records from memory, records from the disk, and their bytes there.
fn page_of(archive: &dyn Archive, direction: Direction) -> [u64; 3] {
    let counters: [&Counter; 3] = [&MEMORY_READS, &DISK_READS, &DISK_READ_BYTES];
    let before = counters.map(Counter::value);
    let query = Query { include_data: true, direction, page_size: Some(PAGE), ..Query::default() };
    let page = archive.reader().unwrap().query(&query).unwrap();
    assert!(page.messages.iter().all(|message| message.body.as_ref().unwrap().payload == [3; PAYLOAD_BYTES]));
    let mut reads = counters.map(Counter::value);
    reads.iter_mut().zip(before).for_each(|(after, before)| *after -= before);
    reads
}

/// Bytes this thread has asked the system for so far, from files or elsewhere.
#[cfg(target_os = "linux")]
fn asked_for() -> u64 {
    let io = std::fs::read_to_string("/proc/thread-self/io").unwrap();
    io.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap().parse().unwrap()
}

#[test]
fn the_newest_come_from_memory_and_the_oldest_from_the_disk() {
    let _alone = alone();
    let (_folder, path) = place();
    let archive = filled(&path, 4_000);
    assert_eq!(page_of(&archive, Direction::Forward), [0, PAGE, PAGE * RECORD_BYTES]);
    assert_eq!(page_of(&archive, Direction::Backward), [PAGE, 0, 0]);
    drop(archive);
    let archive = open(&path);
    assert_eq!(page_of(&archive, Direction::Backward), [0, PAGE, PAGE * RECORD_BYTES], "a start has them on the disk");
}

/// Payloads that were written from where they lay are served from there while they are held, which has its bound.
#[test]
fn what_is_held_comes_from_memory() {
    let _alone = alone();
    let (_folder, path) = place();
    let options = SegmentOptions { held_bytes: 30 * 65_536, ..SegmentOptions::default() };
    let mut archive = SegmentArchive::open(&path, &options).unwrap();
    let (pubsub_topic, content_topic) = ("/waku/2/rs/0/0", "/test/1/reading/proto");
    let payloads: Vec<Bytes> = (0..60_u8).map(|number| vec![number; 50_000].into()).collect();
    for first in [0, 30] {
        let mut batch = (first..first + 30).map(|number| {
            let (hash, timestamp, payload) = (hash_of(number), number as i64, &payloads[number as usize][..]);
            ArchiveMessage { hash, pubsub_topic, content_topic, payload, version: 0, timestamp, meta: &[] }
        });
        archive.insert_batch(&mut batch).unwrap();
        archive.keep(&mut |number| {
            Some(Handle { payload: payloads[first as usize + number].clone(), slot_bytes: 65_536 })
        });
    }
    let before = [&MEMORY_READS, &DISK_READS].map(Counter::value);
    let query = Query { include_data: true, direction: Direction::Backward, page_size: Some(60), ..Query::default() };
    let page = archive.reader().unwrap().query(&query).unwrap();
    assert_eq!(page.messages.len(), 60);
    for (stored, payload) in page.messages.iter().zip(&payloads) {
        assert!(stored.body.as_ref().unwrap().payload == **payload);
    }
    assert_eq!([MEMORY_READS.value() - before[0], DISK_READS.value() - before[1]], [30, 30]);
    assert_eq!(payloads.iter().filter(|payload| !payload.is_unique()).count(), 30);
    archive.clear().unwrap();
    assert!(payloads.iter().all(Bytes::is_unique));
}

/// However large the archive is, a page costs its own bytes, and some pages of the index.
#[cfg(target_os = "linux")]
#[test]
fn a_page_reads_no_more_than_itself() {
    let _alone = alone();
    for messages in [400, 6_000] {
        let (_folder, path) = place();
        drop(filled(&path, messages));
        let archive = open(&path);
        let before = asked_for();
        assert_eq!(page_of(&archive, Direction::Forward), [0, PAGE, PAGE * RECORD_BYTES]);
        let index = asked_for() - before - PAGE * RECORD_BYTES;
        // The pages of the index on the way to 20 rows and 20 places, the headers of segments, and what opening a reader costs.
        assert!(index <= 64 << 12, "{index} bytes besides the page, of {messages} messages");
    }
}
