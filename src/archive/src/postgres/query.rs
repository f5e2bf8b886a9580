//! Answering queries, each from one snapshot.
//!
//! A statement over all partitions would lock every one of their tables and indexes, thousands of locks for a month of hours. So a query
//! walks: it asks the first partitions in its direction, then more at a time, until the page is full. Within a window the server reads
//! an index in order and stops at the limit; the bodies are read at last, of the messages on the page alone.

use std::collections::BTreeSet;

use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Error, Row};

use super::dialect::Dialect;
use super::partition::Partition;
use crate::range::{Key, KeyRange};
use crate::{ArchiveError, Direction, Hash, Page, Query, StoredBody, StoredMessage};

/// Partitions in the first windows, and in all that follow.
const WINDOWS: [usize; 3] = [2, 8, 32];

const SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// Answers `query`, which is within its limits.
pub(super) async fn page(
    client: &Client,
    dialect: &Dialect,
    query: &Query,
) -> Result<Result<Page, ArchiveError>, Error> {
    let partitions = snapshot(client, dialect).await?;
    let cursor = match query.cursor {
        Some(hash) => match keys_of(client, dialect, &partitions, &[hash]).await?.pop() {
            Some(key) => Some(key),
            None => {
                client.batch_execute("COMMIT").await?;
                return Ok(Err(ArchiveError::CursorNotFound));
            }
        },
        None => None,
    };
    let range = KeyRange::new(query, cursor);
    let found = if is_in_vain(dialect, query) {
        Vec::new()
    } else if query.hashes.is_empty() {
        walk(client, dialect, &partitions, query, &range, query.page_limit() + 1).await?
    } else {
        by_hash(client, dialect, &partitions, query, &range).await?
    };
    let (keys, cursor) = query.cut(found, |key| key.1);
    let messages = if query.include_data {
        bodies(client, dialect, &keys).await?
    } else {
        keys.into_iter().map(|(_, hash)| StoredMessage { hash, body: None }).collect()
    };
    client.batch_execute("COMMIT").await?;
    Ok(Ok(Page { messages, cursor }))
}

/// The first `keys_max` keys of a pubsub topic behind `after`.
pub(super) async fn keys_after(
    client: &Client,
    dialect: &Dialect,
    pubsub_topic: String,
    after: Key,
    keys_max: usize,
) -> Result<Vec<Key>, Error> {
    let query = Query { pubsub_topic: Some(pubsub_topic), direction: Direction::Forward, ..Query::default() };
    let partitions = snapshot(client, dialect).await?;
    let keys = if is_in_vain(dialect, &query) {
        Vec::new()
    } else {
        walk(client, dialect, &partitions, &query, &KeyRange::new(&query, Some(after)), keys_max).await?
    };
    client.batch_execute("COMMIT").await?;
    Ok(keys)
}

/// Begins to read from one state, and returns the partitions that it has.
async fn snapshot(client: &Client, dialect: &Dialect) -> Result<BTreeSet<Partition>, Error> {
    let starts = client.query_typed(dialect.starts, &[]);
    let ((), rows) = futures::try_join!(client.batch_execute(SNAPSHOT), starts)?;
    Ok(rows.iter().map(|row| Partition { start_ns: row.get(0) }).collect())
}

/// Whether a query has a filter by topic that no stored message can pass: where topics are text, none has a NUL in it.
fn is_in_vain(dialect: &Dialect, query: &Query) -> bool {
    let nul = |topic: &String| dialect.text_topics && topic.contains('\0');
    query.pubsub_topic.as_ref().is_some_and(nul)
        || (!query.content_topics.is_empty() && query.content_topics.iter().all(nul))
}

/// The content topics that a message may have, each once.
fn content_topics<'a>(dialect: &Dialect, query: &'a Query) -> Vec<&'a [u8]> {
    let topics = query.unique_content_topics().into_iter();
    topics.filter(|topic| !dialect.text_topics || !topic.contains('\0')).map(str::as_bytes).collect()
}

