//! What an archive keeps, as nwaku's `--store-message-retention-policy` words it.

use std::fmt;
use std::str::FromStr;

/// Steps in which a limit is kept: an archive that drops whole segments ends one when it holds this part of what may stay.
const STEPS: u64 = 8;
/// A segment is not ended for less than this many messages, or bytes.
const SEGMENT_MESSAGES_MIN: u64 = 64;
const SEGMENT_BYTES_MIN: u64 = 1 << 20;
const NANOSECONDS: u64 = 1_000_000_000;

/// How old, how many and how large the messages of an archive may be; what one of the limits lets go is dropped. Without any, everything
/// is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RetentionPolicy {
    /// `time:SECONDS`: messages older than this are dropped.
    pub seconds_max: Option<u64>,
    /// `capacity:N`: so many messages are kept at least; of those before them, whole segments are dropped.
    pub messages_max: Option<u64>,
    /// `size:NMB` or `size:NGB`, in bytes: above this, the oldest messages are dropped.
    pub bytes_max: Option<u64>,
}

/// Why a retention policy was not understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RetentionPolicyError {
    /// No kind of policy.
    #[error("the retention policy is of an unknown kind; {SUPPORTED}")]
    Unknown,
    /// What follows the colon is no number, or 0, or too large to count with.
    #[error("the retention policy needs a number above 0; {SUPPORTED}")]
    Number,
    /// A size without one of the two units.
    #[error("the size in the retention policy needs the unit MB or GB; {SUPPORTED}")]
    Unit,
}

const SUPPORTED: &str = "use time:SECONDS, capacity:MESSAGES, size:NMB or size:NGB, several joined by ';', or none";

impl RetentionPolicy {
    /// What to keep when the clock says `now_ns`, nanoseconds since the Unix epoch.
    pub fn at(&self, now_ns: i64) -> Retention {
        let before = |seconds: u64| now_ns.saturating_sub_unsigned(seconds.saturating_mul(NANOSECONDS));
        Retention {
            messages_max: self.messages_max,
            bytes_max: self.bytes_max,
            timestamp_min_ns: self.seconds_max.map(before),
            segment_timestamp_min_ns: self.seconds_max.map(|seconds| before(seconds.div_ceil(STEPS))),
        }
    }

    /// Whether there is any limit.
    pub fn is_limited(&self) -> bool {
        *self != Self::default()
    }

    fn join(&mut self, part: &str) -> Result<(), RetentionPolicyError> {
        let part = part.trim().to_ascii_lowercase();
        if part == "none" {
            return Ok(());
        }
        let (kind, value) = part.split_once(':').ok_or(RetentionPolicyError::Unknown)?;
        let (limit, value) = match kind {
            "time" => (&mut self.seconds_max, whole(value)?),
            "capacity" => (&mut self.messages_max, whole(value)?),
            "size" => (&mut self.bytes_max, size(value)?),
            _ => return Err(RetentionPolicyError::Unknown),
        };
        // Of two limits of one kind, the stricter holds.
        *limit = Some(limit.map_or(value, |other| other.min(value)));
        Ok(())
    }
}

impl FromStr for RetentionPolicy {
    type Err = RetentionPolicyError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut policy = Self::default();
        text.split(';').try_for_each(|part| policy.join(part))?;
        Ok(policy)
    }
}

impl fmt::Display for RetentionPolicy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.seconds_max.map(|seconds| format!("time:{seconds}"));
        let messages = self.messages_max.map(|messages| format!("capacity:{messages}"));
        let bytes = self.bytes_max.map(|bytes| format!("size:{}MB", bytes as f64 / f64::from(1 << 20)));
        let parts: Vec<String> = [seconds, messages, bytes].into_iter().flatten().collect();
        formatter.write_str(if parts.is_empty() { "none" } else { "" })?;
        formatter.write_str(&parts.join(";"))
    }
}

fn whole(text: &str) -> Result<u64, RetentionPolicyError> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = if digits { text.parse().ok() } else { None };
    number.filter(|number| (1..=i64::MAX as u64).contains(number)).ok_or(RetentionPolicyError::Number)
}

/// A number, perhaps with a fraction, and a unit; both units are powers of 1 024, as nwaku has them.
fn size(text: &str) -> Result<u64, RetentionPolicyError> {
    let (number, factor) = match (text.strip_suffix("mb"), text.strip_suffix("gb")) {
        (Some(number), _) => (number, 1_u64 << 20),
        (_, Some(number)) => (number, 1 << 30),
        _ => return Err(RetentionPolicyError::Unit),
    };
    let plain = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let bytes = if plain { number.parse::<f64>().ok() } else { None }.map(|number| number * factor as f64);
    bytes.filter(|bytes| (1.0..9e18).contains(bytes)).map(|bytes| bytes as u64).ok_or(RetentionPolicyError::Number)
}

/// What an archive keeps at one moment. The oldest messages are dropped as long as one of the limits asks for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// Drop what can go while at least so many messages remain.
    pub messages_max: Option<u64>,
    /// Drop until the archive has at most so many bytes, its index included.
    pub bytes_max: Option<u64>,
    /// Drop messages from before this time, nanoseconds since the Unix epoch; segments when all of theirs are.
    pub timestamp_min_ns: Option<i64>,
    /// A segment with a message from before this time takes no more, so that it can be dropped soon after that message is due.
    pub segment_timestamp_min_ns: Option<i64>,
}

/// What a step of retention dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    /// Segments, whose room is free again.
    pub segments: u64,
    /// Messages.
    pub messages: u64,
    /// Bytes of the segments.
    pub bytes: u64,
    /// Another step has something to do at once.
    pub unfinished: bool,
}

