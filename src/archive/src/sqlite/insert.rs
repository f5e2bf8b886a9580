//! Inserting a batch.
//!
//! A payload bound to a statement would be copied three times (into the statement, into the record, into the pages), and the first two
//! copies are allocated anew for each message. So the row is inserted with room for the payload, zeroes that SQLite writes straight into
//! the pages, and the payload is then written over them through the incremental blob interface: one copy, from the caller's slice into
//! the page. The handle is opened once per batch and moved from row to row.

use rusqlite::blob::{Blob, ZeroBlob};
use rusqlite::{CachedStatement, Connection, MAIN_DB, Transaction, TransactionBehavior, params};

use crate::counters::InsertTally;
use crate::{ArchiveMessage, PAYLOAD_BYTES_MAX};

pub(super) const INSERT: &str = "INSERT INTO message (hash, timestamp, pubsub_topic, content_topic, version, meta, payload) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING";

/// Inserts `batch` in one transaction and counts into `tally`.
pub(super) fn insert_batch<'a>(
    conn: &Connection,
    batch: &mut dyn Iterator<Item = ArchiveMessage<'a>>,
    tally: &mut InsertTally,
) -> rusqlite::Result<()> {
    // Immediate, so that another program's lock is met here and not in the middle.
    let transaction = Transaction::new_unchecked(conn, TransactionBehavior::Immediate)?;
    let mut writer = BatchWriter { conn, statement: conn.prepare_cached(INSERT)?, blob: None };
    for message in batch {
        if message.payload.len() > PAYLOAD_BYTES_MAX {
            tally.outcome.dropped += 1;
        } else if writer.insert(&message)? {
            tally.stored(message.payload.len());
        } else {
            tally.outcome.duplicates += 1;
        }
    }
    writer.finish()?;
    transaction.commit()
}

struct BatchWriter<'conn> {
    conn: &'conn Connection,
    statement: CachedStatement<'conn>,
    /// Open from the first payload to the end of the batch; a commit is refused while it is.
    blob: Option<Blob<'conn>>,
}

impl BatchWriter<'_> {
    /// Inserts one message; false if its hash is stored already.
    fn insert(&mut self, message: &ArchiveMessage<'_>) -> rusqlite::Result<bool> {
        let meta = (!message.meta.is_empty()).then_some(message.meta);
        let room = ZeroBlob(message.payload.len() as u64);
        let rows = self.statement.execute(params![
            message.hash.as_slice(),
            message.timestamp,
            message.pubsub_topic,
            message.content_topic,
            message.version,
            meta,
            room
        ])?;
        if rows == 1 && !message.payload.is_empty() {
            self.write_payload(self.conn.last_insert_rowid(), message.payload)?;
        }
        Ok(rows == 1)
    }

    fn write_payload(&mut self, id: i64, payload: &[u8]) -> rusqlite::Result<()> {
        let blob = match &mut self.blob {
            Some(blob) => {
                blob.reopen(id)?;
                blob
            }
            none => none.insert(self.conn.blob_open(MAIN_DB, "message", "payload", id, false)?),
        };
        blob.write_at(payload, 0)
    }

    fn finish(self) -> rusqlite::Result<()> {
        self.blob.map_or(Ok(()), Blob::close)
    }
}
