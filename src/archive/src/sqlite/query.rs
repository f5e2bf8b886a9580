//! Answering a query.
//!
//! First the keys of the page, read from indexes alone; then, if wanted, the rows by their id. A query becomes one or more ranges of
//! one index, each of them contiguous in the order of the answer, so that the page is found after page size + 1 steps per range,
//! however large the archive is. No statement sorts or filters. The index of the segment log has the same columns, and is asked by the
//! same statements; only what it has elsewhere differs, see [`Source`].

use rusqlite::{Connection, OptionalExtension, Row, ToSql};

use crate::range::{Key, KeyRange};
use crate::{ArchiveError, Direction, Hash, Page, Query, StoredBody, StoredMessage};

/// What these queries scan a table of messages by, wherever its payloads lie, beside `message_by_time`.
pub(crate) const LOOKUPS: &str = "
    CREATE INDEX message_by_pubsub_topic ON message (pubsub_topic, timestamp, hash);
    CREATE INDEX message_by_content_topic ON message (content_topic, pubsub_topic, timestamp, hash);
";

/// A scan of one range of an index. Both bounds are exclusive, see [`KeyRange::below`]. `INDEXED BY` makes any other plan an error.
macro_rules! scan {
    ($index:literal, $filter:literal, $order:literal) => {
        concat!(
            "SELECT timestamp, hash, id FROM message INDEXED BY ",
            $index,
            " WHERE ",
            $filter,
            "(timestamp, hash) > (?1, ?2) AND (timestamp, hash) < (?3, ?4) ORDER BY timestamp ",
            $order,
            ", hash ",
            $order,
            " LIMIT ?5"
        )
    };
}

/// The same range in both directions.
macro_rules! scans {
    ($index:literal, $filter:literal) => {
        [scan!($index, $filter, "ASC"), scan!($index, $filter, "DESC")]
    };
}

const BY_TIME: [&str; 2] = scans!("message_by_time", "");
const BY_PUBSUB_TOPIC: [&str; 2] = scans!("message_by_pubsub_topic", "pubsub_topic = ?6 AND ");
const BY_BOTH_TOPICS: [&str; 2] = scans!("message_by_content_topic", "content_topic = ?6 AND pubsub_topic = ?7 AND ");
const NEXT_PUBSUB_TOPIC: &str = "SELECT pubsub_topic FROM message INDEXED BY message_by_content_topic \
     WHERE content_topic = ?1 AND pubsub_topic > ?2 ORDER BY pubsub_topic LIMIT 1";
const ROW: &str = "SELECT timestamp, pubsub_topic, content_topic FROM message WHERE id = ?1 AND hash = ?2";
const BODY: &str = "SELECT pubsub_topic, content_topic, version, timestamp, meta, payload FROM message WHERE id = ?1";

/// The statements that look messages up, without the one that reads a body.
pub(crate) fn lookups() -> impl Iterator<Item = &'static str> {
    let scans = [BY_TIME, BY_PUBSUB_TOPIC, BY_BOTH_TOPICS].into_iter().flatten();
    scans.chain([NEXT_PUBSUB_TOPIC, ROW])
}

/// Every statement about a table with bodies, for the check of a file at its opening and for the test of their plans.
pub(super) fn statements() -> impl Iterator<Item = &'static str> {
    lookups().chain([ID_OF, BODY])
}

/// Why a query failed: in SQLite, or for a reason of its own.
pub(crate) enum Failure {
    Sqlite(rusqlite::Error),
    Query(ArchiveError),
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

/// A row that the page may hold: its key and its id.
type Found = (Key, i64);

/// What tables of messages have in places of their own.
pub(crate) trait Source {
    /// The ids of rows that may have this hash.
    fn ids_of(&self, conn: &Connection, hash: &Hash) -> rusqlite::Result<Vec<i64>>;