/// The stretches of time, both ends included, in which a walk between two times looks one after the other.
fn windows(partitions: &BTreeSet<Partition>, first_ns: i64, last_ns: i64, direction: Direction) -> Vec<(i64, i64)> {
    if first_ns > last_ns {
        return Vec::new();
    }
    let starts: Vec<i64> = partitions.iter().map(|partition| partition.start_ns).collect();
    let end = starts.partition_point(|start_ns| *start_ns <= last_ns);
    let mut left = starts.partition_point(|start_ns| *start_ns <= first_ns).saturating_sub(1)..end;
    let mut windows = Vec::new();
    while !left.is_empty() {
        let size = WINDOWS[windows.len().min(WINDOWS.len() - 1)].min(left.len());
        let window = match direction {
            Direction::Forward => left.start..left.start + size,
            Direction::Backward => left.end - size..left.end,
        };
        match direction {
            Direction::Forward => left.start = window.end,
            Direction::Backward => left.end = window.start,
        }
        let window_last_ns = starts.get(window.end).map_or(i64::MAX, |next| next - 1);
        windows.push((starts[window.start].max(first_ns), window_last_ns.min(last_ns)));
    }
    windows
}

/// The keys that `query` asks for by topic and time, at most `limit`, in its direction.
async fn walk(
    client: &Client,
    dialect: &Dialect,
    partitions: &BTreeSet<Partition>,
    query: &Query,
    range: &KeyRange,
    limit: usize,
) -> Result<Vec<Key>, Error> {
    let (below, above) = (range.below(), range.above());
    let statement = statement(dialect, query);
    let pubsub_topic = query.pubsub_topic.as_ref().map(|topic| topic.as_bytes());
    let content_topics = content_topics(dialect, query);
    let mut found: Vec<Key> = Vec::new();
    for (first_ns, last_ns) in windows(partitions, below.0, above.0, query.direction) {
        if found.len() >= limit {
            break;
        }
        let room = i64::try_from(limit - found.len()).unwrap_or(i64::MAX);
        let mut values: Vec<(&(dyn ToSql + Sync), Type)> = vec![
            (&first_ns, Type::INT8),
            (&last_ns, Type::INT8),
            (&below.0, Type::INT8),
            (&below.1, Type::BYTEA),
            (&above.0, Type::INT8),
            (&above.1, Type::BYTEA),
            (&room, Type::INT8),
        ];
        if pubsub_topic.is_some() || !content_topics.is_empty() {
            values.push((&pubsub_topic, Type::BYTEA));
        }
        if !content_topics.is_empty() {
            values.push((&content_topics, Type::BYTEA_ARRAY));
        }
        found.extend(client.query_typed(&statement, &values).await?.iter().filter_map(key));
    }
    Ok(found)
}

/// The statement that finds a query's keys in one window.
fn statement(dialect: &Dialect, query: &Query) -> String {
    let descending = if query.direction == Direction::Backward { " DESC" } else { "" };
    let Dialect { table, range, key, order: [timestamp, hash], .. } = dialect;
    let order = |hash: &str| format!("ORDER BY {timestamp}{descending}, {hash}{descending} LIMIT $7");
    let scan =
        |conditions: &str| format!("SELECT {key} AS hash FROM {table} WHERE {conditions}{range} {}", order(hash));
    if query.content_topics.is_empty() {
        return scan(if query.pubsub_topic.is_some() { dialect.pubsub_topic } else { "" });
    }
    // Each content topic is an ordered stretch of the index; all of them in one condition are not.
    let scan = scan(dialect.content_topic);
    let order = order("hash");
    format!("SELECT timestamp, hash FROM unnest($9::bytea[]) AS topic CROSS JOIN LATERAL ({scan}) AS found {order}")
}

/// The keys of those messages of the query's hashes that match the rest of it, in its direction.
async fn by_hash(
    client: &Client,
    dialect: &Dialect,
    partitions: &BTreeSet<Partition>,
    query: &Query,
    range: &KeyRange,
) -> Result<Vec<Key>, Error> {
    let mut keys = keys_of(client, dialect, partitions, &query.unique_hashes()).await?;
    keys.retain(|key| range.contains(key));
    if let Some((first_ns, last_ns)) = ends(&keys)
        && (query.pubsub_topic.is_some() || !query.content_topics.is_empty())
    {
        let (timestamps, hashes) = columns(&keys);
        let pubsub_topic = query.pubsub_topic.as_ref().map(|topic| topic.as_bytes());
        let content_topics = content_topics(dialect, query);
        let values: [(&(dyn ToSql + Sync), Type); 6] = [
            (&timestamps, Type::INT8_ARRAY),
            (&hashes, Type::BYTEA_ARRAY),
            (&first_ns, Type::INT8),
            (&last_ns, Type::INT8),
            (&pubsub_topic, Type::BYTEA),
            (&content_topics, Type::BYTEA_ARRAY),
        ];
        let rows = client.query_typed(dialect.with_topics, &values).await?;
        keys = rows.iter().filter_map(key).collect();
    }
    keys.sort_unstable();
    if query.direction == Direction::Backward {
        keys.reverse();
    }
    Ok(keys)
}

