//! The archive of nwaku in SQLite: one table, `Message`, keyed by hash (its schema of 2023 and later).

use std::path::Path;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, params};

use super::{BATCH_BYTES_MAX, BATCH_MESSAGES_MAX};
use crate::sqlite::translate;
use crate::{ArchiveError, Key, StoredBody};

/// The columns that a message is made of; `meta` came later than the others.
const COLUMNS: [&str; 6] = ["messageHash", "pubsubTopic", "contentTopic", "payload", "version", "timestamp"];

/// Whether a database is an archive of nwaku, of whatever version.
pub(crate) fn is_nwaku(conn: &Connection) -> rusqlite::Result<bool> {
    let columns = columns(conn)?;
    Ok(["pubsubTopic", "contentTopic", "payload"].iter().all(|name| columns.iter().any(|column| column == name)))
}

fn columns(conn: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut statement = conn.prepare("SELECT name FROM pragma_table_info('Message')")?;
    let names = statement.query_map([], |row| row.get(0))?;
    names.collect()
}

/// A message of nwaku's, or nothing where a row holds what none can.
pub(super) type Read = (Key, Option<StoredBody>);

/// An archive of nwaku, open for reading.
pub(super) struct NwakuArchive {
    conn: Connection,
    path: String,
    select: String,
}

impl NwakuArchive {
    pub(super) fn open(path: &Path) -> Result<Self, ArchiveError> {
        let name = path.display().to_string();
        if !path.exists() {
            return Err(ArchiveError::NotFound { path: name });
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let failed = |error| translate(&name, error);
        let conn = Connection::open_with_flags(path, flags).map_err(failed)?;
        let found = columns(&conn).map_err(failed)?;
        if let Some(missing) = COLUMNS.iter().find(|name| !found.iter().any(|column| column == *name)) {
            let reason = format!(
                "no table Message with a column {missing}, as nwaku has it; an older file is brought up to date by starting nwaku once"
            );
            return Err(ArchiveError::NotAnArchive { path: name, reason });
        }
        let meta = if found.iter().any(|column| column == "meta") { "meta" } else { "NULL" };
        let select = format!(
            "SELECT timestamp, messageHash, pubsubTopic, contentTopic, payload, version, {meta} FROM Message \
             WHERE (timestamp, messageHash) > (?1, ?2) AND typeof(timestamp) = 'integer' \
             AND typeof(messageHash) = 'blob' AND length(messageHash) = 32 ORDER BY timestamp, messageHash LIMIT ?3"
        );
        Ok(Self { conn, path: name, select })
    }

    pub(super) fn count(&self) -> Result<u64, ArchiveError> {
        let count = self.conn.query_row("SELECT count(*) FROM Message", [], |row| row.get::<_, i64>(0));
        count.map(i64::unsigned_abs).map_err(|error| translate(&self.path, error))
    }

    /// How many rows lie up to `key`.
    pub(super) fn count_up_to(&self, key: &Key) -> Result<u64, ArchiveError> {
        let sql = "SELECT count(*) FROM Message WHERE (timestamp, messageHash) <= (?1, ?2)";
        let count = self.conn.query_row(sql, params![key.0, key.1], |row| row.get::<_, i64>(0));
        count.map(i64::unsigned_abs).map_err(|error| translate(&self.path, error))
    }

    /// The next rows behind `key`, in the order (timestamp, hash); none if there are no more. Rows without a
    /// readable key are passed by.
    pub(super) fn read_after(&self, key: Option<&Key>) -> Result<Vec<Read>, ArchiveError> {
        self.rows_after(key).map_err(|error| translate(&self.path, error))
    }

    fn rows_after(&self, key: Option<&Key>) -> rusqlite::Result<Vec<Read>> {
        let mut statement = self.conn.prepare_cached(&self.select)?;
        let (timestamp, hash) = key.map_or((i64::MIN, &[][..]), |key| (key.0, &key.1[..]));
        let mut rows = statement.query(params![timestamp, hash, BATCH_MESSAGES_MAX as i64])?;
        let (mut read, mut bytes) = (Vec::new(), 0);
        while bytes < BATCH_BYTES_MAX
            && let Some(row) = rows.next()?
        {
            let key: Key = (row.get(0)?, row.get(1)?);
            let body = body_of(row, key.0);
            bytes += body.as_ref().map_or(0, |body| body.payload.len());
            read.push((key, body));
        }
        Ok(read)
    }
}

fn body_of(row: &rusqlite::Row<'_>, timestamp: i64) -> Option<StoredBody> {
    let bytes = |column: usize| match row.get_ref(column).ok()? {
        ValueRef::Blob(bytes) | ValueRef::Text(bytes) => Some(bytes.to_vec()),
        ValueRef::Null => Some(Vec::new()),
        _ => None,
    };
    let text = |column: usize| String::from_utf8(bytes(column)?).ok();
    Some(StoredBody {
        pubsub_topic: text(2)?,
        content_topic: text(3)?,
        payload: bytes(4)?,
        version: row.get(5).ok()?,
        timestamp,
        meta: bytes(6)?,
    })
}