    /// The rest of the message whose row has `id`; nothing if it cannot be served.
    fn body_of(&self, conn: &Connection, id: i64) -> rusqlite::Result<Option<StoredBody>>;
}

/// Answers `query` from one snapshot. A message without a body is left out of the page.
pub(crate) fn query(conn: &Connection, query: &Query, source: &impl Source) -> Result<Page, Failure> {
    let snapshot = conn.unchecked_transaction()?;
    let cursor = match query.cursor {
        Some(hash) => Some(row_of(conn, &hash, source)?.ok_or(Failure::Query(ArchiveError::CursorNotFound))?.key),
        None => None,
    };
    let mut found = find(conn, query, &KeyRange::new(query, cursor), source)?;
    found.sort_unstable();
    if query.direction == Direction::Backward {
        found.reverse();
    }
    let (found, cursor) = query.cut(found, |(key, _)| key.1);
    let mut messages = Vec::with_capacity(found.len());
    for ((_, hash), id) in found {
        let body = if query.include_data { source.body_of(conn, id)? } else { None };
        if body.is_some() || !query.include_data {
            messages.push(StoredMessage { hash, body });
        }
    }
    snapshot.finish()?;
    Ok(Page { messages, cursor })
}

/// The rows that can be on the page, in no order: of each range as many as the page holds and one more.
fn find(conn: &Connection, query: &Query, range: &KeyRange, source: &impl Source) -> rusqlite::Result<Vec<Found>> {
    let mut found = Vec::new();
    let mut scan = |sql: [&str; 2], topics: &[&dyn ToSql]| scan_range(conn, sql, query, range, topics, &mut found);
    if !query.hashes.is_empty() {
        return find_hashes(conn, query, range, source);
    }
    match &query.pubsub_topic {
        None if query.content_topics.is_empty() => scan(BY_TIME, &[])?,
        Some(pubsub_topic) if query.content_topics.is_empty() => scan(BY_PUBSUB_TOPIC, &[pubsub_topic])?,
        Some(pubsub_topic) => {
            for content_topic in query.unique_content_topics() {
                scan(BY_BOTH_TOPICS, &[&content_topic, pubsub_topic])?;
            }
        }
        None => {
            for content_topic in query.unique_content_topics() {
                for pubsub_topic in pubsub_topics_of(conn, content_topic)? {
                    scan(BY_BOTH_TOPICS, &[&content_topic, &pubsub_topic])?;
                }
            }
        }
    }
    Ok(found)
}

/// The first `keys_max` keys of a pubsub topic behind `after`.
pub(crate) fn keys_after(
    conn: &Connection,
    pubsub_topic: &str,
    after: &Key,
    keys_max: usize,
) -> rusqlite::Result<Vec<Key>> {
    let last = (i64::MAX, [0xff; 33]);
    let limit = i64::try_from(keys_max).unwrap_or(i64::MAX);
    let mut statement = conn.prepare_cached(BY_PUBSUB_TOPIC[0])?;
    let rows = statement
        .query_map((after.0, &after.1, last.0, &last.1, limit, pubsub_topic), |row| Ok((row.get(0)?, row.get(1)?)))?;
    rows.collect()
}

fn scan_range(
    conn: &Connection,
    sql: [&str; 2],
    query: &Query,
    range: &KeyRange,
    topics: &[&dyn ToSql],
    found: &mut Vec<Found>,
) -> rusqlite::Result<()> {
    let (below, above) = (range.below(), range.above());
    let limit = query.page_limit() as i64 + 1;
    let mut values: Vec<&dyn ToSql> = vec![&below.0, &below.1, &above.0, &above.1, &limit];
    values.extend_from_slice(topics);
    let mut statement = conn.prepare_cached(sql[usize::from(query.direction == Direction::Backward)])?;
    let mut rows = statement.query(values.as_slice())?;
    while let Some(row) = rows.next()? {
        found.push(((row.get(0)?, row.get(1)?), row.get(2)?));
    }
    Ok(())
}

/// The pubsub topics that messages of a content topic came by: one, or one per shard, found by as many steps in the index.
fn pubsub_topics_of(conn: &Connection, content_topic: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement = conn.prepare_cached(NEXT_PUBSUB_TOPIC)?;
    // The empty topic is below all others, so the comparison never finds it.
    let mut topics = vec![String::new()];
    while let Some(last) = topics.last() {
        match statement.query_row((content_topic, last), |row| row.get(0)).optional()? {
            Some(next) => topics.push(next),
            None => break,
        }
    }
    Ok(topics)
}

fn find_hashes(
    conn: &Connection,
    query: &Query,
    range: &KeyRange,
    source: &impl Source,
) -> rusqlite::Result<Vec<Found>> {
    let mut found = Vec::new();
    for hash in query.unique_hashes() {
        let row = row_of(conn, &hash, source)?;
        let row = row.filter(|row| query.topics_match(&row.pubsub_topic, &row.content_topic));
        found.extend(row.filter(|row| range.contains(&row.key)).map(|row| (row.key, row.id)));
    }
    Ok(found)
}

/// What a row says of a message.
struct MessageRow {
    key: Key,
    id: i64,
    pubsub_topic: String,
    content_topic: String,
}

/// The row of the message with this hash.
fn row_of(conn: &Connection, hash: &Hash, source: &impl Source) -> rusqlite::Result<Option<MessageRow>> {
    let mut statement = conn.prepare_cached(ROW)?;
    for id in source.ids_of(conn, hash)? {
        let row = |row: &Row<'_>| {
            Ok(MessageRow { key: (row.get(0)?, *hash), id, pubsub_topic: row.get(1)?, content_topic: row.get(2)? })
        };
        let row = statement.query_row((id, hash.as_slice()), row).optional()?;
        if row.is_some() {
            return Ok(row);
        }
    }
    Ok(None)
}

/// A table that has everything itself, and an index of hashes.
pub(super) struct Rows;

/// Beside [`LOOKUPS`], of a table whose duplicates are told by this one.
pub(super) const OWN_LOOKUPS: &str = "
    CREATE UNIQUE INDEX message_by_hash ON message (hash);
    CREATE INDEX message_by_time ON message (timestamp, hash);
";
const ID_OF: &str = "SELECT id FROM message INDEXED BY message_by_hash WHERE hash = ?1";

impl Source for Rows {
    fn ids_of(&self, conn: &Connection, hash: &Hash) -> rusqlite::Result<Vec<i64>> {
        conn.prepare_cached(ID_OF)?.query_map([hash.as_slice()], |row| row.get(0))?.collect()
    }

    fn body_of(&self, conn: &Connection, id: i64) -> rusqlite::Result<Option<StoredBody>> {
        conn.prepare_cached(BODY)?.query_row([id], |row| {
            Ok(Some(StoredBody {
                pubsub_topic: row.get(0)?,
                content_topic: row.get(1)?,
                version: row.get(2)?,
                timestamp: row.get(3)?,
                meta: row.get::<_, Option<Vec<u8>>>(4)?.unwrap_or_default(),
                payload: row.get(5)?,
            }))
        })
    }
}
