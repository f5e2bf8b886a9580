//! The index of the log: which messages there are, and where their records lie. It can be made anew from the segments.
//!
//! The id of a row is the place of its record, so rows are appended in the order of the log, the rows of a segment are one range of ids,
//! and every index has the place at hand. Columns and indexes have the names that the statements of [`crate::sqlite::query`] use.
//!
//! Commits are not synced (`synchronous = NORMAL`): before a row is committed, the segment is synced, and what the index lost in a power
//! failure is found again by a rescan from the last length that it knows of each segment. Only where segments are about to be removed
//! does the commit wait for the disk.

use std::path::Path;

use rusqlite::{CachedStatement, Connection, ErrorCode, OptionalExtension, Transaction, TransactionBehavior, params};

use super::format::Location;
use super::tail::Extent;
use crate::sqlite::query;
use crate::sqlite::{open_file, translate};
use crate::upkeep::is_nwaku;
use crate::{ArchiveError, Hash};

/// The `application_id` of an index: "LVDX".
const APPLICATION_ID: i64 = 0x4c56_4458;
/// Version 2 has the tables of version 1; its segments have records that older builds cannot read.
const SCHEMA_VERSION: i64 = 2;
/// Hashes are scattered over their index, so that a batch rewrites about as many pages of it as it has messages: small pages.
const PAGE_BYTES: i64 = 4_096;
const CACHE_BYTES: i64 = 8 << 20;
/// Length of the write-ahead log, in pages, at which it is written into the database: the more batches share that, the less is written.
const WAL_PAGES_MAX: i64 = 8_192;
const WAL_FILE_BYTES_MAX: i64 = 64 << 20;

const CREATE: &str = "
    CREATE TABLE message (
        id INTEGER PRIMARY KEY,
        hash BLOB NOT NULL,
        timestamp INTEGER NOT NULL,
        pubsub_topic TEXT NOT NULL,
        content_topic TEXT NOT NULL,
        bytes INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE segment (
        id INTEGER PRIMARY KEY,
        bytes INTEGER NOT NULL,
        records INTEGER NOT NULL,
        messages INTEGER NOT NULL,
        timestamp_max INTEGER NOT NULL,
        dropped INTEGER NOT NULL
    ) STRICT;
";
const INSERT: &str = "INSERT INTO message (id, hash, timestamp, pubsub_topic, content_topic, bytes) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING";
const MARK: &str = "INSERT INTO segment (id, bytes, records, messages, timestamp_max, dropped) VALUES (?1, ?2, ?3, ?4, ?5, 0) \
     ON CONFLICT (id) DO UPDATE SET bytes = excluded.bytes, records = excluded.records, \
     messages = messages + excluded.messages, timestamp_max = max(timestamp_max, excluded.timestamp_max)";
const BYTES_OF: &str = "SELECT bytes, hash FROM message WHERE id = ?1";
const SEGMENTS: &str = "SELECT id, bytes, records, messages, timestamp_max, dropped FROM segment ORDER BY id";
const FORGET: &str = "DELETE FROM segment WHERE id = ?1";

/// What the index knows of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) id: u32,
    /// Up to here, the index has every record: the high-water mark.
    pub(super) bytes: u64,
    /// Records up to there, damaged ones included.
    pub(super) records: u32,
    /// Messages of the segment that have rows.
    pub(super) messages: u64,
    /// The newest timestamp of them.
    pub(super) timestamp_max: i64,
    /// Its rows are gone, and its file is to go.
    pub(super) dropped: bool,
}

/// A row to be inserted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row<'a> {
    pub(super) place: Location,
    pub(super) hash: &'a Hash,
    pub(super) timestamp: i64,
    pub(super) pubsub_topic: &'a str,
    pub(super) content_topic: &'a str,
    pub(super) bytes: u64,
}

/// Inserts rows into one transaction.
pub(super) struct Rows<'conn> {
    insert: CachedStatement<'conn>,
}

