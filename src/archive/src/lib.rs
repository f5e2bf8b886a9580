//! The archive: where messages wait for the peers that ask for them later (13/WAKU2-STORE).
//!
//! One trait, [`Archive`], with one writer, and any number of [`ArchiveReader`]s on other threads. Four backends stand
//! behind it: [`SegmentArchive`], a log on the disk with SQLite as its index, [`SqliteArchive`], a database in memory (in a file, the
//! first format of the archive), [`PostgresArchive`], which several nodes share, and [`MemoryArchive`], bounded in bytes. All pass the
//! suite in `tests/conformance`. [`open`] chooses one by a [`DatabaseUrl`].
//!
//! Messages are known by their deterministic hash (14/WAKU2-MESSAGE) and ordered by (timestamp, hash). Whether a message
//! may enter at all is decided before, by [`eligible`]. [`SyncIndex`] has the keys of the newest ones in memory, for
//! store-sync. The crate starts no thread but for PostgreSQL, and for closing the files of dropped segments: the caller gives the archive
//! a worker.
//!
//! A payload is copied at most once on its way in, for PostgreSQL twice, into nwaku's tables three times; [`counters`] says how often and
//! how many bytes.

#![forbid(unsafe_code)]

pub mod counters;
mod eligibility;
mod error;
mod lock;
mod memory;
mod message;
mod postgres;
mod query;
mod range;
mod retention;
mod segments;
mod spill;
mod sqlite;
mod sync_index;
pub mod upkeep;
mod url;

pub use eligibility::{Ineligible, TIMESTAMP_DISTANCE_NS_MAX, eligible};
pub use error::ArchiveError;
pub use memory::{MEMORY_BYTES_MAX_DEFAULT, MemoryArchive, MemoryReader};
pub use message::{ArchiveMessage, Handle, Hash, InsertOutcome, PAYLOAD_BYTES_MAX, StoredBody, StoredMessage};
pub use postgres::{
    CONNECTIONS_MAX_DEFAULT, PostgresArchive, PostgresOptions, PostgresReader, PostgresSchema, PostgresSchemaError,
    PostgresUrl, PostgresUrlError, STORE_BACKLOG_BYTES_DEFAULT,
};
pub use query::{
    Direction, PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX, Page, QUERY_CONTENT_TOPICS_MAX, QUERY_HASHES_MAX,
    QUERY_TOPIC_BYTES_MAX, Query,
};
pub use range::Key;
pub use retention::{Dropped, Retention, RetentionPolicy, RetentionPolicyError};
pub use segments::{
    BareWrite, HELD_BYTES_DEFAULT, RECENT_BYTES_DEFAULT, SEGMENT_BYTES_DEFAULT, SegmentArchive, SegmentOptions,
    SegmentReader, StoreIo, StoreIoError, WAITING_HASHES_DEFAULT, write_bare,
};
pub use sqlite::{SqliteArchive, SqliteReader};
pub use sync_index::{SYNC_INDEX_BYTES_MIN, Summary, SyncIndex, SyncInserted, SyncPart, time_slices};
pub use url::{DatabaseUrl, DatabaseUrlError};

