//! The index of the log: which messages there are, and where their records lie. It can be made anew from the segments.
//!
//! The id of a row is the place of its record, so rows are appended in the order of the log, the rows of a segment are one range of ids,
//! and every index has the place at hand. Columns and indexes have the names that the statements of [`crate::sqlite::query`] use, but that
//! a hash is looked up in a table of its own, which it enters later (see [`super::hashes`]). A hash covers its timestamp, so that an index
//! of both tells duplicates; there, new rows come near the end.
//!
//! Commits are not synced (`synchronous = NORMAL`): before a row is committed, the segment is synced, and what the index lost in a power
//! failure is found again by a rescan from the last length that it knows of each segment. Only where segments are about to be removed
//! does the commit wait for the disk.

use std::ops::Range;
use std::path::Path;

use rusqlite::{
    CachedStatement, Connection, ErrorCode, OptionalExtension, ToSql, Transaction, TransactionBehavior, params,
};

use super::format::Location;
use super::hashes::{Prefix, prefix_of};
use super::tail::Extent;
use crate::sqlite::query;
use crate::sqlite::{open_file, translate};
use crate::upkeep::is_nwaku;
use crate::{ArchiveError, Hash};

/// The `application_id` of an index: "LVDX".
const APPLICATION_ID: i64 = 0x4c56_4458;
/// Version 2 had the tables of version 1; its segments have records that older builds cannot read. In version 3 hashes have a table.
const SCHEMA_VERSION: i64 = 3;
/// Small pages: few hashes enter one together.
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
/// `hash` has the first bytes of each hash that has entered, `entered` the id up to which all have.
const CREATE_HASHES: &str = "
    CREATE TABLE hash (prefix BLOB NOT NULL, id INTEGER NOT NULL, PRIMARY KEY (prefix, id)) STRICT, WITHOUT ROWID;
    CREATE TABLE entered (id INTEGER NOT NULL) STRICT;
    INSERT INTO entered VALUES (-1);
    CREATE UNIQUE INDEX message_by_time ON message (timestamp, hash);
";
/// What versions 1 and 2 had instead.
const DROP_HASHES: &str = "
    DROP INDEX message_by_hash;
    DROP INDEX message_by_time;
";
const INSERT: &str = "INSERT INTO message (id, hash, timestamp, pubsub_topic, content_topic, bytes) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING";
const MARK: &str = "INSERT INTO segment (id, bytes, records, messages, timestamp_max, dropped) VALUES (?1, ?2, ?3, ?4, ?5, 0) \
     ON CONFLICT (id) DO UPDATE SET bytes = excluded.bytes, records = excluded.records, \
     messages = messages + excluded.messages, timestamp_max = max(timestamp_max, excluded.timestamp_max)";
const BYTES_OF: &str = "SELECT bytes, hash FROM message WHERE id = ?1";
const SEGMENTS: &str = "SELECT id, bytes, records, messages, timestamp_max, dropped FROM segment ORDER BY id";
const IDS_OF: &str = "SELECT id FROM hash WHERE prefix = ?1";
const ENTER: &str = "INSERT OR IGNORE INTO hash (prefix, id) VALUES (?1, ?2)";
const ENTER_ALL: &str = "INSERT OR IGNORE INTO hash SELECT substr(hash, 1, 8), id FROM message \
     WHERE id > (SELECT id FROM entered) ORDER BY 1, 2";
const ENTERED: &str = "SELECT id FROM entered";
const SET_ENTERED: &str = "UPDATE entered SET id = ?1";
const UNENTERED: &str = "SELECT hash, id FROM message WHERE id > (SELECT id FROM entered)";
const FORGET: &str = "DELETE FROM segment WHERE id = ?1";

/// Statements that delete rows: their hashes, in the order of that table, and then they themselves.
macro_rules! delete {
    ($rows:literal) => {
        [
            concat!(
                "DELETE FROM hash WHERE (prefix, id) IN (SELECT substr(hash, 1, 8), id FROM message WHERE ",
                $rows,
                ")"
            ),
            concat!("DELETE FROM message WHERE ", $rows),
        ]
    };
}

