//! The tables, and the partitions made ahead of the messages that need them.
//!
//! `levada_message` holds the messages; `levada_key` says which are there, and is what two nodes that bring the same message meet at.
//! A message hash covers the timestamp, so a hash is unique where it is unique within its partition; the parents of both tables have no
//! unique index, their partitions do. Topics are bytes, because PostgreSQL's text cannot hold a NUL, and are looked up by their SHA-256,
//! because an index takes no long ones. Payloads are stored out of line and not compressed (`EXTERNAL`).

use std::collections::BTreeSet;

use tokio_postgres::{Client, Error};

use super::dialect::LEVADA;
use super::partition::Partition;

/// The version that this build writes.
pub(super) const SCHEMA_VERSION: i32 = 1;
/// Most partitions that a database gets: two years of hours. It bounds what messages with times from all over can do.
pub(super) const PARTITIONS_MAX: usize = 17_568;
/// The advisory lock under which tables are made and dropped: "LVDA".
pub(super) const LOCK: &str = "SELECT pg_advisory_xact_lock(1280722753); ";

const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS levada_archive (schema_version int NOT NULL, partition_ns bigint NOT NULL);
    CREATE TABLE IF NOT EXISTS levada_partition (start_ns bigint PRIMARY KEY);
    CREATE TABLE IF NOT EXISTS levada_key (timestamp bigint NOT NULL, hash bytea NOT NULL) PARTITION BY RANGE (timestamp);
    CREATE TABLE IF NOT EXISTS levada_message (
        timestamp bigint NOT NULL,
        hash bytea NOT NULL,
        pubsub_topic bytea NOT NULL,
        content_topic bytea NOT NULL,
        version bigint NOT NULL,
        meta bytea NOT NULL,
        payload bytea NOT NULL
    ) PARTITION BY RANGE (timestamp);
    ALTER TABLE levada_message ALTER COLUMN payload SET STORAGE EXTERNAL;
    CREATE INDEX IF NOT EXISTS levada_message_by_time ON levada_message (timestamp, hash);
    CREATE INDEX IF NOT EXISTS levada_message_by_pubsub_topic ON levada_message (sha256(pubsub_topic), timestamp, hash);
    CREATE INDEX IF NOT EXISTS levada_message_by_content_topic ON levada_message (sha256(content_topic), timestamp, hash);
";

/// What a database holds.
pub(super) enum Prepared {
    /// Our tables, with the version of their schema and the width of their partitions.
    Levada { version: i32, width_ns: i64 },
    /// nwaku's tables and none of ours.
    Nwaku { version: i32 },
}

/// Makes the tables where they are missing, unless nwaku's are there. The width of the partitions is `width_ns` only in a new database.
pub(super) async fn prepare(client: &Client, width_ns: i64) -> Result<Prepared, Error> {
    let columns = "SELECT schema_version, partition_ns FROM levada_archive";
    let look = "SELECT to_regclass('levada_archive') IS NOT NULL, \
         to_regclass('messages') IS NOT NULL AND to_regclass('version') IS NOT NULL";
    let there = client.query_typed_one(look, &[]).await?;
    if !there.get::<_, bool>(0) {
        if there.get(1) {
            let version = client.query_typed_one("SELECT coalesce(max(version), 0) FROM version", &[]).await?.get(0);
            return Ok(Prepared::Nwaku { version });
        }
        let fill = format!(
            "INSERT INTO levada_archive SELECT {SCHEMA_VERSION}, {width_ns} WHERE NOT EXISTS (SELECT FROM levada_archive);"
        );
        client.batch_execute(&format!("BEGIN; {LOCK} {TABLES} {fill} COMMIT")).await?;
    }
    let row = client.query_typed_one(columns, &[]).await?;
    Ok(Prepared::Levada { version: row.get(0), width_ns: row.get(1) })
}

/// The partitions that are there, in order.
pub(super) async fn partitions(client: &Client) -> Result<BTreeSet<Partition>, Error> {
    let rows = client.query_typed(LEVADA.starts, &[]).await?;
    Ok(rows.iter().map(|row| Partition { start_ns: row.get(0) }).collect())
}

/// Makes those of `wanted` that are missing, as far as [`PARTITIONS_MAX`] allows, and returns all that are there then. The lock makes one
/// of several nodes do it while the others wait.
pub(super) async fn make(
    client: &Client,
    wanted: BTreeSet<Partition>,
    width_ns: i64,
) -> Result<BTreeSet<Partition>, Error> {
    client.batch_execute(&format!("BEGIN; {LOCK}")).await?;
    let mut there = partitions(client).await?;
    for partition in wanted {
        if there.len() < PARTITIONS_MAX && !there.contains(&partition) {
            client.batch_execute(&partition.create(width_ns)).await?;
            there.insert(partition);
        }
    }
    client.batch_execute("COMMIT").await?;
    Ok(there)
}
