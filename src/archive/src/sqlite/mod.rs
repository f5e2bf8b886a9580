//! The SQLite archive, in a file or in memory.
//!
//! A node uses it in memory. In a file it is the first format of the archive, which a node opens only to move it into segments
//! (see [`crate::SegmentArchive`]): a database writes every payload twice.
//!
//! # Layout, and why
//! One rowid table whose last column is the payload, and four indexes: by hash, by (timestamp, hash), by (pubsub topic, timestamp,
//! hash) and by (content topic, pubsub topic, timestamp, hash). A table without rowid, keyed by hash, would move large cells about
//! whenever its pages split: on the reference mix of 10, 50 and 150 kB it copies each payload byte 10.9 times (counting calls of 1 KiB
//! and more). With a rowid, new rows are appended, and a bound payload is copied 3.0 times; written through the incremental blob
//! interface (see `insert`) it is copied 1.02 times. Messages per second of CPU time relative to the first line, 1 000 messages in
//! batches of 256, medians of five passes that took turns:
//!
//! | layout | page | in memory | in a file |
//! |---|---|---|---|
//! | without rowid, hash as key, index by time, payload bound | 4 KiB | 1 | 1 |
//! | with rowid, four indexes, payload bound | 4 KiB | 2.3 | 2.5 |
//! | the same, payload written as a blob | 4 KiB | 2.7 | 2.3 |
//! | the same | 8 KiB | 2.8 | 3.5 |
//! | the same | 16 KiB | 3.1 | 3.7 |
//! | the same | 32 KiB | 4.9 | 4.7 |
//!
//! Pages are 8 KiB all the same. With 16 KiB, payloads of 10 kB lie inside the pages of the table and are moved there (1.07 copies;
//! 1.25 and 15 % more disk with 32 KiB), and each batch rewrites as many pages of the index by hash as it has messages, since hashes
//! are scattered over it: small pages keep that small when the archive is large. A separate table for payloads made no difference.
//!
//! # Durability
//! Write-ahead log, `synchronous = FULL`: when an insert returns, the disk has the batch; a batch pays for one sync. Every payload
//! byte is written to the log and then to the database, outside this process's memory.
//!
//! # Readers
//! In a file, each reader is a connection of its own and never waits for the writer. In memory, readers share the writer's connection
//! behind a lock, and wait for the batch that is being inserted: SQLite's shared cache would answer them with an error instead, and its
//! memory file system would copy every page once more.
//!
//! # Who may open the file
//! One node, see [`crate::lock`]; other programs may read. The archive stays locked until its last reader is gone.

pub(crate) mod export;
mod insert;
pub(crate) mod query;
mod retention;
mod schema;

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::counters::{InsertTally, count_query, count_retention};
use crate::lock::{FileLock, canonical};
use crate::range::Key;
use crate::{Archive, ArchiveError, ArchiveMessage, ArchiveReader, Dropped, InsertOutcome, Page, Query, Retention};
use schema::Identity;

/// How long an operation waits for another program's lock. A shell that looks at the archive holds one for less.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// An archive in SQLite.
#[derive(Debug)]
pub struct SqliteArchive {
    conn: Arc<Mutex<Connection>>,
    /// The file and its lock, or nothing in memory.
    file: Option<Arc<LockedFile>>,
}

/// A reader of a [`SqliteArchive`].
#[derive(Debug)]
pub struct SqliteReader {
    conn: Arc<Mutex<Connection>>,
    file: Option<Arc<LockedFile>>,
}

#[derive(Debug)]
struct LockedFile {
    path: String,
    _lock: FileLock,
}

impl SqliteArchive {
    /// Copies of the payload that an insert makes: into the pages. Where a payload, or its rest that fills no page, lies beside other
    /// rows, the zeroes that keep its place are moved as well, up to a page; that is 0.02 bytes per payload byte on the reference mix.
    pub const PAYLOAD_COPIES_PER_INSERT: u64 = 1;

