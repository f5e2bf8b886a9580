//! Storing a batch in nwaku's tables.
//!
//! nwaku's nodes write each row in a transaction of its own, first to `messages`, then to `messages_lookup`. So whether a message is new
//! is decided where `messages` refuses a second row, and what is known beforehand is only not sent. Rows go in the order of their
//! hashes, into both tables, so that two nodes never wait for each other in a circle.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;

use tokio_postgres::types::Type;
use tokio_postgres::{Client, Statement};

use super::partition::{self, Partition};
use super::{retention, schema};
use crate::counters::InsertTally;
use crate::postgres::batch::{Batch, begin_with, hashes_in, hashes_of, timestamps_of};
use crate::postgres::driver::Failure;
use crate::postgres::layout::Writer;
use crate::postgres::partition::HOUR_NS;
use crate::postgres::schema::PARTITIONS_MAX;
use crate::postgres::session::Session;
use crate::postgres::task::Task;
use crate::postgres::writer::MAKE_PATIENCE;
use crate::{ArchiveMessage, Dropped, Hash, PAYLOAD_BYTES_MAX, Retention};

/// Those of some messages that are there, by their hashes, between two times. A hash covers the time, so that one is not found elsewhere.
const KNOWN: &str = "SELECT hash FROM unnest($1::bytea[]) AS hash WHERE EXISTS (SELECT FROM messages m \
     WHERE m.messagehash = encode(hash, 'hex') AND m.timestamp >= $2 AND m.timestamp < $3)";

const LOOKUP: &str = "INSERT INTO messages_lookup (messagehash, timestamp) SELECT encode(hash, 'hex'), timestamp \
     FROM unnest($1::int8[], $2::bytea[]) AS m(timestamp, hash) ON CONFLICT DO NOTHING";

const INSERT_TYPES: [Type; 7] = [
    Type::INT8_ARRAY,
    Type::BYTEA_ARRAY,
    Type::TEXT_ARRAY,
    Type::TEXT_ARRAY,
    Type::INT4_ARRAY,
    Type::BYTEA_ARRAY,
    Type::BYTEA_ARRAY,
];

/// Payload bytes of one statement, unless a message has more by itself.
const STATEMENT_BYTES: usize = 16 << 20;
/// Copies of a payload on its way: into the columns, into the statement, and by the client into what it sends.
const COPIES: u64 = 3;

/// A connection that writes to nwaku's tables.
pub(in crate::postgres) struct NwakuWriter {
    session: Session,
    known: Statement,
    insert: Statement,
    lookup: Statement,
    /// The partitions known to be there. Another node's retention may have dropped some.
    partitions: Vec<Partition>,
}

impl NwakuWriter {
    /// Makes the tables in an empty database.
    pub(in crate::postgres) fn new(session: Session) -> Result<Self, Failure> {
        let found = session
            .run(Task::Prepare, MAKE_PATIENCE, |client| async move { schema::prepare(&client).await })?
            .check()?;
        let insert = insert_statement(found.has_id);
        let (known, insert, lookup, partitions) = session.run(Task::Prepare, MAKE_PATIENCE, |client| async move {
            let known = client.prepare_typed(KNOWN, &[Type::BYTEA_ARRAY, Type::INT8, Type::INT8]).await?;
            let insert = client.prepare_typed(&insert, &INSERT_TYPES).await?;
            let lookup = client.prepare_typed(LOOKUP, &[Type::INT8_ARRAY, Type::BYTEA_ARRAY]).await?;
            Ok((known, insert, lookup, partition::list(&client, "messages").await?))
        })?;
        Ok(Self { session, known, insert, lookup, partitions })
    }