impl<'conn> Rows<'conn> {
    pub(super) fn new(conn: &'conn Connection) -> rusqlite::Result<Self> {
        Ok(Self { insert: conn.prepare_cached(INSERT)? })
    }

    /// Inserts a row; false if its hash has one already.
    pub(super) fn insert(&mut self, row: &Row<'_>) -> rusqlite::Result<bool> {
        let (id, bytes) = (row.place.id(), row.bytes as i64);
        let values = params![id, row.hash.as_slice(), row.timestamp, row.pubsub_topic, row.content_topic, bytes];
        Ok(self.insert.execute(values)? == 1)
    }
}

/// Opens the index at `path`, or creates it. A file that is none is left as it is.
pub(super) fn open(path: &Path) -> Result<Connection, ArchiveError> {
    let name = path.display().to_string();
    let failed = |error| translate(&name, error);
    let conn = open_file(path).map_err(failed)?;
    if conn.is_readonly("main").map_err(failed)? {
        return Err(ArchiveError::FileReadOnly { path: name });
    }
    let empty = identify(&conn, &name)?;
    if empty {
        conn.pragma_update(None, "page_size", PAGE_BYTES).map_err(failed)?;
        // So that pages which retention has emptied can be given back.
        conn.pragma_update(None, "auto_vacuum", "INCREMENTAL").map_err(failed)?;
    }
    let mode: String = conn.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0)).map_err(failed)?;
    if mode != "wal" {
        return Err(ArchiveError::WalRefused { path: name });
    }
    set_up(&conn).and_then(|()| if empty { create(&conn) } else { update(&conn) }).map_err(failed)?;
    Ok(conn)
}

/// Opens the index at `path`, which must be one that this build knows, for reading.
pub(super) fn open_existing(path: &Path) -> Result<Connection, ArchiveError> {
    let name = path.display().to_string();
    let conn = open_reader(path).map_err(|error| translate(&name, error))?;
    if identify(&conn, &name)? {
        return Err(ArchiveError::NotAnArchive { path: name, reason: "it is empty".to_owned() });
    }
    Ok(conn)
}

/// A connection for a reader.
pub(super) fn open_reader(path: &Path) -> rusqlite::Result<Connection> {
    let conn = open_file(path)?;
    conn.pragma_update(None, "query_only", true)?;
    conn.pragma_update(None, "cache_size", -CACHE_BYTES / 1_024)?;
    Ok(conn)
}

/// Whether the database is empty; an error unless it is empty or an index that this build knows.
fn identify(conn: &Connection, name: &str) -> Result<bool, ArchiveError> {
    let failed = |error| translate(name, error);
    let number = |sql: &str| conn.query_row(sql, [], |row| row.get::<_, i64>(0)).map_err(failed);
    let path = name.to_owned();
    let (tables, version) = (number("SELECT count(*) FROM sqlite_schema")?, number("PRAGMA user_version")?);
    match (number("PRAGMA application_id")?, tables) {
        (APPLICATION_ID, _) if version > SCHEMA_VERSION => {
            Err(ArchiveError::NewerSchema { path, found: version, supported: SCHEMA_VERSION })
        }
        (APPLICATION_ID, _) if (1..=SCHEMA_VERSION).contains(&version) => check_tables(conn, name).map(|()| false),
        (0, 0) => Ok(true),
        _ if is_nwaku(conn).map_err(failed)? => Err(ArchiveError::NwakuArchive { path }),
        _ => Err(ArchiveError::NotAnArchive { path, reason: "its header names another application".to_owned() }),
    }
}

/// Prepares every statement, which needs every table, column and index to be there.
fn check_tables(conn: &Connection, name: &str) -> Result<(), ArchiveError> {
    let mut statements = query::lookups().chain([INSERT, MARK, BYTES_OF, SEGMENTS, FORGET]);
    statements.try_for_each(|sql| conn.prepare(sql).map(|_| ())).map_err(|error| match error.sqlite_error_code() {
        Some(ErrorCode::Unknown) => ArchiveError::NotAnArchive { path: name.to_owned(), reason: error.to_string() },
        _ => translate(name, error),
    })
}