/// The keys of those hashes that are stored, looked for from the newest partition on.
async fn keys_of(
    client: &Client,
    dialect: &Dialect,
    partitions: &BTreeSet<Partition>,
    hashes: &[Hash],
) -> Result<Vec<Key>, Error> {
    let wanted: Vec<&[u8]> = hashes.iter().map(|hash| hash.as_slice()).collect();
    let mut keys = Vec::new();
    for (first_ns, last_ns) in windows(partitions, i64::MIN, i64::MAX, Direction::Backward) {
        let values: [(&(dyn ToSql + Sync), Type); 3] =
            [(&first_ns, Type::INT8), (&last_ns, Type::INT8), (&wanted, Type::BYTEA_ARRAY)];
        keys.extend(client.query_typed(dialect.keys, &values).await?.iter().filter_map(key));
        if keys.len() >= hashes.len() {
            break;
        }
    }
    Ok(keys)
}

/// The messages of some keys, which are ascending and so are they.
async fn bodies(client: &Client, dialect: &Dialect, keys: &[Key]) -> Result<Vec<StoredMessage>, Error> {
    let Some((first_ns, last_ns)) = ends(keys) else { return Ok(Vec::new()) };
    let (timestamps, hashes) = columns(keys);
    let values: [(&(dyn ToSql + Sync), Type); 4] = [
        (&timestamps, Type::INT8_ARRAY),
        (&hashes, Type::BYTEA_ARRAY),
        (&first_ns, Type::INT8),
        (&last_ns, Type::INT8),
    ];
    let rows = client.query_typed(dialect.bodies, &values).await?;
    let mut messages: Vec<(Key, StoredMessage)> = rows.iter().filter_map(message).collect();
    messages.sort_unstable_by_key(|(key, _)| *key);
    Ok(messages.into_iter().map(|(_, message)| message).collect())
}

fn ends(keys: &[Key]) -> Option<(i64, i64)> {
    let times = || keys.iter().map(|key| key.0);
    Some((times().min()?, times().max()?))
}

fn columns(keys: &[Key]) -> (Vec<i64>, Vec<&[u8]>) {
    keys.iter().map(|(timestamp, hash)| (*timestamp, hash.as_slice())).unzip()
}

/// The key in the first two columns; nothing where the hash is not one, which nothing here writes.
fn key(row: &Row) -> Option<Key> {
    Some((row.get(0), row.get::<_, &[u8]>(1).try_into().ok()?))
}

fn message(row: &Row) -> Option<(Key, StoredMessage)> {
    let key = key(row)?;
    let text = |column: usize| String::from_utf8_lossy(row.get::<_, &[u8]>(column)).into_owned();
    let body = StoredBody {
        pubsub_topic: text(2),
        content_topic: text(3),
        payload: row.get(6),
        version: u32::try_from(row.get::<_, i64>(4)).ok()?,
        timestamp: key.0,
        meta: row.get(5),
    };
    Some((key, StoredMessage { hash: key.1, body: Some(body) }))
}

#[cfg(test)]
mod tests {
    use super::{Direction, Partition, windows};

    #[test]
    fn windows_cover_the_range_once_in_the_direction() {
        let partitions = (0..100).map(|number| Partition { start_ns: number * 10 }).collect();
        for (first_ns, last_ns) in [(i64::MIN, i64::MAX), (0, 999), (35, 47), (995, 2_000), (-7, 3)] {
            let forward = windows(&partitions, first_ns, last_ns, Direction::Forward);
            let mut backward = windows(&partitions, first_ns, last_ns, Direction::Backward);
            backward.reverse();
            for windows in [&forward, &backward] {
                assert_eq!(windows[0].0, first_ns.max(0));
                assert_eq!(windows.last().map(|window| window.1), Some(last_ns));
                assert!(windows.windows(2).all(|pair| pair[0].1 + 1 == pair[1].0), "{windows:?}");
            }
        }
        assert_eq!(windows(&partitions, 5, 4, Direction::Forward), []);
        assert_eq!(windows(&partitions, i64::MIN, -1, Direction::Forward), []);
    }
}
