//! The rival: SQLite with the payloads inside, as a node without a log of its own would use it.

use std::path::Path;

use levada_archive::ArchiveMessage;
use rusqlite::{CachedStatement, Connection, params};

const TABLE: &str = "
    CREATE TABLE message (
        id INTEGER PRIMARY KEY, hash BLOB NOT NULL, timestamp INTEGER NOT NULL, pubsub_topic TEXT NOT NULL,
        content_topic TEXT NOT NULL, version INTEGER NOT NULL, meta BLOB, payload BLOB NOT NULL
    );
    CREATE UNIQUE INDEX by_hash ON message (hash);
    CREATE INDEX by_time ON message (timestamp, hash);
    CREATE INDEX by_pubsub_topic ON message (pubsub_topic, timestamp, hash);
    CREATE INDEX by_content_topic ON message (content_topic, pubsub_topic, timestamp, hash);
";
const INSERT: &str = "INSERT OR IGNORE INTO message (hash, timestamp, pubsub_topic, content_topic, version, meta, payload) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";

/// A database with what our index looks messages up by.
pub struct Inline(Connection);

impl Inline {
    /// A new one: write-ahead log, each transaction synced.
    pub fn open(path: &Path) -> Self {
        let conn = Connection::open(path).expect("a database on this disk");
        // So that what retention empties goes back to the disk, as it does with segments.
        conn.pragma_update(None, "auto_vacuum", "INCREMENTAL").expect("a setting");
        conn.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(())).expect("a write-ahead log");
        conn.pragma_update(None, "synchronous", "FULL").expect("a setting");
        conn.pragma_update(None, "cache_size", -8_192).expect("a setting");
        conn.execute_batch(TABLE).expect("an empty database");
        Self(conn)
    }

    /// Stores a batch in one transaction, and drops as many of the oldest as are more than `kept`, with the pages they leave.
    pub fn insert<'a>(&self, batch: impl Iterator<Item = ArchiveMessage<'a>>, kept: u64) {
        let transaction = self.0.unchecked_transaction().expect("a transaction");
        let mut statement = self.0.prepare_cached(INSERT).expect("a statement");
        batch.for_each(|message| insert(&mut statement, &message));
        drop(statement);
        let newest = self.0.last_insert_rowid();
        let drop = "DELETE FROM message WHERE id <= ?1";
        let dropped = i64::try_from(kept).map_or(0, |kept| newest - kept);
        if dropped > 0 {
            self.0.prepare_cached(drop).and_then(|mut drop| drop.execute([dropped])).expect("the oldest go");
        }
        transaction.commit().expect("the disk takes it");
        if dropped > 0 {
            self.shrink();
        }
    }

    fn shrink(&self) {
        let mut statement = self.0.prepare_cached("PRAGMA incremental_vacuum").expect("a statement");
        let mut rows = statement.query([]).expect("free pages go");
        // A page goes with each step.
        while rows.next().expect("the disk takes it").is_some() {}
    }

    /// Brings everything into the database.
    pub fn close(self) {
        self.0.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).expect("a checkpoint");
    }
}

fn insert(statement: &mut CachedStatement<'_>, message: &ArchiveMessage<'_>) {
    let values = params![
        message.hash,
        message.timestamp,
        message.pubsub_topic,
        message.content_topic,
        message.version,
        None::<Vec<u8>>,
        message.payload
    ];
    statement.execute(values).expect("a row");
}
