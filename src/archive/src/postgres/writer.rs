//! Storing a batch: the keys first, then by `COPY` what turned out to be new.
//!
//! `COPY` ends at the first duplicate, and several nodes bring the same messages at nearly the same time. So a transaction begins by
//! inserting the keys of its batch, in the order of their hashes, so that two nodes never wait for each other in a circle. A key that
//! another transaction is inserting is waited for, one that is there is passed over; what comes back is new, and only
//! its payloads are encoded and sent.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::{SinkExt, StreamExt, stream};
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Error, Statement};

use super::batch::{Batch, begin_with, hashes_in, hashes_of, timestamps_of};
use super::copy::{COPY, CopyRows};
use super::driver::Failure;
use super::layout::Writer;
use super::partition::Partition;
use super::retention;
use super::schema::{self, PARTITIONS_MAX, Prepared};
use super::session::Session;
use super::task::Task;
use crate::counters::InsertTally;
use crate::{ArchiveMessage, Dropped, Hash, PAYLOAD_BYTES_MAX, Retention};

const CLAIM: &str = "INSERT INTO levada_key (timestamp, hash) SELECT * FROM unnest($1::int8[], $2::bytea[]) \
     ON CONFLICT DO NOTHING RETURNING hash";

/// Copies of a payload on its way: into the rows, and by the client into what it sends.
const COPIES: u64 = 2;

/// Time that making and dropping tables may take: other nodes may be making theirs.
pub(super) const MAKE_PATIENCE: Duration = Duration::from_secs(30);

/// A connection that writes to our own tables.
pub(super) struct LevadaWriter {
    session: Session,
    claim: Statement,
    copy: Statement,
    width_ns: i64,
    /// The partitions known to be there. Another node's retention may have dropped some.
    partitions: BTreeSet<Partition>,
}

impl LevadaWriter {
    /// Makes the tables where they are missing.
    pub(super) fn new(session: Session, width_ns: i64) -> Result<Self, Failure> {
        let prepare = |client: Arc<Client>| async move { schema::prepare(&client, width_ns).await };
        let width_ns = match session.run(Task::Prepare, MAKE_PATIENCE, prepare)? {
            Prepared::Levada { version, .. } if version > schema::SCHEMA_VERSION => {
                return Err(Failure::Newer(version));
            }
            Prepared::Levada { width_ns, .. } => width_ns,
            Prepared::Nwaku { version } => return Err(Failure::Nwaku(version)),
        };
        let (claim, copy, partitions) = session.run(Task::Prepare, MAKE_PATIENCE, |client| async move {
            let partitions = schema::partitions(&client).await?;
            let claim = client.prepare_typed(CLAIM, &[Type::INT8_ARRAY, Type::BYTEA_ARRAY]).await?;
            Ok((claim, client.prepare(COPY).await?, partitions))
        })?;
        Ok(Self { session, claim, copy, width_ns, partitions })
    }

    /// Begins a transaction and inserts the keys of `messages`; returns the hashes of those that were not there.
    fn claim(&self, messages: &[&ArchiveMessage<'_>], patience: Duration) -> Result<HashSet<Hash>, Failure> {
        let (timestamps, hashes, claim) = (timestamps_of(messages), hashes_of(messages), self.claim.clone());
        let rows = self.session.run(Task::Keys, patience, |client| async move {
            begin_with(&client, &claim, &[&timestamps, &hashes]).await
        })?;
        Ok(hashes_in(&rows))
    }

    /// Sends the rows, unless there are none, and commits.
    fn copy(&self, rows: Vec<Bytes>, patience: Duration) -> Result<(), Failure> {
        let copy = self.copy.clone();
        self.session.run(Task::Insert, patience, |client| async move {
            if !rows.is_empty() {
                let mut sink = Box::pin(client.copy_in::<_, Bytes>(&copy).await?);
                sink.send_all(&mut stream::iter(rows).map(Ok::<_, Error>)).await?;
                sink.as_mut().finish().await?;
            }
            client.batch_execute("COMMIT").await
        })
    }
}

impl Writer for LevadaWriter {
    fn session(&self) -> &Session {
        &self.session
    }

    fn make_partitions(&mut self, messages: &[ArchiveMessage<'_>]) -> Result<(), Failure> {
        let mut wanted: BTreeSet<Partition> =
            messages.iter().map(|message| Partition::of(message.timestamp, self.width_ns)).collect();
        let ahead = wanted.last().and_then(|last| last.next(self.width_ns));
        wanted.extend(ahead);
        if wanted.is_subset(&self.partitions) || self.partitions.len() >= PARTITIONS_MAX {
            return Ok(());
        }
        let width_ns = self.width_ns;
        self.partitions = self.session.run(Task::Partitions, MAKE_PATIENCE, |client| async move {
            schema::make(&client, wanted, width_ns).await
        })?;
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
        let Batch { messages: taken, offered, dropped } = Batch::of(messages, |message| self.takes(message));
        let new = if taken.is_empty() { HashSet::new() } else { self.claim(&taken, patience)? };
        let mut rows = CopyRows::new();
        let (mut bytes, mut count) = (0, 0);
        for message in taken.iter().filter(|message| new.contains(&message.hash)) {
            rows.push(message);
            bytes += message.payload.len() as u64;
            count += 1;
        }
        let rows = if count == 0 { Vec::new() } else { rows.finish() };
        self.copy(rows, patience)?;
        tally.outcome.stored += count;
        tally.outcome.duplicates += offered - count;
        tally.outcome.dropped += dropped;
        tally.stored_bytes += bytes;
        tally.copies += COPIES * count;
        tally.copied_bytes += COPIES * bytes;
        Ok(())
    }

    fn takes(&self, message: &ArchiveMessage<'_>) -> bool {
        message.payload.len() <= PAYLOAD_BYTES_MAX
            && (self.partitions.len() < PARTITIONS_MAX
                || self.partitions.contains(&Partition::of(message.timestamp, self.width_ns)))
    }

    fn retain(&mut self, retention: &Retention) -> Result<Dropped, Failure> {
        let (retention, width_ns) = (*retention, self.width_ns);
        let step = |client: Arc<Client>| async move { retention::step(&client, &retention, width_ns).await };
        self.session.run(Task::Retention, MAKE_PATIENCE, step)
    }
}