    /// Begins a transaction and returns the hashes of those that are there.
    fn known(&self, messages: &[&ArchiveMessage<'_>], patience: Duration) -> Result<HashSet<Hash>, Failure> {
        let hashes = hashes_of(messages);
        let ends = |timestamp| {
            let covering = partition::covering(&self.partitions, timestamp);
            covering.map_or((timestamp, timestamp + 1), |partition| (partition.from_ns, partition.to_ns))
        };
        let (from_ns, to_ns) = messages
            .iter()
            .map(|message| ends(message.timestamp))
            .fold((i64::MAX, i64::MIN), |all, next| (all.0.min(next.0), all.1.max(next.1)));
        let known = self.known.clone();
        let rows = self.session.run(Task::Keys, patience, |client| async move {
            begin_with(&client, &known, &[&hashes, &from_ns, &to_ns]).await
        })?;
        Ok(hashes_in(&rows))
    }

    /// Inserts messages and returns the hashes of those that nobody inserted before.
    fn insert(&self, messages: &[&ArchiveMessage<'_>], patience: Duration) -> Result<HashSet<Hash>, Failure> {
        let text = |topic: fn(&ArchiveMessage<'_>) -> String| messages.iter().map(|message| topic(message)).collect();
        let pubsub_topics: Vec<String> = text(|message| message.pubsub_topic.to_owned());
        let content_topics: Vec<String> = text(|message| message.content_topic.to_owned());
        // `takes` has seen to it that they fit.
        let versions: Vec<i32> =
            messages.iter().map(|message| i32::try_from(message.version).unwrap_or(i32::MAX)).collect();
        let metas: Vec<Vec<u8>> = messages.iter().map(|message| message.meta.to_vec()).collect();
        let payloads: Vec<Vec<u8>> = messages.iter().map(|message| message.payload.to_vec()).collect();
        let (timestamps, hashes, insert) = (timestamps_of(messages), hashes_of(messages), self.insert.clone());
        let rows = self.session.run(Task::Insert, patience, |client: Arc<Client>| async move {
            client
                .query(&insert, &[&timestamps, &hashes, &pubsub_topics, &content_topics, &versions, &metas, &payloads])
                .await
        })?;
        Ok(hashes_in(&rows))
    }

    /// Enters the messages into the table where hashes are looked up, and commits.
    fn finish(&self, messages: &[&ArchiveMessage<'_>], patience: Duration) -> Result<(), Failure> {
        let (timestamps, hashes, lookup) = (timestamps_of(messages), hashes_of(messages), self.lookup.clone());
        self.session.run(Task::Insert, patience, |client| async move {
            if !hashes.is_empty() {
                client.execute(&lookup, &[&timestamps, &hashes]).await?;
            }
            client.batch_execute("COMMIT").await
        })
    }
}

impl Writer for NwakuWriter {
    fn session(&self) -> &Session {
        &self.session
    }

    fn make_partitions(&mut self, messages: &[ArchiveMessage<'_>]) -> Result<(), Failure> {
        let times = messages.iter().filter(|message| fits(message)).map(|message| message.timestamp);
        // One time of each hour and partition is enough.
        let mut wanted = BTreeSet::new();
        let mut hours = HashSet::new();
        let mut last = None;
        for timestamp in times {
            last = last.max(Some(timestamp));
            if partition::covering(&self.partitions, timestamp).is_none()
                && hours.insert(partition::gap(&self.partitions, timestamp))
            {
                wanted.insert(timestamp);
            }
        }
        let ahead =
            last.map(|last| (last.div_euclid(HOUR_NS) + 1) * HOUR_NS).filter(|ahead| *ahead <= TIMESTAMP_MAX_NS);
        wanted.extend(ahead.filter(|ahead| partition::covering(&self.partitions, *ahead).is_none()));
        if wanted.is_empty() || self.partitions.len() >= PARTITIONS_MAX {
            return Ok(());
        }
        self.partitions = self
            .session
            .run(Task::Partitions, MAKE_PATIENCE, |client| async move { schema::make(&client, wanted).await })?;
        Ok(())
    }

    fn forget_partitions(&mut self) {
        self.partitions.clear();
    }

    fn store_once(
        &mut self,
        messages: &[ArchiveMessage<'_>],
        patience: Duration,
        tally: &mut InsertTally,
    ) -> Result<(), Failure> {
        let Batch { messages: mut taken, offered, dropped } = Batch::of(messages, |message| self.takes(message));
        let known = if taken.is_empty() { HashSet::new() } else { self.known(&taken, patience)? };
        taken.retain(|message| !known.contains(&message.hash));
        let (mut count, mut bytes) = (0, 0);
        for statement in statements(&taken) {
            let new = self.insert(statement, patience)?;
            count += new.len() as u64;
            let lengths = statement.iter().filter(|message| new.contains(&message.hash));
            bytes += lengths.map(|message| message.payload.len() as u64).sum::<u64>();
        }
        self.finish(&taken, patience)?;
        tally.outcome.stored += count;
        tally.outcome.duplicates += offered - count;
        tally.outcome.dropped += dropped;
        tally.stored_bytes += bytes;
        tally.copies += COPIES * taken.len() as u64;
        tally.copied_bytes += COPIES * taken.iter().map(|message| message.payload.len() as u64).sum::<u64>();
        Ok(())
    }

    fn takes(&self, message: &ArchiveMessage<'_>) -> bool {
        fits(message)
            && (self.partitions.len() < PARTITIONS_MAX
                || partition::covering(&self.partitions, message.timestamp).is_some())
    }

    fn retain(&mut self, retention: &Retention) -> Result<Dropped, Failure> {
        let retention = *retention;
        self.session.run(
            Task::Retention,
            MAKE_PATIENCE,
            |client| async move { retention::step(&client, &retention).await },
        )
    }
}

/// The last moment whose partition can be written down.
const TIMESTAMP_MAX_NS: i64 = i64::MAX - 2 * HOUR_NS;

/// Whether nwaku's columns and the names of its partitions can hold a message.
fn fits(message: &ArchiveMessage<'_>) -> bool {
    let is_text = |topic: &str| !topic.contains('\0');
    message.payload.len() <= PAYLOAD_BYTES_MAX
        && (0..=TIMESTAMP_MAX_NS).contains(&message.timestamp)
        && i32::try_from(message.version).is_ok()
        && is_text(message.pubsub_topic)
        && is_text(message.content_topic)
}

fn insert_statement(has_id: bool) -> String {
    let (id, zero) = if has_id { ("id, ", "'0', ") } else { ("", "") };
    format!(
        "INSERT INTO messages ({id}messagehash, pubsubtopic, contenttopic, payload, version, timestamp, meta) \
         SELECT {zero}encode(hash, 'hex'), pubsub_topic, content_topic, encode(payload, 'hex'), version, timestamp, \
         nullif(encode(meta, 'hex'), '') \
         FROM unnest($1::int8[], $2::bytea[], $3::text[], $4::text[], $5::int4[], $6::bytea[], $7::bytea[]) \
         AS m(timestamp, hash, pubsub_topic, content_topic, version, meta, payload) \
         ON CONFLICT DO NOTHING RETURNING decode(messagehash, 'hex')"
    )
}

/// Messages in pieces of some bytes, each at least one message.
fn statements<'a, 'b>(mut left: &'a [&'b ArchiveMessage<'b>]) -> impl Iterator<Item = &'a [&'b ArchiveMessage<'b>]> {
    std::iter::from_fn(move || {
        let mut bytes = 0;
        let within = left.iter().position(|message| {
            bytes += message.payload.len();
            bytes > STATEMENT_BYTES
        });
        let (piece, rest) = left.split_at(within.unwrap_or(left.len()).max(1).min(left.len()));
        left = rest;
        (!piece.is_empty()).then_some(piece)
    })
}