fn set_up(conn: &Connection) -> rusqlite::Result<()> {
    conn.pragma_update(None, "wal_autocheckpoint", WAL_PAGES_MAX)?;
    conn.pragma_update(None, "journal_size_limit", WAL_FILE_BYTES_MAX)?;
    conn.pragma_update(None, "cache_size", -CACHE_BYTES / 1_024)?;
    conn.pragma_update(None, "synchronous", "NORMAL")
}

fn create(conn: &Connection) -> rusqlite::Result<()> {
    let transaction = conn.unchecked_transaction()?;
    transaction.execute_batch(CREATE)?;
    transaction.execute_batch(query::LOOKUPS)?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", SCHEMA_VERSION)?;
    transaction.commit()
}

/// Keeps older builds away from segments that they cannot read.
fn update(conn: &Connection) -> rusqlite::Result<()> {
    let version: i64 = conn.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if version < SCHEMA_VERSION { conn.pragma_update(None, "user_version", SCHEMA_VERSION) } else { Ok(()) }
}

/// Begins a transaction that writes; another program's lock is met here and not in the middle.
pub(super) fn begin(conn: &Connection) -> rusqlite::Result<Transaction<'_>> {
    Transaction::new_unchecked(conn, TransactionBehavior::Immediate)
}

/// Moves the high-water mark of a segment.
pub(super) fn mark(conn: &Connection, extent: &Extent) -> rusqlite::Result<()> {
    let values = params![extent.id, extent.bytes as i64, extent.records, extent.added, extent.timestamps.1];
    conn.prepare_cached(MARK)?.execute(values).map(|_| ())
}

/// Length and hash of the record at `place`; nothing if its row is gone.
pub(super) fn record_at(conn: &Connection, id: i64) -> rusqlite::Result<(u64, Hash)> {
    conn.prepare_cached(BYTES_OF)?.query_row([id], |row| Ok((row.get::<_, i64>(0)? as u64, row.get(1)?)))
}

/// How many messages there are.
pub(super) fn count(conn: &Connection) -> rusqlite::Result<u64> {
    conn.query_row("SELECT count(*) FROM message", [], |row| row.get::<_, i64>(0)).map(i64::unsigned_abs)
}

/// Brings the write-ahead log into the database, and the database to the disk.
pub(super) fn checkpoint(conn: &Connection) -> rusqlite::Result<()> {
    conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
}

/// Every segment that the index knows, in the order of the log.
pub(super) fn segments(conn: &Connection) -> rusqlite::Result<Vec<Entry>> {
    let entry = |row: &rusqlite::Row<'_>| {
        Ok(Entry {
            id: row.get(0)?,
            bytes: row.get::<_, i64>(1)?.unsigned_abs(),
            records: row.get(2)?,
            messages: row.get::<_, i64>(3)?.unsigned_abs(),
            timestamp_max: row.get(4)?,
            dropped: row.get(5)?,
        })
    };
    conn.prepare_cached(SEGMENTS)?.query_map([], entry)?.collect()
}

/// Deletes the rows of segment `id` that do not end at or before `bytes`, and says how many there were.
pub(super) fn delete_rows(conn: &Connection, id: u32, bytes: u64) -> rusqlite::Result<u64> {
    let id_at = |segment, offset| Location { segment, offset }.id();
    let sql = "DELETE FROM message WHERE id >= ?1 AND id < ?2 AND (id - ?1) * 8 + bytes > ?3";
    let deleted = conn.prepare_cached(sql)?.execute(params![id_at(id, 0), id_at(id + 1, 0), bytes as i64])?;
    Ok(deleted as u64)
}

