//! nwaku's tables, and their partitions made ahead of the messages that need them.

use std::collections::BTreeSet;

use tokio_postgres::{Client, Error};

use super::partition::{self, Partition};
use crate::postgres::driver::Failure;
use crate::postgres::schema::PARTITIONS_MAX;

/// The versions that are read and written.
const VERSIONS: std::ops::RangeInclusive<i32> = 7..=8;

/// The lock of nwaku's migrations, then the one under which it makes partitions.
const LOCK_ALL: &str = "SELECT pg_advisory_xact_lock(841886); SELECT pg_advisory_xact_lock(123456789); ";
/// nwaku's nodes hold it for one statement.
pub(super) const LOCK: &str = "SELECT pg_advisory_xact_lock(123456789); ";

/// Version 7, because nodes of the next version bring it there themselves, and those of this one could not use that.
const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS messages (
        id varchar NOT NULL,
        messagehash varchar NOT NULL,
        pubsubtopic varchar NOT NULL,
        contenttopic varchar NOT NULL,
        payload varchar,
        version integer NOT NULL,
        timestamp bigint NOT NULL,
        meta varchar,
        CONSTRAINT messageindex PRIMARY KEY (messagehash, timestamp)
    ) PARTITION BY RANGE (timestamp);
    CREATE TABLE IF NOT EXISTS messages_lookup (
        timestamp bigint NOT NULL,
        messagehash varchar NOT NULL,
        CONSTRAINT messageindexlookuptable PRIMARY KEY (messagehash, timestamp)
    );
    CREATE INDEX IF NOT EXISTS idx_messages_messagehash ON messages (messagehash);
    CREATE INDEX IF NOT EXISTS idx_messages_timestamp ON messages (timestamp);
    CREATE INDEX IF NOT EXISTS idx_query_pubsubtopic ON messages (pubsubtopic);
    CREATE INDEX IF NOT EXISTS idx_query_contenttopic ON messages (contenttopic);
    CREATE INDEX IF NOT EXISTS idx_messages_lookup_messagehash ON messages_lookup (messagehash);
    CREATE INDEX IF NOT EXISTS idx_messages_lookup_timestamp ON messages_lookup (timestamp);
    CREATE TABLE IF NOT EXISTS version (version integer NOT NULL);
    INSERT INTO version SELECT 7 WHERE NOT EXISTS (SELECT FROM version);
";

/// What there is in a database.
pub(super) struct Found {
    /// nwaku's version; nothing in a database that holds only our own tables.
    version: Option<i32>,
    /// Whether `messages` has the column `id`, which nwaku fills with the same for all.
    pub(super) has_id: bool,
}

impl Found {
    /// Refuses what cannot be used.
    pub(super) fn check(self) -> Result<Self, Failure> {
        match self.version {
            None => Err(Failure::Levada),
            Some(version) if version < *VERSIONS.start() => Err(Failure::OldNwaku(version)),
            Some(version) if version > *VERSIONS.end() => Err(Failure::NewerNwaku(version)),
            Some(_) => Ok(self),
        }
    }
}

/// Looks what there is, and makes the tables in an empty database.
pub(super) async fn prepare(client: &Client) -> Result<Found, Error> {
    let look = "SELECT to_regclass('levada_archive') IS NOT NULL, to_regclass('version') IS NOT NULL";
    let there = client.query_typed_one(look, &[]).await?;
    if !there.get::<_, bool>(1) {
        if there.get(0) {
            return Ok(Found { version: None, has_id: false });
        }
        client.batch_execute(&format!("BEGIN; {LOCK_ALL} {TABLES} COMMIT")).await?;
    }
    let version = client.query_typed_one("SELECT coalesce(max(version), 0) FROM version", &[]).await?.get(0);
    let has_id = "SELECT EXISTS (SELECT FROM pg_attribute WHERE attrelid = to_regclass('messages') AND attname = 'id' \
                  AND NOT attisdropped)";
    let has_id = client.query_typed_one(has_id, &[]).await?.get(0);
    Ok(Found { version: Some(version), has_id })
}

/// The partitions of `messages_lookup`; nothing in version 7, where it has none.
pub(super) async fn lookup_partitions(client: &Client) -> Result<Option<Vec<Partition>>, Error> {
    let kind = "SELECT relkind = 'p' FROM pg_class WHERE oid = 'messages_lookup'::regclass";
    if client.query_typed_one(kind, &[]).await?.get(0) {
        partition::list(client, "messages_lookup").await.map(Some)
    } else {
        Ok(None)
    }
}

/// Makes the partitions of some times where they are missing, as far as [`PARTITIONS_MAX`] allows, and returns all that are there then.
pub(super) async fn make(client: &Client, wanted: BTreeSet<i64>) -> Result<Vec<Partition>, Error> {
    client.batch_execute(&format!("BEGIN; {LOCK}")).await?;
    let mut there = partition::list(client, "messages").await?;
    let mut lookup = lookup_partitions(client).await?;
    for timestamp in wanted {
        let covering = match partition::covering(&there, timestamp) {
            Some(covering) => covering.clone(),
            None if there.len() >= PARTITIONS_MAX => continue,
            None => {
                let (from_ns, to_ns) = partition::gap(&there, timestamp);
                let (partition, statements) = partition::create(from_ns, to_ns);
                client.batch_execute(&statements).await?;
                there.insert(there.partition_point(|other| *other < partition), partition.clone());
                partition
            }
        };
        if let Some(lookup) = &mut lookup
            && partition::covering(lookup, timestamp).is_none()
        {
            let (partition, statements) = partition::create_lookup(&covering);
            client.batch_execute(&statements).await?;
            lookup.insert(lookup.partition_point(|other| *other < partition), partition);
        }
    }
    client.batch_execute("COMMIT").await?;
    Ok(there)
}
