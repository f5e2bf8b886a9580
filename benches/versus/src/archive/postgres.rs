//! Storing messages in PostgreSQL in batches of 256, beside inserts from arrays (`UNNEST`) into a table with the same indexes. Both go to
//! one server, started for this, over loopback; each sample has a database of its own.

use std::time::Instant;

use levada_archive::{ArchiveMessage, PostgresArchive};
use postgres::{Client, NoTls, Statement};

use super::Effort;
use super::ingest::MIX;
use super::server::{self, Server};
use super::workload::{BATCH, Payloads, folder, insert, message};
use crate::pair::Sample;
use crate::row::{Contest, Row};

/// Nanoseconds of a partition, enough for all messages of a sample.
const PARTITION_NS: i64 = 1 << 40;

const TABLE: &str = "
    CREATE TABLE rival (
        timestamp bigint NOT NULL, hash bytea NOT NULL, pubsub_topic bytea NOT NULL, content_topic bytea NOT NULL,
        version bigint NOT NULL, meta bytea NOT NULL, payload bytea NOT NULL, PRIMARY KEY (hash)
    );
    ALTER TABLE rival ALTER COLUMN payload SET STORAGE EXTERNAL;
    CREATE INDEX ON rival (timestamp, hash);
    CREATE INDEX ON rival (sha256(pubsub_topic), timestamp, hash);
    CREATE INDEX ON rival (sha256(content_topic), timestamp, hash);
";
const INSERT: &str = "INSERT INTO rival SELECT * FROM unnest($1::int8[], $2::bytea[], $3::bytea[], $4::bytea[], $5::int8[], \
     $6::bytea[], $7::bytea[]) ON CONFLICT DO NOTHING";

/// Microseconds per message, of the mix.
pub fn rate(measure: &'static str, effort: Effort) -> Row {
    let (payloads, messages) = (Payloads::new(MIX), (2_048 / effort.less).max(2 * BATCH));
    let server = Server::start();
    let contest = Contest::new(measure, "us/message", 1.2).tolerate_switches();
    let ours = || ours(&server, &payloads, messages);
    let rival = || rival(&server, &payloads, messages);
    contest.with("COPY", ours).with("UNNEST", rival).run(effort.rounds)
}

fn ours(server: &Server, payloads: &Payloads, messages: u64) -> Sample {
    let folder = folder();
    let options = server::options(&folder.path().join("backlog"), PARTITION_NS);
    let mut archive = PostgresArchive::open(&server.create_database(), &options).expect("a database");
    time_us(messages, |first| insert(&mut archive, payloads, first))
}

fn rival(server: &Server, payloads: &Payloads, messages: u64) -> Sample {
    let mut client = Client::connect(&server.create_database().to_string(), NoTls).expect("a database");
    client.batch_execute(TABLE).expect("an empty database");
    let statement = client.prepare(INSERT).expect("a statement");
    time_us(messages, |first| {
        let batch: Vec<ArchiveMessage<'_>> =
            (first..first + BATCH).map(|number| message(number, payloads.of(number))).collect();
        insert_arrays(&mut client, &statement, &batch);
    })
}

fn insert_arrays(client: &mut Client, statement: &Statement, batch: &[ArchiveMessage<'_>]) {
    let timestamps: Vec<i64> = batch.iter().map(|message| message.timestamp).collect();
    let versions: Vec<i64> = batch.iter().map(|message| i64::from(message.version)).collect();
    let hashes: Vec<&[u8]> = batch.iter().map(|message| message.hash.as_slice()).collect();
    let pubsub_topics: Vec<&[u8]> = batch.iter().map(|message| message.pubsub_topic.as_bytes()).collect();
    let content_topics: Vec<&[u8]> = batch.iter().map(|message| message.content_topic.as_bytes()).collect();
    let metas: Vec<&[u8]> = batch.iter().map(|message| message.meta).collect();
    let payloads: Vec<&[u8]> = batch.iter().map(|message| message.payload).collect();
    let rows = client
        .execute(statement, &[&timestamps, &hashes, &pubsub_topics, &content_topics, &versions, &metas, &payloads])
        .expect("the database takes it");
    assert_eq!(rows, batch.len() as u64, "every row is new");
}

/// Storing all messages, by batches that begin with the numbers handed to `store`.
fn time_us(messages: u64, store: impl FnMut(u64)) -> Sample {
    let started = Instant::now();
    (0..messages).step_by(BATCH as usize).for_each(store);
    Sample { value: started.elapsed().as_secs_f64() * 1e6 / messages as f64, switches: 0 }
}
