//! Numbered messages in a small archive on disk.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use levada_archive::{
    Archive, ArchiveError, ArchiveMessage, ArchiveReader, Direction, Dropped, Hash, InsertOutcome, Query, Retention,
    SegmentArchive, SegmentOptions, StoreIo, StoredMessage,
};
use tempfile::TempDir;

pub const SEGMENT_BYTES: u64 = 64 << 10;
/// The variable that names the way to write.
pub const STORE_IO: &str = "LEVADA_STORE_IO";

/// The way this process writes.
pub fn way() -> StoreIo {
    std::env::var(STORE_IO).map_or(StoreIo::Auto, |word| word.parse().unwrap())
}

/// How often a test with random moments or seeds repeats: `times` in the default way to write, a quarter as often in the others, and ten
/// times as often with `LEVADA_DEEP=1`.
pub fn repeats(times: u64) -> u64 {
    let times = if way() == StoreIo::Auto { times } else { times / 4 };
    if std::env::var_os("LEVADA_DEEP").is_some_and(|deep| deep == "1") { times * 10 } else { times }
}

/// A folder for one archive.
pub struct Place {
    folder: TempDir,
}

impl Place {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn index(&self) -> PathBuf {
        self.folder.path().join("levada.index")
    }

    pub fn segments(&self) -> PathBuf {
        self.folder.path().join("levada.index.segments")
    }

    pub fn open(&self) -> SegmentArchive {
        open(&self.index(), way())
    }

    /// The segment files in the order of the log.
    pub fn files(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.segments()).unwrap();
        let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        files.sort();
        files
    }

    /// Copies everything but the lock to a new place.
    pub fn copy(&self) -> Self {
        let copy = Self::new();
        fs::create_dir(copy.segments()).unwrap();
        for from in self.files() {
            fs::copy(&from, copy.segments().join(from.file_name().unwrap())).unwrap();
        }
        for name in ["levada.index", "levada.index-wal"] {
            let from = self.folder().join(name);
            if from.exists() {
                fs::copy(from, copy.folder().join(name)).unwrap();
            }
        }
        copy
    }

    /// Removes the index, so that everything has to be found in the segments.
    pub fn lose_index(&self) {
        for name in ["levada.index", "levada.index-wal", "levada.index-shm"] {
            let _ = fs::remove_file(self.folder().join(name));
        }
    }
}

/// Another test of this process may be starting a child, which holds every file that is open here until it runs its own
/// program: a lock just given back is then still held for a moment.
pub fn open(index: &Path, io: StoreIo) -> SegmentArchive {
    let options = SegmentOptions { segment_bytes: SEGMENT_BYTES, io, waiting_hashes: 60, ..SegmentOptions::default() };
    for _ in 0..200 {
        match SegmentArchive::open(index, &options) {
            Err(ArchiveError::Locked { .. }) => std::thread::sleep(Duration::from_millis(10)),
            opened => return opened.unwrap(),
        }
    }
    panic!("{} stays locked", index.display());
}

pub fn hash_of(number: u64) -> Hash {
    let mut hash = [0x77; 32];
    hash[..8].copy_from_slice(&(number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes());
    hash[24..].copy_from_slice(&number.to_be_bytes());
    hash
}

pub fn number_of(hash: &Hash) -> u64 {
    let mut number = [0; 8];
    number.copy_from_slice(&hash[24..]);
    u64::from_be_bytes(number)
}

/// Some are shorter than a block of the disk, some are longer than what is written in place.
pub fn payload_of(number: u64) -> Vec<u8> {
    let bytes = [100, 3_000, 9_000, 40_000][(number % 4) as usize] + (number % 13) as usize;
    (0..bytes).map(|index| (index as u64 * 7 + number) as u8).collect()
}

pub fn message(number: u64, payload: &[u8]) -> ArchiveMessage<'_> {
    let pubsub_topic = if number.is_multiple_of(3) { "/waku/2/rs/0/1" } else { "/waku/2/rs/0/0" };
    let content_topic = if number.is_multiple_of(5) { "/test/1/five/proto" } else { "/test/1/other/proto" };
    let (hash, timestamp) = (hash_of(number), number as i64);
    ArchiveMessage { hash, pubsub_topic, content_topic, payload, version: 1, timestamp, meta: &[] }
}

pub fn insert(archive: &mut dyn Archive, numbers: impl IntoIterator<Item = u64>) -> InsertOutcome {
    let payloads: Vec<(u64, Vec<u8>)> = numbers.into_iter().map(|number| (number, payload_of(number))).collect();
    archive.insert_batch(&mut payloads.iter().map(|(number, payload)| message(*number, payload))).unwrap()
}

/// Keeps so many messages, by as many steps as it takes.
pub fn keep(archive: &mut dyn Archive, messages_max: u64) -> Dropped {
    let retention = Retention { messages_max: Some(messages_max), ..Retention::default() };
    let mut dropped = Dropped { unfinished: true, ..Dropped::default() };
    while dropped.unfinished {
        let step = archive.retain(&retention).unwrap();
        dropped.segments += step.segments;
        dropped.messages += step.messages;
        dropped.bytes += step.bytes;
        dropped.unfinished = step.unfinished;
    }
    dropped
}

/// Reads the whole archive page by page, and checks that every message is whole and there once, and is found by its hash.
pub fn contents(archive: &dyn Archive) -> BTreeSet<u64> {
    let mut reader = archive.reader().unwrap();
    let numbers = pages(&mut *reader);
    for hashes in numbers.iter().copied().map(hash_of).collect::<Vec<_>>().chunks(50) {
        let query = Query { hashes: hashes.to_vec(), page_size: Some(50), ..Query::default() };
        assert_eq!(reader.query(&query).unwrap().messages.len(), hashes.len(), "some are not found by their hashes");
    }
    numbers
}

fn pages(reader: &mut dyn ArchiveReader) -> BTreeSet<u64> {
    let mut query =
        Query { include_data: true, direction: Direction::Forward, page_size: Some(50), ..Query::default() };
    let mut numbers = BTreeSet::new();
    loop {
        let page = reader.query(&query).unwrap();
        for message in &page.messages {
            assert!(numbers.insert(whole(message)), "message {} is there twice", number_of(&message.hash));
        }
        query.cursor = page.cursor;
        if query.cursor.is_none() {
            return numbers;
        }
    }
}

/// The number of a message whose fields are what was stored.
fn whole(stored: &StoredMessage) -> u64 {
    let number = number_of(&stored.hash);
    let payload = payload_of(number);
    let (expected, body) = (message(number, &payload), stored.body.as_ref().unwrap());
    assert!(body.payload == payload, "the payload of message {number}");
    assert_eq!((body.timestamp, body.version, stored.hash), (expected.timestamp, 1, expected.hash));
    assert_eq!(
        (body.pubsub_topic.as_str(), body.content_topic.as_str()),
        (expected.pubsub_topic, expected.content_topic)
    );
    number
}

/// A small generator of pseudorandom numbers (SplitMix64, Steele et al., 2014), so that a seed names a whole run.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}
