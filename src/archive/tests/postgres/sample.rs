//! Numbered messages, and what of them is in a database.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use levada_archive::{
    Archive, ArchiveError, ArchiveMessage, Direction, Hash, InsertOutcome, PostgresArchive, PostgresSchema,
    PostgresUrl, Query,
};
use tempfile::TempDir;

/// Nanoseconds of a partition: ten messages.
pub const PARTITION_NS: i64 = 10;

/// How long a test waits for what must come.
const PATIENCE: Duration = Duration::from_secs(90);

/// One node's archive.
pub struct Node {
    pub archive: Option<PostgresArchive>,
    pub folder: TempDir,
    url: PostgresUrl,
    backlog_bytes: u64,
    schema: PostgresSchema,
}

impl Node {
    pub fn new(url: &PostgresUrl) -> Self {
        Self::with_backlog(url, 1 << 20)
    }

    pub fn with_backlog(url: &PostgresUrl, backlog_bytes: u64) -> Self {
        Self::with(url, backlog_bytes, PostgresSchema::Levada).unwrap()
    }

    /// A node of one layout, in whose hours ten messages are.
    pub fn of_schema(url: &PostgresUrl, schema: PostgresSchema) -> Result<Self, ArchiveError> {
        Self::with(url, 1 << 20, schema)
    }

    fn with(url: &PostgresUrl, backlog_bytes: u64, schema: PostgresSchema) -> Result<Self, ArchiveError> {
        let folder = tempfile::tempdir().unwrap();
        let mut node = Self { archive: None, folder, url: url.clone(), backlog_bytes, schema };
        node.start()?;
        Ok(node)
    }

    /// The nanoseconds between two messages.
    fn distance_ns(&self) -> i64 {
        distance_ns(self.schema)
    }

    /// Opens the archive, again if it was closed.
    pub fn start(&mut self) -> Result<(), ArchiveError> {
        let mut options = crate::server::options(&self.folder.path().join("backlog"), PARTITION_NS);
        options.backlog_bytes = self.backlog_bytes;
        options.schema = self.schema;
        self.archive = Some(PostgresArchive::open(&self.url, &options)?);
        Ok(())
    }

    pub fn archive(&mut self) -> &mut PostgresArchive {
        self.archive.as_mut().unwrap()
    }

    pub fn insert(&mut self, numbers: impl IntoIterator<Item = u64>) -> Result<InsertOutcome, ArchiveError> {
        let payloads: Vec<(u64, Vec<u8>)> = numbers.into_iter().map(|number| (number, payload_of(number))).collect();
        let distance_ns = self.distance_ns();
        self.archive()
            .insert_batch(&mut payloads.iter().map(|(number, payload)| message(*number, distance_ns, payload)))
    }

    /// Bytes that wait in the local log.
    pub fn waiting(&self) -> u64 {
        let files = std::fs::read_dir(self.folder.path().join("backlog")).unwrap();
        files.map(|file| file.unwrap().metadata().unwrap().len()).sum()
    }

    /// The numbers of all messages, each whole and there once.
    pub fn contents(&mut self) -> BTreeSet<u64> {
        let mut reader = self.archive().reader().unwrap();
        let mut query =
            Query { include_data: true, direction: Direction::Forward, page_size: Some(100), ..Query::default() };
        let (mut numbers, distance_ns) = (BTreeSet::new(), self.distance_ns());
        loop {
            let page = reader.query(&query).unwrap();
            for stored in &page.messages {
                let (number, body) = (number_of(&stored.hash), stored.body.as_ref().unwrap());
                assert!(
                    body.payload == payload_of(number) && body.timestamp == number as i64 * distance_ns,
                    "message {number}"
                );
                assert!(numbers.insert(number), "message {number} is there twice");
            }
            query.cursor = page.cursor;
            if query.cursor.is_none() {
                return numbers;
            }
        }
    }

    /// Waits until the database has these messages and no others.
    pub fn wait_for(&mut self, expected: impl Iterator<Item = u64>) {
        let expected: BTreeSet<u64> = expected.collect();
        let began = Instant::now();
        let counts = |node: &mut Self| node.archive().message_count().unwrap_or_default() == expected.len() as u64;
        while !counts(self) {
            assert!(began.elapsed() < PATIENCE, "the messages of the local log do not come");
            std::thread::sleep(Duration::from_millis(50));
        }
        assert_eq!(self.contents(), expected);
    }

    /// Waits until batches go to the database directly again.
    pub fn wait_until_empty(&self) {
        let began = Instant::now();
        while self.waiting() > 0 {
            assert!(began.elapsed() < PATIENCE, "the local log does not become empty");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// The nanoseconds between two messages; in nwaku's tables, whose partitions are hours, six minutes.
pub fn distance_ns(schema: PostgresSchema) -> i64 {
    match schema {
        PostgresSchema::Levada => 1,
        PostgresSchema::Nwaku => 360_000_000_000,
    }
}

pub fn hash_of(number: u64) -> Hash {
    let mut hash = [0x33; 32];
    hash[..8].copy_from_slice(&(number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes());
    hash[24..].copy_from_slice(&number.to_be_bytes());
    hash
}

fn number_of(hash: &Hash) -> u64 {
    u64::from_be_bytes(*hash.last_chunk().unwrap())
}

pub fn payload_of(number: u64) -> Vec<u8> {
    (0..500 + number % 7_000).map(|index| (index * 7 + number) as u8).collect()
}

pub const PUBSUB_TOPIC: &str = "/waku/2/rs/0/0";
pub const CONTENT_TOPIC: &str = "/test/1/shared/proto";

fn message(number: u64, distance_ns: i64, payload: &[u8]) -> ArchiveMessage<'_> {
    let (hash, timestamp) = (hash_of(number), number as i64 * distance_ns);
    let (pubsub_topic, content_topic) = (PUBSUB_TOPIC, CONTENT_TOPIC);
    ArchiveMessage { hash, pubsub_topic, content_topic, payload, version: 0, timestamp, meta: &[] }
}
