//! Dropping the oldest partitions whole.

use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Error};

use super::partition::Partition;
use super::schema::{self, LOCK};
use crate::{Dropped, Retention};

/// The newest partitions, which are not dropped for their size: the one that is being filled, and the one made ahead.
const NEWEST: usize = 2;

/// Waiting for a table keeps everybody else from it, so the wait is short; the step comes again.
pub(super) const BEGIN: &str = "BEGIN; SET LOCAL lock_timeout = '500ms'; ";

/// Inserts lock the parents in this order too.
const LOCK_PARENTS: &str =
    "LOCK TABLE ONLY levada_key IN ACCESS EXCLUSIVE MODE; LOCK TABLE ONLY levada_message IN ACCESS EXCLUSIVE MODE; ";

/// Drops the oldest partition if `retention` lets it go.
pub(super) async fn step(client: &Client, retention: &Retention, width_ns: i64) -> Result<Dropped, Error> {
    let partitions = schema::partitions(client).await?;
    let old: Vec<Old> = partitions.iter().map(|partition| old(*partition, width_ns)).collect();
    let gone = gone(client, retention, &old).await?;
    let Some(oldest) = partitions.first().filter(|_| gone > 0) else { return Ok(Dropped::default()) };
    match drop_partition(client, *oldest).await {
        Ok(dropped) => Ok(Dropped { unfinished: gone > 1, ..dropped }),
        Err(error) if error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE) => {
            client.batch_execute("ROLLBACK").await?;
            Ok(Dropped::default())
        }
        Err(error) => Err(error),
    }
}

/// A partition that may have to go.
pub(super) struct Old {
    pub(super) last_ns: i64,
    /// The statement that answers with its bytes, and the one with its messages.
    pub(super) bytes: String,
    pub(super) count: String,
}

fn old(partition: Partition, width_ns: i64) -> Old {
    let (last_ns, start) = (partition.last_ns(width_ns), literal(partition.start_ns));
    let count = format!("SELECT count(*) FROM levada_key WHERE timestamp BETWEEN {start} AND {last_ns}");
    Old { last_ns, bytes: bytes_of(partition), count }
}

/// How many of the oldest of `partitions`, which are in order, go. Looks from the newest on, and not beyond the first that goes.
pub(super) async fn gone(client: &Client, retention: &Retention, partitions: &[Old]) -> Result<usize, Error> {
    let (mut messages, mut bytes) = (0, 0);
    for (newer, partition) in partitions.iter().rev().enumerate() {
        let mut goes = retention.timestamp_min_ns.is_some_and(|min| partition.last_ns < min)
            || retention.messages_max.is_some_and(|max| messages >= max);
        if !goes && let Some(bytes_max) = retention.bytes_max {
            bytes += number(client, &partition.bytes).await?;
            goes = bytes > bytes_max && newer >= NEWEST;
        }
        if goes {
            return Ok(partitions.len() - newer);
        }
        if retention.messages_max.is_some() {
            messages += number(client, &partition.count).await?;
        }
    }
    Ok(0)
}

/// What a statement answers that has one number for an answer.
pub(super) async fn number(client: &Client, statement: &str) -> Result<u64, Error> {
    Ok(client.query_typed_one(statement, &[]).await?.get::<_, i64>(0).unsigned_abs())
}

/// The least number has no literal of its own: its sign would be applied to a number that is too large.
fn literal(number: i64) -> String {
    format!("'{number}'::bigint")
}

fn bytes_of(partition: Partition) -> String {
    let name = partition.name();
    let size = |table: &str| format!("coalesce(pg_total_relation_size(to_regclass('{table}_{name}')), 0)");
    format!("SELECT {} + {}", size("levada_message"), size("levada_key"))
}

/// Drops a partition, unless another node did.
async fn drop_partition(client: &Client, partition: Partition) -> Result<Dropped, Error> {
    client.batch_execute(&format!("{BEGIN}{LOCK}")).await?;
    if !schema::partitions(client).await?.contains(&partition) {
        client.batch_execute("COMMIT").await?;
        return Ok(Dropped::default());
    }
    client.batch_execute(LOCK_PARENTS).await?;
    let bytes = number(client, &bytes_of(partition)).await?;
    let messages = number(client, &format!("SELECT count(*) FROM levada_key_{}", partition.name())).await?;
    client.batch_execute(&format!("{} COMMIT", partition.drop())).await?;
    Ok(Dropped { segments: 1, messages, bytes, unfinished: false })
}
