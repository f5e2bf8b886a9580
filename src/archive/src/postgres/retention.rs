//! Dropping the oldest partitions whole.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Error};

use super::driver::Failure;
use super::partition::Partition;
use super::schema::{self, LOCK};
use super::writer::Writer;
use crate::{Dropped, Retention};

/// The newest partitions, which are not dropped for their size: the one that is being filled, and the one made ahead.
const NEWEST: usize = 2;
const PATIENCE: Duration = Duration::from_secs(60);

/// Waiting for a table keeps everybody else from it, so the wait is short; the step comes again.
const BEGIN: &str = "BEGIN; SET LOCAL lock_timeout = '500ms'; ";

/// Inserts lock the parents in this order too.
const LOCK_PARENTS: &str =
    "LOCK TABLE ONLY levada_key IN ACCESS EXCLUSIVE MODE; LOCK TABLE ONLY levada_message IN ACCESS EXCLUSIVE MODE; ";

/// Drops the oldest partition if `retention` lets it go.
pub(super) fn step(writer: &mut Writer, retention: &Retention) -> Result<Dropped, Failure> {
    let (retention, width_ns) = (*retention, writer.width_ns());
    writer.session.run(PATIENCE, |client| async move {
        let partitions = schema::partitions(&client).await?;
        let gone = gone(&client, &retention, width_ns, &partitions).await?;
        let Some(oldest) = partitions.first().filter(|_| gone > 0) else { return Ok(Dropped::default()) };
        match drop_partition(&client, *oldest).await {
            Ok(dropped) => Ok(Dropped { unfinished: gone > 1, ..dropped }),
            Err(error) if error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE) => {
                client.batch_execute("ROLLBACK").await?;
                Ok(Dropped::default())
            }
            Err(error) => Err(error),
        }
    })
}

/// How many of the oldest partitions go. Looks from the newest on, and not beyond the first that goes.
async fn gone(
    client: &Client,
    retention: &Retention,
    width_ns: i64,
    partitions: &BTreeSet<Partition>,
) -> Result<usize, Error> {
    let (mut messages, mut bytes) = (0, 0);
    for (newer, partition) in partitions.iter().rev().enumerate() {
        let last_ns = partition.last_ns(width_ns);
        let mut goes = retention.timestamp_min_ns.is_some_and(|min| last_ns < min)
            || retention.messages_max.is_some_and(|max| messages >= max);
        if !goes && let Some(bytes_max) = retention.bytes_max {
            bytes += bytes_of(client, *partition).await?;
            goes = bytes > bytes_max && newer >= NEWEST;
        }
        if goes {
            return Ok(partitions.len() - newer);
        }
        if retention.messages_max.is_some() {
            let count = format!(
                "SELECT count(*) FROM levada_key WHERE timestamp BETWEEN {} AND {last_ns}",
                literal(partition.start_ns)
            );
            messages += client.query_typed_one(&count, &[]).await?.get::<_, i64>(0).unsigned_abs();
        }
    }
    Ok(0)
}

/// The least number has no literal of its own: its sign would be applied to a number that is too large.
fn literal(number: i64) -> String {
    format!("'{number}'::bigint")
}

async fn bytes_of(client: &Client, partition: Partition) -> Result<u64, Error> {
    let name = partition.name();
    let size = |table: &str| format!("coalesce(pg_total_relation_size(to_regclass('{table}_{name}')), 0)");
    let statement = format!("SELECT {} + {}", size("levada_message"), size("levada_key"));
    Ok(client.query_typed_one(&statement, &[]).await?.get::<_, i64>(0).unsigned_abs())
}

/// Drops a partition, unless another node did.
async fn drop_partition(client: &Client, partition: Partition) -> Result<Dropped, Error> {
    client.batch_execute(&format!("{BEGIN}{LOCK}")).await?;
    if !schema::partitions(client).await?.contains(&partition) {
        client.batch_execute("COMMIT").await?;
        return Ok(Dropped::default());
    }
    client.batch_execute(LOCK_PARENTS).await?;
    let bytes = bytes_of(client, partition).await?;
    let count = format!("SELECT count(*) FROM levada_key_{}", partition.name());
    let messages = client.query_typed_one(&count, &[]).await?.get::<_, i64>(0).unsigned_abs();
    client.batch_execute(&format!("{} COMMIT", partition.drop())).await?;
    Ok(Dropped { segments: 1, messages, bytes, unfinished: false })
}
