//! Partitions: stretches of time of one width, each with its own tables.

/// Nanoseconds of an hour, which is the width unless a test asks for another.
pub(super) const HOUR_NS: i64 = 3_600_000_000_000;

/// A partition, by the first nanosecond of its stretch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Partition {
    pub(super) start_ns: i64,
}

impl Partition {
    /// The partition of a message with this timestamp.
    pub(super) fn of(timestamp: i64, width_ns: i64) -> Self {
        let start_ns = timestamp.div_euclid(width_ns).checked_mul(width_ns).unwrap_or(i64::MIN);
        Self { start_ns }
    }

    /// The partition behind this one, unless time ends with this one.
    pub(super) fn next(self, width_ns: i64) -> Option<Self> {
        let start_ns = self.start_ns.div_euclid(width_ns).checked_add(1)?.checked_mul(width_ns)?;
        Some(Self { start_ns })
    }

    /// The last nanosecond of its stretch.
    pub(super) fn last_ns(self, width_ns: i64) -> i64 {
        self.next(width_ns).map_or(i64::MAX, |next| next.start_ns - 1)
    }

    /// What its tables have behind their names.
    pub(super) fn name(self) -> String {
        let sign = if self.start_ns < 0 { "m" } else { "" };
        format!("{sign}{}", self.start_ns.unsigned_abs())
    }

    /// The statements that make its tables and put them in their place. They are filled in beforehand, so that readers and writers
    /// of other partitions are not kept out.
    pub(super) fn create(self, width_ns: i64) -> String {
        let name = self.name();
        let from = if self.start_ns == i64::MIN { "MINVALUE".to_owned() } else { self.start_ns.to_string() };
        let to = self.next(width_ns).map_or_else(|| "MAXVALUE".to_owned(), |next| next.start_ns.to_string());
        let start_ns = self.start_ns;
        format!(
            "CREATE TABLE levada_message_{name} (LIKE levada_message INCLUDING STORAGE); \
             CREATE TABLE levada_key_{name} (LIKE levada_key, PRIMARY KEY (hash)); \
             ALTER TABLE levada_message ATTACH PARTITION levada_message_{name} FOR VALUES FROM ({from}) TO ({to}); \
             ALTER TABLE levada_key ATTACH PARTITION levada_key_{name} FOR VALUES FROM ({from}) TO ({to}); \
             INSERT INTO levada_partition VALUES ({start_ns}); "
        )
    }

    /// The statements that drop its tables.
    pub(super) fn drop(self) -> String {
        let (name, start_ns) = (self.name(), self.start_ns);
        format!(
            "DROP TABLE IF EXISTS levada_message_{name}; DROP TABLE IF EXISTS levada_key_{name}; \
             DELETE FROM levada_partition WHERE start_ns = {start_ns}; "
        )
    }
}

#[cfg(test)]
mod tests {
    use super::{HOUR_NS, Partition};

    #[test]
    fn every_time_has_one_partition() {
        for width_ns in [1, 7, HOUR_NS] {
            for timestamp in [i64::MIN, i64::MIN + 1, -8, -1, 0, 1, 6, 7, HOUR_NS - 1, HOUR_NS, i64::MAX - 1, i64::MAX]
            {
                let partition = Partition::of(timestamp, width_ns);
                let last_ns = partition.last_ns(width_ns);
                assert!((partition.start_ns..=last_ns).contains(&timestamp), "{timestamp} by {width_ns}");
                assert_eq!(Partition::of(partition.start_ns, width_ns), partition, "{timestamp} by {width_ns}");
                assert_eq!(Partition::of(last_ns, width_ns), partition, "{timestamp} by {width_ns}");
                match partition.next(width_ns) {
                    Some(next) => assert_eq!(next.start_ns, last_ns + 1),
                    None => assert_eq!(last_ns, i64::MAX),
                }
            }
        }
    }

    #[test]
    fn names_are_plain_words() {
        assert_eq!(Partition { start_ns: -5 }.name(), "m5");
        assert_eq!(Partition { start_ns: i64::MIN }.name(), "m9223372036854775808");
    }
}
