//! Which stretch of time is asked for.

use levada_archive::TIMESTAMP_DISTANCE_NS_MAX;

/// Furthest back that messages are asked for: nwaku's six hours.
pub(super) const RANGE_NS_MAX: i64 = 6 * 3_600 * 1_000_000_000;

/// How far the timestamp of a message may lie from the moment it came.
const DISTANCE_NS: i64 = TIMESTAMP_DISTANCE_NS_MAX as i64;

/// Whether a time is not of a clock that has been set back since: how long ago that was it cannot say.
pub(super) fn is_past(time: i64, now: i64) -> bool {
    time <= now.saturating_add(DISTANCE_NS)
}

/// A stretch of time, both ends included, in nanoseconds since the Unix epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) from: i64,
    pub(super) to: i64,
}

impl Span {
    /// What a node has missed that was online until `last_online`, as far as that is known, and is again `now`. What came just after it
    /// had gone may bear an earlier time, and what comes now a later one. Nothing is asked for that retention would drop at once.
    pub(super) fn missed(last_online: Option<i64>, now: i64, retention_seconds: Option<u64>) -> Self {
        let earliest = now.saturating_sub(RANGE_NS_MAX);
        let to = now.saturating_add(DISTANCE_NS);
        let from = last_online.map_or(earliest, |last| last.saturating_sub(DISTANCE_NS));
        let kept = retention_seconds.map(|seconds| now.saturating_sub_unsigned(seconds.saturating_mul(1_000_000_000)));
        Self { from: from.max(earliest).max(kept.unwrap_or(i64::MIN)), to }
    }

    /// Its length.
    pub(super) fn seconds(self) -> u64 {
        self.to.saturating_sub(self.from).max(0) as u64 / 1_000_000_000
    }

    /// Whether a message of this time was asked for.
    pub(super) fn holds(self, timestamp: i64) -> bool {
        (self.from..=self.to).contains(&timestamp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_700_000_000_000_000_000;
    const SECOND: i64 = 1_000_000_000;

    fn from(last_online: Option<i64>, retention_seconds: Option<u64>) -> i64 {
        let span = Span::missed(last_online, NOW, retention_seconds);
        assert_eq!(span.to, NOW + 20 * SECOND);
        assert!(span.holds(span.from) && span.holds(span.to) && !span.holds(span.from - 1) && !span.holds(span.to + 1));
        (NOW - span.from) / SECOND
    }

    #[test]
    fn it_begins_when_the_node_was_last_online_and_six_hours_ago_at_most() {
        assert_eq!(from(Some(NOW - 60 * SECOND), None), 80);
        assert_eq!(from(Some(NOW), None), 20);
        assert_eq!(from(Some(NOW + 20 * SECOND), None), 0);
        for unknown in [None, Some(NOW - 7 * 3_600 * SECOND), Some(0), Some(i64::MIN)] {
            assert_eq!(from(unknown, None), 6 * 3_600, "{unknown:?}");
        }
        assert!(is_past(i64::MIN, NOW) && is_past(NOW + 20 * SECOND, NOW) && !is_past(NOW + 20 * SECOND + 1, NOW));
    }

    #[test]
    fn nothing_is_asked_for_that_would_be_dropped_at_once() {
        assert_eq!(from(None, Some(3_600)), 3_600);
        assert_eq!(from(Some(NOW - 60 * SECOND), Some(3_600)), 80);
        assert_eq!(from(None, Some(u64::MAX)), 6 * 3_600);
    }

    #[test]
    fn its_length_is_in_seconds() {
        assert_eq!(Span::missed(Some(NOW - 60 * SECOND), NOW, None).seconds(), 100);
        assert_eq!(Span { from: i64::MIN, to: i64::MAX }.seconds(), i64::MAX as u64 / 1_000_000_000);
        assert_eq!(Span { from: 1, to: 0 }.seconds(), 0);
    }
}
