//! Messages to store, and folders to store them in.

use std::path::PathBuf;

use levada_archive::{Archive, ArchiveMessage, SegmentArchive, SegmentOptions};
use tempfile::TempDir;

/// Messages in a synced batch.
pub const BATCH: u64 = 256;
/// The pubsub topic of all.
pub const PUBSUB_TOPIC: &str = "/waku/2/rs/0/0";
/// The content topic of all.
pub const CONTENT_TOPIC: &str = "/versus/1/archive/proto";

/// Payloads that do not compress, of sizes that take turns.
pub struct Payloads {
    bytes: Vec<u8>,
    sizes: &'static [usize],
}

impl Payloads {
    /// Of these sizes.
    pub fn new(sizes: &'static [usize]) -> Self {
        // A prime number of bytes longer than the largest payload, so that payloads begin everywhere.
        let bytes = (0..16_777_259_u32).map(|index| (index.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        Self { bytes, sizes }
    }

    /// The payload of message `number`.
    pub fn of(&self, number: u64) -> &[u8] {
        let bytes = self.sizes[(number % self.sizes.len() as u64) as usize];
        let start = (number as usize * 150_001) % (self.bytes.len() - bytes);
        &self.bytes[start..start + bytes]
    }

    /// Bytes of the first `messages` payloads.
    pub fn total(&self, messages: u64) -> u64 {
        (0..messages).map(|number| self.of(number).len() as u64).sum()
    }
}

/// The message of this number, at as many nanoseconds.
pub fn message(number: u64, payload: &[u8]) -> ArchiveMessage<'_> {
    let (hash, timestamp) = (hash_of(number), number as i64);
    let (pubsub_topic, content_topic) = (PUBSUB_TOPIC, CONTENT_TOPIC);
    ArchiveMessage { hash, pubsub_topic, content_topic, payload, version: 0, timestamp, meta: &[] }
}

/// A hash that is scattered as real ones are.
pub fn hash_of(number: u64) -> [u8; 32] {
    let mut hash = [0x3c; 32];
    hash[..8].copy_from_slice(&(number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes());
    hash
}

/// A new folder on the disk that is measured.
pub fn folder() -> TempDir {
    tempfile::tempdir_in(".").expect("this folder takes files")
}

/// An archive in `folder`, and its path.
pub fn open(folder: &TempDir, io: &str) -> (SegmentArchive, PathBuf) {
    let path = folder.path().join("versus.index");
    let io = io.parse().expect("a way to write");
    let options = SegmentOptions { io, ..SegmentOptions::default() };
    (SegmentArchive::open(&path, &options).expect("an archive on this disk"), path)
}

/// Stores a batch that begins with message `first`.
pub fn insert(archive: &mut dyn Archive, payloads: &Payloads, first: u64) {
    let mut batch = (first..first + BATCH).map(|number| message(number, payloads.of(number)));
    archive.insert_batch(&mut batch).expect("the disk takes it");
}