const DELETE: [&str; 2] = delete!("id >= ?1 AND id < ?2");
const DELETE_BEHIND: [&str; 2] = delete!("id >= ?1 AND id < ?2 AND (id - ?1) * 8 + bytes > ?3");

/// Those statements, for the test of their plans.
#[cfg(test)]
pub(super) fn deletions() -> [[&'static str; 2]; 2] {
    [DELETE, DELETE_BEHIND]
}

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
        (APPLICATION_ID, _) if (1..=SCHEMA_VERSION).contains(&version) => {
            check_tables(conn, name, version).map(|()| false)
        }
        (0, 0) => Ok(true),
        _ if is_nwaku(conn).map_err(failed)? => Err(ArchiveError::NwakuArchive { path }),
        _ => Err(ArchiveError::NotAnArchive { path, reason: "its header names another application".to_owned() }),
    }
}

/// Prepares every statement, which needs every table, column and index to be there.
fn check_tables(conn: &Connection, name: &str, version: i64) -> Result<(), ArchiveError> {
    let hashes = [IDS_OF, ENTER, ENTER_ALL, ENTERED, SET_ENTERED, UNENTERED];
    let hashes = hashes.into_iter().filter(|_| version >= 3);
    let mut statements = query::lookups().chain([INSERT, MARK, BYTES_OF, SEGMENTS, FORGET]).chain(hashes);
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
    transaction.execute_batch(CREATE_HASHES)?;
    transaction.execute_batch(query::LOOKUPS)?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", SCHEMA_VERSION)?;
    transaction.commit()
}

