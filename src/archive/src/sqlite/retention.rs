//! Dropping the oldest messages, some hundred in a step.

use rusqlite::{Connection, OptionalExtension, params};

use crate::{Dropped, Retention};

/// Messages that one step drops at most.
const STEP_MESSAGES: u64 = 512;
/// Messages dropped between two looks at the size of the database.
const SIZE_STEP_MESSAGES: u64 = 16;

const OLDEST: &str = "SELECT timestamp FROM message INDEXED BY message_by_time ORDER BY timestamp, hash LIMIT 1";
const DROP_OLDEST: &str = "DELETE FROM message WHERE id IN \
     (SELECT id FROM message INDEXED BY message_by_time WHERE timestamp < ?1 ORDER BY timestamp, hash LIMIT ?2)";

/// Takes one step towards what `retention` keeps.
pub(super) fn retain(conn: &Connection, retention: &Retention) -> rusqlite::Result<Dropped> {
    let number = |sql: &str| conn.query_row(sql, [], |row| row.get::<_, i64>(0)).map(i64::unsigned_abs);
    let messages = match retention.messages_max {
        Some(_) => number("SELECT count(*) FROM message")?,
        None => 0,
    };
    let bytes = match retention.bytes_max {
        Some(_) => (number("PRAGMA page_count")? - number("PRAGMA freelist_count")?) * number("PRAGMA page_size")?,
        None => 0,
    };
    let oldest = conn.query_row(OLDEST, [], |row| row.get::<_, i64>(0)).optional()?;
    let Some(oldest) = oldest else { return Ok(Dropped::default()) };
    let over = retention.messages_max.map_or(0, |max| messages.saturating_sub(max)).min(STEP_MESSAGES);
    let (before, count) = match retention.timestamp_min_ns {
        _ if over > 0 => (i64::MAX, over),
        _ if retention.bytes_max.is_some_and(|max| bytes > max) => (i64::MAX, SIZE_STEP_MESSAGES),
        Some(min) if oldest < min => (min, STEP_MESSAGES),
        _ => return Ok(Dropped::default()),
    };
    let dropped = conn.execute(DROP_OLDEST, params![before, count as i64])? as u64;
    Ok(Dropped { messages: dropped, unfinished: dropped > 0, ..Dropped::default() })
}
