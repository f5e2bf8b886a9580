//! The tables, and how a connection is set up.

use rusqlite::Connection;

/// The `application_id` in the header of an archive: "LVDA".
pub(super) const APPLICATION_ID: i64 = 0x4c56_4441;
/// The `user_version` of this schema.
pub(super) const SCHEMA_VERSION: i64 = 1;
/// Bytes of a database page, see the module docs of [`super`].
pub(super) const PAGE_BYTES: i64 = 8_192;
/// Bytes of pages a connection keeps: index pages, and the payload pages of the message being written. A batch that is larger
/// flows into the log before it is committed.
const CACHE_BYTES: i64 = 8 << 20;
/// Length of the log, in pages, at which it is written into the database: 32 MiB, two batches of the reference workload. A longer log
/// did not pay, a shorter one writes index pages more often.
const WAL_PAGES_MAX: i64 = 4_096;
/// Bytes to which the log file is cut after it was written into the database.
const WAL_FILE_BYTES_MAX: i64 = 64 << 20;

/// `payload` is last, so that everything before it is read without it.
pub(super) const CREATE: &str = "
    CREATE TABLE message (
        id INTEGER PRIMARY KEY,
        hash BLOB NOT NULL,
        timestamp INTEGER NOT NULL,
        pubsub_topic TEXT NOT NULL,
        content_topic TEXT NOT NULL,
        version INTEGER NOT NULL,
        meta BLOB,
        payload BLOB NOT NULL
    ) STRICT;
";

/// What the header of a database file says it is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Identity {
    /// Nothing in it yet.
    Empty,
    /// An archive of this version.
    Archive,
    /// An archive of a version that only a later build knows.
    Newer(i64),
    /// Somebody else's database.
    Foreign,
}

/// Reads what a database is, and changes nothing in it.
pub(super) fn identify(conn: &Connection) -> rusqlite::Result<Identity> {
    let number = |sql: &str| conn.query_row(sql, [], |row| row.get::<_, i64>(0));
    let tables = number("SELECT count(*) FROM sqlite_schema")?;
    let version = number("PRAGMA user_version")?;
    Ok(match (number("PRAGMA application_id")?, tables) {
        (APPLICATION_ID, _) if version > SCHEMA_VERSION => Identity::Newer(version),
        (APPLICATION_ID, _) if version == SCHEMA_VERSION => Identity::Archive,
        (0, 0) => Identity::Empty,
        _ => Identity::Foreign,
    })
}

/// Creates the tables in an empty database; after a crash in the middle it is still empty.
pub(super) fn create(conn: &Connection) -> rusqlite::Result<()> {
    let transaction = conn.unchecked_transaction()?;
    transaction.execute_batch(CREATE)?;
    transaction.execute_batch(super::query::OWN_LOOKUPS)?;
    transaction.execute_batch(super::query::LOOKUPS)?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", SCHEMA_VERSION)?;
    transaction.commit()
}

/// Sets the page size, which only an empty database that is not yet in WAL mode obeys.
pub(super) fn set_page_size(conn: &Connection) -> rusqlite::Result<()> {
    conn.pragma_update(None, "page_size", PAGE_BYTES)
}

/// Turns the write-ahead log on; false if the file system cannot have one.
pub(super) fn enable_wal(conn: &Connection) -> rusqlite::Result<bool> {
    let mode: String = conn.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
    conn.pragma_update(None, "wal_autocheckpoint", WAL_PAGES_MAX)?;
    conn.pragma_update(None, "journal_size_limit", WAL_FILE_BYTES_MAX)?;
    Ok(mode == "wal")
}

/// Settings of a writing connection. `FULL` syncs the log at each commit: only then may a message be called stored.
pub(super) fn set_up_writer(conn: &Connection) -> rusqlite::Result<()> {
    conn.pragma_update(None, "synchronous", "FULL")?;
    conn.pragma_update(None, "cache_size", -CACHE_BYTES / 1_024)
}

/// Settings of a reading connection.
pub(super) fn set_up_reader(conn: &Connection) -> rusqlite::Result<()> {
    conn.pragma_update(None, "query_only", true)?;
    conn.pragma_update(None, "cache_size", -CACHE_BYTES / 1_024)
}
