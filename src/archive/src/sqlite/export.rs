//! Reading an archive out in the order in which its messages came, to move it into another format.

use rusqlite::{Connection, OptionalExtension, params};

use super::{SqliteArchive, lock_connection, path_of, translate};
use crate::{ArchiveError, ArchiveMessage, Hash, StoredBody};

const ROWS: &str = "SELECT id, hash, pubsub_topic, content_topic, version, timestamp, meta, payload FROM message \
     WHERE id > ?1 ORDER BY id LIMIT ?2";

/// A message and its place in the order.
pub(crate) struct Exported {
    pub(crate) id: i64,
    hash: Hash,
    body: StoredBody,
}

impl Exported {
    pub(crate) fn message(&self) -> ArchiveMessage<'_> {
        let body = &self.body;
        ArchiveMessage {
            hash: self.hash,
            pubsub_topic: &body.pubsub_topic,
            content_topic: &body.content_topic,
            payload: &body.payload,
            version: body.version,
            timestamp: body.timestamp,
            meta: &body.meta,
        }
    }
}

impl SqliteArchive {
    /// The next messages behind `id`: at most `messages_max`, and none further once they have `bytes_max`. None if there are no more.
    pub(crate) fn export_after(
        &self,
        id: i64,
        messages_max: u32,
        bytes_max: usize,
    ) -> Result<Vec<Exported>, ArchiveError> {
        let rows = rows_after(&lock_connection(&self.conn), id, messages_max, bytes_max);
        rows.map_err(|error| translate(path_of(&self.file), error))
    }

    /// The place of a message in the order, if it is there.
    pub(crate) fn export_place(&self, hash: &Hash) -> Result<Option<i64>, ArchiveError> {
        let sql = "SELECT id FROM message WHERE hash = ?1";
        let id = lock_connection(&self.conn).query_row(sql, [hash.as_slice()], |row| row.get(0)).optional();
        id.map_err(|error| translate(path_of(&self.file), error))
    }
}

fn rows_after(conn: &Connection, id: i64, messages_max: u32, bytes_max: usize) -> rusqlite::Result<Vec<Exported>> {
    let mut statement = conn.prepare_cached(ROWS)?;
    let mut rows = statement.query(params![id, messages_max])?;
    let (mut exported, mut bytes) = (Vec::new(), 0);
    while bytes < bytes_max
        && let Some(row) = rows.next()?
    {
        let body = StoredBody {
            pubsub_topic: row.get(2)?,
            content_topic: row.get(3)?,
            version: row.get(4)?,
            timestamp: row.get(5)?,
            meta: row.get::<_, Option<Vec<u8>>>(6)?.unwrap_or_default(),
            payload: row.get(7)?,
        };
        bytes += body.payload.len();
        exported.push(Exported { id: row.get(0)?, hash: row.get(1)?, body });
    }
    Ok(exported)
}
