//! A batch as every layout sends it: in the order of hashes, so that two nodes never wait for each other in a circle, each message once.

use std::collections::HashSet;

use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Error, Row, Statement};

use crate::{ArchiveMessage, Hash};

/// The messages of a batch that have a place.
pub(super) struct Batch<'a, 'b> {
    /// Each once, by their hashes.
    pub messages: Vec<&'a ArchiveMessage<'b>>,
    /// How many there were before each was there once.
    pub offered: u64,
    /// Messages without a place.
    pub dropped: u64,
}

impl<'a, 'b> Batch<'a, 'b> {
    /// Those of `messages` that `takes` says have a place.
    pub(super) fn of(messages: &'a [ArchiveMessage<'b>], takes: impl Fn(&ArchiveMessage<'_>) -> bool) -> Self {
        let mut taken: Vec<&ArchiveMessage<'b>> = messages.iter().filter(|message| takes(message)).collect();
        let offered = taken.len();
        taken.sort_by_key(|message| message.hash);
        taken.dedup_by_key(|message| message.hash);
        Self { messages: taken, offered: offered as u64, dropped: (messages.len() - offered) as u64 }
    }
}

/// Their times, as a column.
pub(super) fn timestamps_of(messages: &[&ArchiveMessage<'_>]) -> Vec<i64> {
    messages.iter().map(|message| message.timestamp).collect()
}

/// Their hashes, as a column.
pub(super) fn hashes_of(messages: &[&ArchiveMessage<'_>]) -> Vec<Vec<u8>> {
    messages.iter().map(|message| message.hash.to_vec()).collect()
}

/// Begins a transaction with a query, both of which go out at once.
pub(super) async fn begin_with(
    client: &Client,
    statement: &Statement,
    parameters: &[&(dyn ToSql + Sync)],
) -> Result<Vec<Row>, Error> {
    let ((), rows) = futures::try_join!(client.batch_execute("BEGIN"), client.query(statement, parameters))?;
    Ok(rows)
}

/// The hashes in the first column of an answer.
pub(super) fn hashes_in(rows: &[Row]) -> HashSet<Hash> {
    rows.iter().filter_map(|row| row.get::<_, &[u8]>(0).try_into().ok()).collect()
}