    /// Opens the archive at `path` or creates it; its folder must exist.
    ///
    /// # Errors
    /// Any [`ArchiveError`] about the file. A file that is not a Levada archive is left as it is.
    pub fn open(path: &Path) -> Result<Self, ArchiveError> {
        if path.is_dir() {
            return Err(ArchiveError::PathIsFolder { path: path.display().to_string() });
        }
        let path = canonical(path)?;
        let file = LockedFile { _lock: FileLock::take(&path, "-lock")?, path: path.display().to_string() };
        let conn = open_file(&path).and_then(|conn| Ok((conn.is_readonly("main")?, conn)));
        let (read_only, conn) = conn.map_err(|error| translate(&file.path, error))?;
        if read_only {
            return Err(ArchiveError::FileReadOnly { path: file.path });
        }
        prepare_file(&conn, &file.path)?;
        Ok(Self { conn: Arc::new(Mutex::new(conn)), file: Some(Arc::new(file)) })
    }

    /// An empty archive in memory, which ends with its last reader.
    ///
    /// # Errors
    /// When SQLite finds no memory.
    pub fn in_memory() -> Result<Self, ArchiveError> {
        let open = || {
            let conn = Connection::open_in_memory()?;
            schema::set_page_size(&conn)?;
            schema::create(&conn)?;
            Ok(conn)
        };
        let conn = open().map_err(|error| translate(IN_MEMORY, error))?;
        Ok(Self { conn: Arc::new(Mutex::new(conn)), file: None })
    }
}

impl Archive for SqliteArchive {
    fn insert_batch<'a>(
        &mut self,
        batch: &mut dyn Iterator<Item = ArchiveMessage<'a>>,
    ) -> Result<InsertOutcome, ArchiveError> {
        let mut tally = InsertTally::default();
        let result = insert::insert_batch(&lock_connection(&self.conn), batch, &mut tally);
        tally.publish(result.map_err(|error| translate(path_of(&self.file), error)))
    }

    fn reader(&self) -> Result<Box<dyn ArchiveReader>, ArchiveError> {
        let conn = match &self.file {
            None => Arc::clone(&self.conn),
            Some(file) => {
                let conn = open_file(Path::new(&file.path)).and_then(|conn| {
                    schema::set_up_reader(&conn)?;
                    Ok(conn)
                });
                Arc::new(Mutex::new(conn.map_err(|error| translate(&file.path, error))?))
            }
        };
        Ok(Box::new(SqliteReader { conn, file: self.file.clone() }))
    }

    fn clear(&mut self) -> Result<(), ArchiveError> {
        let result = lock_connection(&self.conn).execute("DELETE FROM message", []);
        result.map(|_| ()).map_err(|error| translate(path_of(&self.file), error))
    }

    fn retain(&mut self, retention: &Retention) -> Result<Dropped, ArchiveError> {
        let dropped = retention::retain(&lock_connection(&self.conn), retention);
        count_retention(dropped.map_err(|error| translate(path_of(&self.file), error)))
    }

    fn message_count(&self) -> Result<u64, ArchiveError> {
        let count = |row: &rusqlite::Row<'_>| row.get::<_, i64>(0).map(i64::unsigned_abs);
        let result = lock_connection(&self.conn).query_row("SELECT count(*) FROM message", [], count);
        result.map_err(|error| translate(path_of(&self.file), error))
    }

    fn location(&self) -> String {
        match &self.file {
            Some(file) => format!("sqlite://{}", file.path),
            None => IN_MEMORY.to_owned(),
        }
    }

    fn close(self: Box<Self>) -> Result<(), ArchiveError> {
        let result = lock_connection(&self.conn).query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        result.map_err(|error| translate(path_of(&self.file), error))
    }
}

impl ArchiveReader for SqliteReader {
    fn query(&mut self, query: &Query) -> Result<Page, ArchiveError> {
        let began = Instant::now();
        let page = query.check().and_then(|()| {
            query::query(&lock_connection(&self.conn), query, &query::Rows).map_err(|failure| match failure {
                query::Failure::Sqlite(error) => translate(path_of(&self.file), error),
                query::Failure::Query(error) => error,
            })
        });
        count_query(began, &page);
        page
    }

