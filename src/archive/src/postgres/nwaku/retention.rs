//! Dropping the oldest of nwaku's partitions whole, with what is looked up in them.

use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Error};

use super::partition::{self, Partition};
use super::schema::{self, LOCK};
use crate::postgres::retention::{BEGIN, Old, gone, number};
use crate::{Dropped, Retention};

/// Inserts lock them in this order too.
const LOCK_PARENTS: &str =
    "LOCK TABLE ONLY messages IN ACCESS EXCLUSIVE MODE; LOCK TABLE ONLY messages_lookup IN ACCESS EXCLUSIVE MODE; ";

/// Drops the oldest partition if `retention` lets it go.
pub(super) async fn step(client: &Client, retention: &Retention) -> Result<Dropped, Error> {
    let partitions = partition::list(client, "messages").await?;
    let old: Vec<Old> = partitions.iter().map(old).collect();
    let gone = gone(client, retention, &old).await?;
    let Some(oldest) = partitions.first().filter(|_| gone > 0) else { return Ok(Dropped::default()) };
    match drop_partition(client, oldest).await {
        Ok(dropped) => Ok(Dropped { unfinished: gone > 1, ..dropped }),
        Err(error) if error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE) => {
            client.batch_execute("ROLLBACK").await?;
            Ok(Dropped::default())
        }
        Err(error) => Err(error),
    }
}

fn old(partition: &Partition) -> Old {
    let name = &partition.name;
    Old {
        last_ns: partition.to_ns - 1,
        bytes: format!("SELECT coalesce(pg_total_relation_size(to_regclass('{name}')), 0)"),
        count: format!(
            "SELECT count(*) FROM messages WHERE timestamp >= {} AND timestamp < {}",
            partition.from_ns, partition.to_ns
        ),
    }
}

/// Drops a partition, unless another node did.
async fn drop_partition(client: &Client, partition: &Partition) -> Result<Dropped, Error> {
    client.batch_execute(&format!("{BEGIN}{LOCK}")).await?;
    if !partition::list(client, "messages").await?.contains(partition) {
        client.batch_execute("COMMIT").await?;
        return Ok(Dropped::default());
    }
    client.batch_execute(LOCK_PARENTS).await?;
    let old = old(partition);
    let (bytes, messages) = (number(client, &old.bytes).await?, number(client, &old.count).await?);
    let Partition { from_ns, to_ns, name } = partition;
    let lookup = match schema::lookup_partitions(client).await? {
        Some(lookup) => {
            let within = lookup.iter().filter(|other| other.from_ns >= *from_ns && other.to_ns <= *to_ns);
            within.map(|other| format!("DROP TABLE {}; ", other.name)).collect()
        }
        None => format!("DELETE FROM messages_lookup WHERE timestamp >= {from_ns} AND timestamp < {to_ns}; "),
    };
    client.batch_execute(&format!("DROP TABLE {name}; {lookup} COMMIT")).await?;
    Ok(Dropped { segments: 1, messages, bytes, unfinished: false })
}