/// Deletes the oldest rows of segment `id`, at most `rows_max`, and says how many there were.
pub(super) fn delete_oldest_rows(conn: &Connection, id: u32, rows_max: u64) -> rusqlite::Result<u64> {
    let id_at = |segment| Location { segment, offset: 0 }.id();
    // A range that begins at the first row and has no subquery is deleted row by row, without a list of them.
    let sql = "SELECT id FROM message WHERE id >= ?1 AND id < ?2 ORDER BY id LIMIT 1 OFFSET ?3";
    let values = params![id_at(id), id_at(id + 1), rows_max as i64];
    let end = conn.prepare_cached(sql)?.query_row(values, |row| row.get(0)).optional()?;
    let sql = "DELETE FROM message WHERE id >= ?1 AND id < ?2";
    let deleted = conn.prepare_cached(sql)?.execute([id_at(id), end.unwrap_or_else(|| id_at(id + 1))])?;
    Ok(deleted as u64)
}

/// Corrects how many messages of a segment have rows.
pub(super) fn set_messages(conn: &Connection, id: u32, messages: u64) -> rusqlite::Result<()> {
    let sql = "UPDATE segment SET messages = ?2 WHERE id = ?1";
    conn.prepare_cached(sql)?.execute(params![id, messages as i64]).map(|_| ())
}

/// Corrects what is known of a segment that lost `lost` messages, and ends at `bytes` now.
pub(super) fn cut(conn: &Connection, id: u32, bytes: u64, lost: u64) -> rusqlite::Result<()> {
    let sql = "UPDATE segment SET bytes = ?2, messages = messages - ?3 WHERE id = ?1";
    conn.execute(sql, params![id, bytes as i64, lost as i64]).map(|_| ())
}

/// Notes in a transaction that the rows of a segment are gone and its file is to go.
pub(super) fn drop_segment(conn: &Connection, id: u32) -> rusqlite::Result<()> {
    delete_oldest_rows(conn, id, i64::MAX as u64)?;
    let sql = "UPDATE segment SET dropped = 1, messages = 0 WHERE id = ?1";
    conn.prepare_cached(sql)?.execute([id]).map(|_| ())
}

/// Forgets a segment whose file is gone.
pub(super) fn forget(conn: &Connection, id: u32) -> rusqlite::Result<()> {
    conn.prepare_cached(FORGET)?.execute([id]).map(|_| ())
}

/// How many pages of the index are free, and how many there are.
pub(super) fn pages(conn: &Connection) -> rusqlite::Result<(u64, u64)> {
    let number = |sql: &str| conn.prepare_cached(sql)?.query_row([], |row| row.get::<_, i64>(0));
    Ok((number("PRAGMA freelist_count")?.unsigned_abs(), number("PRAGMA page_count")?.unsigned_abs()))
}

/// Bytes of the pages in use.
pub(super) fn used_bytes(conn: &Connection) -> rusqlite::Result<u64> {
    let (free, pages) = pages(conn)?;
    Ok((pages - free) * PAGE_BYTES as u64)
}

/// Moves free pages to the end of the index, at most so many, and cuts them off there.
pub(super) fn free_pages(conn: &Connection, pages_max: u64) -> rusqlite::Result<()> {
    let mut statement = conn.prepare(&format!("PRAGMA incremental_vacuum({pages_max})"))?;
    let mut rows = statement.query([])?;
    while rows.next()?.is_some() {}
    Ok(())
}

/// Brings the write-ahead log into the database as far as readers allow, which cuts its file to the pages it has.
pub(super) fn write_back(conn: &Connection) -> rusqlite::Result<()> {
    conn.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))
}

/// Whether commits wait for the disk from now on.
pub(super) fn set_synced(conn: &Connection, synced: bool) -> rusqlite::Result<()> {
    conn.pragma_update(None, "synchronous", if synced { "FULL" } else { "NORMAL" })
}