    fn keys_after(&mut self, pubsub_topic: &str, after: Key, keys_max: usize) -> Result<Vec<Key>, ArchiveError> {
        let keys = query::keys_after(&lock_connection(&self.conn), pubsub_topic, &after, keys_max);
        keys.map_err(|error| translate(path_of(&self.file), error))
    }
}

const IN_MEMORY: &str = "sqlite://:memory:";

fn path_of(file: &Option<Arc<LockedFile>>) -> &str {
    file.as_ref().map_or(IN_MEMORY, |file| &file.path)
}

/// Takes the lock. A panic while it was held has rolled its transaction back.
pub(crate) fn lock_connection(conn: &Mutex<Connection>) -> MutexGuard<'_, Connection> {
    conn.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Opens a connection; the path is never read as a URI.
pub(crate) fn open_file(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags)?;
    conn.busy_timeout(BUSY_TIMEOUT)?;
    Ok(conn)
}

/// Whether there is an archive of this format at `path`.
pub(crate) fn is_archive(path: &Path) -> Result<bool, ArchiveError> {
    if !path.exists() {
        return Ok(false);
    }
    let identity = open_file(path).and_then(|conn| schema::identify(&conn));
    let identity = identity.map_err(|error| translate(&path.display().to_string(), error))?;
    Ok(identity == Identity::Archive)
}

/// Makes an empty file an archive, and checks that any other is one before anything in it is changed.
fn prepare_file(conn: &Connection, path: &str) -> Result<(), ArchiveError> {
    let failed = |error| translate(path, error);
    let foreign = |reason: String| ArchiveError::NotAnArchive { path: path.to_owned(), reason };
    let identity = schema::identify(conn).map_err(failed)?;
    match identity {
        Identity::Empty => schema::set_page_size(conn).map_err(failed)?,
        Identity::Archive => check_tables(conn).map_err(|error| match error.sqlite_error_code() {
            Some(ErrorCode::Unknown) => foreign(error.to_string()),
            _ => failed(error),
        })?,
        Identity::Newer(found) => {
            let supported = schema::SCHEMA_VERSION;
            return Err(ArchiveError::NewerSchema { path: path.to_owned(), found, supported });
        }
        Identity::Foreign => return Err(foreign("its header names another application".to_owned())),
    }
    if !schema::enable_wal(conn).map_err(failed)? {
        return Err(ArchiveError::WalRefused { path: path.to_owned() });
    }
    schema::set_up_writer(conn).map_err(failed)?;
    if identity == Identity::Empty {
        schema::create(conn).map_err(failed)?;
    }
    Ok(())
}

/// Prepares every statement, which needs every table, column and index to be there.
fn check_tables(conn: &Connection) -> rusqlite::Result<()> {
    query::statements().chain([insert::INSERT]).try_for_each(|sql| conn.prepare(sql).map(|_| ()))
}

/// The error of the archive that an error of SQLite stands for.
pub(crate) fn translate(path: &str, error: rusqlite::Error) -> ArchiveError {
    let path = path.to_owned();
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => ArchiveError::DiskFull { path },
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            ArchiveError::Busy { path, seconds: BUSY_TIMEOUT.as_secs() }
        }
        Some(ErrorCode::NotADatabase) => ArchiveError::NotADatabase { path },
        Some(ErrorCode::DatabaseCorrupt) => ArchiveError::Corrupt { path, source: error },
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => ArchiveError::FileReadOnly { path },
        Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen | ErrorCode::OutOfMemory) => {
            ArchiveError::Io { path, source: Box::new(error) }
        }
        // A column that holds what this code never wrote.
        None => ArchiveError::Corrupt { path, source: error },
        Some(_) => ArchiveError::Sqlite { path, source: error },
    }
}

#[cfg(test)]
mod tests;