/// Brings an index of an older build to the present version, and keeps those builds away from it.
fn update(conn: &Connection) -> rusqlite::Result<()> {
    let version: i64 = conn.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if version == SCHEMA_VERSION {
        return Ok(());
    }
    tracing::info!(version, to = SCHEMA_VERSION, "bringing the index of the archive to the present version");
    let transaction = begin(conn)?;
    transaction.execute_batch(DROP_HASHES)?;
    transaction.execute_batch(CREATE_HASHES)?;
    enter_rows(&transaction)?;
    transaction.pragma_update(None, "user_version", SCHEMA_VERSION)?;
    transaction.commit()
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

/// The ids of rows whose hashes begin like this one, and have entered.
pub(super) fn ids_of(conn: &Connection, hash: &Hash) -> rusqlite::Result<Vec<i64>> {
    conn.prepare_cached(IDS_OF)?.query_map([prefix_of(hash)], |row| row.get(0))?.collect()
}

/// The hash of the row `id` enters out of turn; where it has, nothing changes.
pub(super) fn enter_one(conn: &Connection, hash: &Hash, id: i64) -> rusqlite::Result<()> {
    conn.prepare_cached(ENTER)?.execute(params![prefix_of(hash), id]).map(|_| ())
}

/// Hashes enter in one transaction; with the last of those that wait, all up to the row `newest` have.
pub(super) fn enter(conn: &Connection, hashes: &[(Prefix, i64)], newest: Option<i64>) -> rusqlite::Result<()> {
    let transaction = begin(conn)?;
    let mut statement = conn.prepare_cached(ENTER)?;
    hashes.iter().try_for_each(|(prefix, id)| statement.execute(params![prefix, id]).map(|_| ()))?;
    drop(statement);
    if let Some(newest) = newest {
        conn.prepare_cached(SET_ENTERED)?.execute([newest])?;
    }
    transaction.commit()
}

/// All hashes that wait enter at once.
pub(super) fn enter_all(conn: &Connection) -> rusqlite::Result<()> {
    let transaction = begin(conn)?;
    enter_rows(conn)?;
    transaction.commit()
}

fn enter_rows(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute(ENTER_ALL, [])?;
    let newest: Option<i64> = conn.query_row("SELECT max(id) FROM message", [], |row| row.get(0))?;
    newest.map_or(Ok(()), |newest| conn.execute(SET_ENTERED, [newest]).map(|_| ()))
}

/// The newest row up to which all hashes have entered.
pub(super) fn entered(conn: &Connection) -> rusqlite::Result<i64> {
    conn.query_row(ENTERED, [], |row| row.get(0))
}

/// How many hashes wait.
pub(super) fn unentered(conn: &Connection) -> rusqlite::Result<u64> {
    let sql = "SELECT count(*) FROM message WHERE id > (SELECT id FROM entered)";
    conn.query_row(sql, [], |row| row.get::<_, i64>(0)).map(i64::unsigned_abs)
}

/// Tells `meet` every hash that waits, and the id of its row.
pub(super) fn for_each_unentered(conn: &Connection, mut meet: impl FnMut(Hash, i64)) -> rusqlite::Result<()> {
    let mut statement = conn.prepare_cached(UNENTERED)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        meet(row.get(0)?, row.get(1)?);
    }
    Ok(())
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

/// How many rows are not found by their hash though it should have entered, and how many hashes lead to no row. Nothing in an index of
/// an older build, which has no such table.
pub(super) fn hash_faults(conn: &Connection) -> rusqlite::Result<(u64, u64)> {
    let number = |sql: &str| conn.query_row(sql, [], |row| row.get::<_, i64>(0)).map(i64::unsigned_abs);
    if number("PRAGMA user_version")? < 3 {
        return Ok((0, 0));
    }
    let lost = "SELECT count(*) FROM message WHERE id <= (SELECT id FROM entered) \
         AND NOT EXISTS (SELECT 1 FROM hash WHERE prefix = substr(message.hash, 1, 8) AND hash.id = message.id)";
    let stray = "SELECT count(*) FROM hash WHERE NOT EXISTS (SELECT 1 FROM message WHERE message.id = hash.id)";
    Ok((number(lost)?, number(stray)?))
}

/// Deletes the rows of segment `id` that do not end at or before `bytes`, and says how many there were.
pub(super) fn delete_rows(conn: &Connection, id: u32, bytes: u64) -> rusqlite::Result<u64> {
    let ids = ids_of_segment(id);
    delete(conn, DELETE_BEHIND, params![ids.start, ids.end, bytes as i64])
}

/// The ids that rows of a segment can have.
pub(super) fn ids_of_segment(id: u32) -> Range<i64> {
    let id_at = |segment| Location { segment, offset: 0 }.id();
    id_at(id)..id_at(id + 1)
}

/// Deletes the oldest rows of segment `id`, at most `rows_max`, and says how many there were, and which ids they can have had.
pub(super) fn delete_oldest_rows(conn: &Connection, id: u32, rows_max: u64) -> rusqlite::Result<(u64, Range<i64>)> {
    let ids = ids_of_segment(id);
    // A range that begins at the first row and has no subquery is deleted row by row, without a list of them.
    let sql = "SELECT id FROM message WHERE id >= ?1 AND id < ?2 ORDER BY id LIMIT 1 OFFSET ?3";
    let values = params![ids.start, ids.end, rows_max as i64];
    let end = conn.prepare_cached(sql)?.query_row(values, |row| row.get(0)).optional()?;
    let deleted = ids.start..end.unwrap_or(ids.end);
    Ok((delete(conn, DELETE, params![deleted.start, deleted.end])?, deleted))
}

fn delete(conn: &Connection, [hashes, rows]: [&str; 2], values: &[&dyn ToSql]) -> rusqlite::Result<u64> {
    conn.prepare_cached(hashes)?.execute(values)?;
    conn.prepare_cached(rows)?.execute(values).map(|deleted| deleted as u64)
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

/// Whether the disk has no room.
pub(super) fn is_full(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DiskFull)
}

/// Whether commits wait for the disk from now on.
pub(super) fn set_synced(conn: &Connection, synced: bool) -> rusqlite::Result<()> {
    conn.pragma_update(None, "synchronous", if synced { "FULL" } else { "NORMAL" })
}