impl Retention {
    /// Whether the oldest segment goes, which holds `messages` up to `timestamp_max`, of an archive with so many messages and bytes.
    pub(crate) fn lets_go(&self, messages: u64, timestamp_max: i64, of_messages: u64, of_bytes: u64) -> bool {
        self.messages_max.is_some_and(|max| of_messages.saturating_sub(messages) >= max)
            || self.bytes_max.is_some_and(|max| of_bytes > max)
            || self.timestamp_min_ns.is_some_and(|min| timestamp_max < min)
    }

    /// Whether a segment that holds so much, from `timestamp_min` on, is to take no more.
    pub(crate) fn ends_segment(&self, messages: u64, bytes: u64, timestamp_min: i64) -> bool {
        self.messages_max.is_some_and(|max| messages >= (max / STEPS).max(SEGMENT_MESSAGES_MIN))
            || self.bytes_max.is_some_and(|max| bytes >= (max / STEPS).max(SEGMENT_BYTES_MIN))
            || self.segment_timestamp_min_ns.is_some_and(|min| timestamp_min < min)
    }
}

#[cfg(test)]
mod tests {
    use super::{Retention, RetentionPolicy, RetentionPolicyError};

    fn policy(seconds_max: u64, messages_max: u64, bytes_max: u64) -> RetentionPolicy {
        let some = |limit| (limit > 0).then_some(limit);
        let (seconds_max, messages_max) = (some(seconds_max), some(messages_max));
        RetentionPolicy { seconds_max, messages_max, bytes_max: some(bytes_max) }
    }

    #[test]
    fn policies_of_nwaku_are_read() {
        for (text, expected) in [
            ("none", policy(0, 0, 0)),
            ("time:172800", policy(172_800, 0, 0)),
            ("capacity:25000", policy(0, 25_000, 0)),
            ("size:30gb", policy(0, 0, 30 << 30)),
            ("size:1.5MB", policy(0, 0, 3 << 19)),
            ("TIME:60; size:2Mb ;none", policy(60, 0, 2 << 20)),
            ("capacity:5;capacity:3;capacity:9", policy(0, 3, 0)),
        ] {
            assert_eq!(text.parse(), Ok(expected), "{text}");
            assert_eq!(expected.to_string().parse(), Ok(expected), "{expected}");
        }
        assert!(!policy(0, 0, 0).is_limited() && policy(1, 0, 0).is_limited());
    }

    #[test]
    fn anything_else_is_refused() {
        use RetentionPolicyError::{Number, Unit, Unknown};
        for (text, expected) in [
            ("", Unknown),
            ("time", Unknown),
            ("forever:1", Unknown),
            ("time:1;", Unknown),
            ("time:", Number),
            ("time:0", Number),
            ("time:-1", Number),
            ("time:+1", Number),
            ("time:1.5", Number),
            ("time:9223372036854775808", Number),
            ("capacity:many", Number),
            ("size:1", Unit),
            ("size:1kb", Unit),
            ("size:MB", Number),
            ("size:0.0GB", Number),
            ("size:infgb", Number),
            ("size:1e3mb", Number),
            ("size:9999999999999GB", Number),
        ] {
            assert_eq!(text.parse::<RetentionPolicy>(), Err(expected), "{text}");
        }
    }

    #[test]
    fn limits_move_with_the_clock() {
        let second = 1_000_000_000;
        let retention = policy(80, 7, 0).at(100 * second);
        assert_eq!(retention.timestamp_min_ns, Some(20 * second));
        assert_eq!(retention.segment_timestamp_min_ns, Some(90 * second));
        assert_eq!((retention.messages_max, retention.bytes_max), (Some(7), None));
        assert_eq!(policy(i64::MAX as u64, 0, 0).at(0).timestamp_min_ns, Some(i64::MIN));
    }

    #[test]
    fn one_limit_is_enough_to_let_a_segment_go() {
        let none = Retention::default();
        let lets_go = |retention: Retention| retention.lets_go(10, 500, 50, 5_000);
        assert!(!lets_go(none));
        for (messages_max, expected) in [(50, false), (41, false), (40, true), (0, true)] {
            assert_eq!(lets_go(Retention { messages_max: Some(messages_max), ..none }), expected);
        }
        for (bytes_max, expected) in [(5_000, false), (4_999, true), (0, true)] {
            assert_eq!(lets_go(Retention { bytes_max: Some(bytes_max), ..none }), expected);
        }
        for (timestamp_min_ns, expected) in [(500, false), (501, true)] {
            assert_eq!(lets_go(Retention { timestamp_min_ns: Some(timestamp_min_ns), ..none }), expected);
        }
        assert!(lets_go(Retention { messages_max: Some(50), bytes_max: Some(1), timestamp_min_ns: Some(0), ..none }));
    }

    #[test]
    fn segments_end_at_an_eighth_of_what_may_stay() {
        let none = Retention::default();
        let ends = |retention: Retention| retention.ends_segment(100, 2 << 20, 500);
        assert!(!ends(none));
        assert!(
            ends(Retention { messages_max: Some(800), ..none }) && !ends(Retention { messages_max: Some(808), ..none })
        );
        assert!(
            ends(Retention { bytes_max: Some(16 << 20), ..none })
                && !ends(Retention { bytes_max: Some(17 << 20), ..none })
        );
        assert!(ends(Retention { segment_timestamp_min_ns: Some(501), ..none }));
        assert!(!ends(Retention { segment_timestamp_min_ns: Some(500), ..none }));
        assert!(!Retention { messages_max: Some(1), bytes_max: Some(1), ..none }.ends_segment(63, (1 << 20) - 1, 0));
    }
}