/// The writing end of an archive, and the source of its readers.
pub trait Archive: Send {
    /// Stores a batch in one transaction and returns when the backend has it as safely as it ever will (in a file: synced
    /// to disk). A message whose hash is known, from before or from this batch, is ignored and counted.
    ///
    /// # Errors
    /// Any [`ArchiveError`] about the file. In a file, none of the batch is stored then, and a later call may succeed.
    fn insert_batch<'a>(
        &mut self,
        batch: &mut dyn Iterator<Item = ArchiveMessage<'a>>,
    ) -> Result<InsertOutcome, ArchiveError>;

    /// Offers handles on the messages of the last batch, by their numbers in it. An archive that wrote payloads from where they lie
    /// asks for those, and serves them from memory as long as it holds them.
    fn keep(&mut self, _handle: &mut dyn FnMut(usize) -> Option<Handle>) {}

    /// Whether a message of this size is stored by [`insert_batch`](Self::insert_batch), and not counted as dropped.
    fn takes(&self, message: &ArchiveMessage<'_>) -> bool {
        message.payload.len() <= PAYLOAD_BYTES_MAX
    }

    /// A reader for another thread. It sees every batch inserted before the query starts.
    ///
    /// # Errors
    /// When the backend refuses another connection.
    fn reader(&self) -> Result<Box<dyn ArchiveReader>, ArchiveError>;

    /// Removes every message and keeps the room for new ones.
    ///
    /// # Errors
    /// Any [`ArchiveError`] about the file; nothing is removed then.
    fn clear(&mut self) -> Result<(), ArchiveError>;

    /// Takes one step towards what `retention` keeps, and says what was dropped and whether another step has something to do. A step
    /// takes some milliseconds, so that inserts hardly wait; queries go on meanwhile. An archive without retention keeps everything.
    ///
    /// # Errors
    /// Any [`ArchiveError`] about the file. What was dropped stays dropped, and a later call goes on.
    fn retain(&mut self, _retention: &Retention) -> Result<Dropped, ArchiveError> {
        Ok(Dropped::default())
    }

    /// How many messages are stored. SQLite counts them one by one: for tests and start-up lines, not for every message.
    ///
    /// # Errors
    /// Any [`ArchiveError`] about the file.
    fn message_count(&self) -> Result<u64, ArchiveError>;

    /// Where the messages are, as an operator would look for them.
    fn location(&self) -> String;

    /// Brings everything into its final place (SQLite: checkpoints the write-ahead log) and ends. Dropping the archive
    /// loses nothing either, but tells nobody of an error.
    ///
    /// # Errors
    /// Any [`ArchiveError`] about the file. What was stored stays stored.
    fn close(self: Box<Self>) -> Result<(), ArchiveError>;
}

/// A reading end of an archive; it may live on another thread than the archive, and outlive it.
pub trait ArchiveReader: Send {
    /// Answers one query with one page, from one consistent state.
    ///
    /// # Errors
    /// [`ArchiveError::CursorNotFound`], a limit of the query (see [`Query`]), or an error about the file.
    fn query(&mut self, query: &Query) -> Result<Page, ArchiveError>;

    /// The keys of a pubsub topic's messages behind `after`, ascending, at most `keys_max`; no payload is read. With fewer than
    /// `keys_max`, no more were stored.
    ///
    /// # Errors
    /// Any [`ArchiveError`] about the file.
    fn keys_after(&mut self, pubsub_topic: &str, after: Key, keys_max: usize) -> Result<Vec<Key>, ArchiveError>;
}

/// Opens the archive that `url` names, and creates it if it is not there yet. A file of the first format, which held the payloads itself,
/// is moved into segments first.
///
/// # Errors
/// Any [`ArchiveError`] about the file, each with one sentence for the operator.
pub fn open(url: &DatabaseUrl) -> Result<Box<dyn Archive>, ArchiveError> {
    open_with(url, &SegmentOptions::default())
}

/// Opens an archive as [`open`] does; one on the disk is written as `options` says.
///
/// # Errors
/// Those of [`open`].
pub fn open_with(url: &DatabaseUrl, options: &SegmentOptions) -> Result<Box<dyn Archive>, ArchiveError> {
    Ok(match url {
        DatabaseUrl::Sqlite(path) => Box::new(SegmentArchive::open(path, options)?),
        DatabaseUrl::SqliteMemory => Box::new(SqliteArchive::in_memory()?),
        DatabaseUrl::Postgres(url) => Box::new(PostgresArchive::open(url, &PostgresOptions::default())?),
        DatabaseUrl::Memory => Box::new(MemoryArchive::new(MEMORY_BYTES_MAX_DEFAULT)),
    })
}
