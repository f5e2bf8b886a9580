//! Partitions as nwaku makes them: an hour of the clock, or what of it no other partition has.

use tokio_postgres::{Client, Error};

use crate::postgres::partition::HOUR_NS;

const SECOND_NS: i64 = 1_000_000_000;

/// A partition of `messages` or `messages_lookup`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Partition {
    /// Its first nanosecond.
    pub(super) from_ns: i64,
    /// The nanosecond behind its last.
    pub(super) to_ns: i64,
    /// The name of its table, as it stands in a statement.
    pub(super) name: String,
}

/// The partition that has a time, among some that are in order.
pub(super) fn covering(there: &[Partition], timestamp: i64) -> Option<&Partition> {
    let behind = there.partition_point(|partition| partition.from_ns <= timestamp);
    there.get(behind.checked_sub(1)?).filter(|partition| timestamp < partition.to_ns)
}

/// The first and the last nanosecond of the hour of a time that no partition has yet, cut where others begin or end.
pub(super) fn gap(there: &[Partition], timestamp: i64) -> (i64, i64) {
    let hour_ns = timestamp.div_euclid(HOUR_NS) * HOUR_NS;
    let behind = there.partition_point(|partition| partition.from_ns <= timestamp);
    let before = behind.checked_sub(1).and_then(|index| there.get(index)).map_or(hour_ns, |before| before.to_ns);
    let after = there.get(behind).map_or(i64::MAX, |after| after.from_ns);
    (before.max(hour_ns), after.min(hour_ns.saturating_add(HOUR_NS)))
}

/// What nwaku puts behind the names of a partition's tables.
pub(super) fn suffix(from_ns: i64, to_ns: i64) -> String {
    format!("{}_{}", from_ns.div_euclid(SECOND_NS), to_ns.div_euclid(SECOND_NS))
}

/// The statements that make a partition of `messages`. nwaku does this in four steps, each with the lock of its own, and leaves a table
/// beside the partitions if it is stopped in between.
pub(super) fn create(from_ns: i64, to_ns: i64) -> (Partition, String) {
    let name = format!("messages_{}", suffix(from_ns, to_ns));
    let statements = format!(
        "CREATE TABLE IF NOT EXISTS {name} (LIKE messages INCLUDING DEFAULTS INCLUDING CONSTRAINTS); \
         ALTER TABLE messages ATTACH PARTITION {name} FOR VALUES FROM ({from_ns}) TO ({to_ns}); \
         ALTER TABLE {name} DROP CONSTRAINT IF EXISTS {name}_by_range_check; "
    );
    (Partition { from_ns, to_ns, name }, statements)
}

/// The statements that make the partition of `messages_lookup` beside one of `messages`, with what belongs in it.
pub(super) fn create_lookup(beside: &Partition) -> (Partition, String) {
    let Partition { from_ns, to_ns, .. } = *beside;
    let name = format!("lookup_{}", suffix(from_ns, to_ns));
    let statements = format!(
        "CREATE TABLE IF NOT EXISTS {name} (LIKE messages_lookup INCLUDING DEFAULTS INCLUDING CONSTRAINTS); \
         INSERT INTO {name} (messagehash, timestamp) SELECT messagehash, timestamp FROM {messages} m WHERE NOT EXISTS \
         (SELECT FROM {name} l WHERE l.messagehash = m.messagehash AND l.timestamp = m.timestamp); \
         ALTER TABLE messages_lookup ATTACH PARTITION {name} FOR VALUES FROM ({from_ns}) TO ({to_ns}); ",
        messages = beside.name
    );
    (Partition { from_ns, to_ns, name }, statements)
}

/// The partitions of a table, in order.
pub(super) async fn list(client: &Client, table: &str) -> Result<Vec<Partition>, Error> {
    let statement = format!(
        "SELECT quote_ident(c.relname), bounds[1]::int8 AS from_ns, bounds[2]::int8 FROM pg_inherits \
         JOIN pg_class c ON c.oid = inhrelid CROSS JOIN LATERAL regexp_match(pg_get_expr(c.relpartbound, c.oid), \
         'FROM \\(''?(-?\\d+)''?\\) TO \\(''?(-?\\d+)''?\\)') AS bounds \
         WHERE inhparent = '{table}'::regclass AND bounds IS NOT NULL ORDER BY from_ns"
    );
    let rows = client.query_typed(&statement, &[]).await?;
    Ok(rows.iter().map(|row| Partition { from_ns: row.get(1), to_ns: row.get(2), name: row.get(0) }).collect())
}

#[cfg(test)]
mod tests {
    use super::{HOUR_NS, Partition, SECOND_NS, covering, create, gap};

    fn partition(from_ns: i64, to_ns: i64) -> Partition {
        create(from_ns, to_ns).0
    }

    #[test]
    fn an_hour_is_cut_where_others_are() {
        // As after a start of nwaku at 28 minutes past ten.
        let minute = 60 * SECOND_NS;
        let first = partition(10 * HOUR_NS + 28 * minute, 11 * HOUR_NS);
        let there = [first.clone(), partition(12 * HOUR_NS, 13 * HOUR_NS)];
        assert_eq!(covering(&there, 10 * HOUR_NS + 28 * minute), Some(&first));
        for timestamp in [0, 10 * HOUR_NS + 28 * minute - 1, 11 * HOUR_NS, 12 * HOUR_NS - 1, 13 * HOUR_NS] {
            assert_eq!(covering(&there, timestamp), None);
        }
        assert_eq!(gap(&there, 10 * HOUR_NS + minute), (10 * HOUR_NS, 10 * HOUR_NS + 28 * minute));
        assert_eq!(gap(&there, 11 * HOUR_NS + 5), (11 * HOUR_NS, 12 * HOUR_NS));
        assert_eq!(gap(&there, 13 * HOUR_NS), (13 * HOUR_NS, 14 * HOUR_NS));
        assert_eq!(gap(&[], 5), (0, HOUR_NS));
    }

    #[test]
    fn names_are_nwakus() {
        assert_eq!(
            partition(1_708_534_800 * SECOND_NS, 1_708_538_400 * SECOND_NS).name,
            "messages_1708534800_1708538400"
        );
    }
}
