//! `archive` beside `rusqlite` used directly, and a map of copies; every batch goes into an emptied archive.

use std::collections::BTreeMap;
use std::sync::Arc;

use criterion::Criterion;
use levada_archive::{Archive, ArchiveError, ArchiveMessage, ArchiveReader, DatabaseUrl, InsertOutcome};
use levada_benches::workload::{CONTENT_TOPIC, PUBSUB_TOPIC, payload_sizes};
use levada_stages::archive::{ArchiveCounters, ArchiveStage};
use levada_stages::backlog::Backlog;
use rusqlite::Connection;

use crate::comparison::Comparison;
use crate::repeat::repeat;
use crate::through::{Plain, Slots, Through, as_it_is, ticket};

/// Messages of the reference mix in a batch: 4 MB.
const MESSAGES: usize = 64;

/// An archive that is emptied before each batch, so that it neither grows nor knows a message.
struct Emptied(Box<dyn Archive>);

impl Archive for Emptied {
    fn insert_batch<'a>(
        &mut self,
        batch: &mut dyn Iterator<Item = ArchiveMessage<'a>>,
    ) -> Result<InsertOutcome, ArchiveError> {
        self.0.clear()?;
        self.0.insert_batch(batch)
    }

    fn reader(&self) -> Result<Box<dyn ArchiveReader>, ArchiveError> {
        self.0.reader()
    }

    fn clear(&mut self) -> Result<(), ArchiveError> {
        self.0.clear()
    }

    fn message_count(&self) -> Result<u64, ArchiveError> {
        self.0.message_count()
    }

    fn location(&self) -> String {
        self.0.location()
    }

    fn close(self: Box<Self>) -> Result<(), ArchiveError> {
        self.0.close()
    }
}

fn stage(url: &DatabaseUrl) -> Through {
    let slots = Slots::new(&payload_sizes(42, MESSAGES));
    let archive = Emptied(levada_archive::open(url).expect("an archive in memory opens"));
    let account = Arc::new(Backlog::new(u64::MAX, u64::MAX));
    let counters = Arc::new(ArchiveCounters::default());
    let stage = ArchiveStage::new(Box::new(archive), slots.topics.clone(), account, counters);
    Through::new(slots, stage)
}

/// The table one would begin with: keyed by hash, with an index by time.
const TABLE: &str = "CREATE TABLE message (hash BLOB PRIMARY KEY, timestamp INTEGER, pubsub_topic TEXT, content_topic TEXT, \
                     payload BLOB) WITHOUT ROWID; CREATE INDEX by_time ON message (timestamp, hash);";

fn insert_directly(connection: &mut Connection, messages: &[Plain]) -> rusqlite::Result<u64> {
    let transaction = connection.transaction()?;
    transaction.execute("DELETE FROM message", [])?;
    let mut work = 0;
    {
        let mut insert = transaction.prepare_cached("INSERT INTO message VALUES (?1, ?2, ?3, ?4, ?5)")?;
        for Plain { data, record } in messages {
            let payload = record.payload.of(data);
            insert.execute((&record.hash, record.timestamp, PUBSUB_TOPIC, CONTENT_TOPIC, payload))?;
            work += record.ticket;
        }
    }
    transaction.commit()?;
    Ok(work)
}

pub fn archive(criterion: &mut Criterion) {
    let plain = Slots::new(&payload_sizes(42, MESSAGES)).plain();
    let mut connection = Connection::open_in_memory().expect("SQLite opens in memory");
    connection.execute_batch(TABLE).expect("the table is sound");
    let mut map = BTreeMap::new();
    let mut comparison = Comparison::new(criterion, "stage_archive", MESSAGES as u64);
    let mut sqlite = stage(&DatabaseUrl::SqliteMemory);
    comparison.bench("stage_sqlite", move |iterations| repeat(iterations, || sqlite.pass(as_it_is, ticket)));
    let mut memory = stage(&DatabaseUrl::Memory);
    comparison.bench("stage_memory", move |iterations| repeat(iterations, || memory.pass(as_it_is, ticket)));
    comparison.bench("rusqlite_directly", |iterations| {
        repeat(iterations, || insert_directly(&mut connection, &plain).expect("SQLite inserts in memory"))
    });
    comparison.bench("map_of_copies", |iterations| {
        repeat(iterations, || {
            map.clear();
            for Plain { data, record } in &plain {
                map.insert((record.timestamp, record.hash), record.payload.of(data).to_vec());
            }
            plain.iter().map(|message| message.record.ticket).sum()
        })
    });
    comparison.finish();
}
