//! Which messages an archive takes (13/WAKU2-STORE, with the window of 20 s that the network uses).

/// Furthest a timestamp may be from the node's clock, either way, in nanoseconds: 20 seconds. It bounds how far a sender can
/// write into the past or the future of everybody's archive, and leaves room for clocks that are set by hand.
pub const TIMESTAMP_DISTANCE_NS_MAX: u64 = 20_000_000_000;

/// Why a message is not archived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Ineligible {
    /// Its sender asked that it be stored nowhere.
    #[error("the message is ephemeral, and ephemeral messages are never archived")]
    Ephemeral,
    /// Its timestamp lies too far back, which includes a timestamp that is absent (0).
    #[error("the timestamp of the message is more than 20 s in the past; the sender's clock, or this node's, is wrong")]
    TooOld,
    /// Its timestamp lies too far ahead.
    #[error(
        "the timestamp of the message is more than 20 s in the future; the sender's clock, or this node's, is wrong"
    )]
    Future,
}

/// Tells whether a message that arrived at `now_ns` may be archived. Both times are nanoseconds since the Unix epoch. Messages that
/// come by store-sync were judged by the node they come from and do not pass here.
///
/// # Errors
/// The reason why not.
pub fn eligible(timestamp_ns: i64, ephemeral: bool, now_ns: i64) -> Result<(), Ineligible> {
    if ephemeral {
        Err(Ineligible::Ephemeral)
    } else if timestamp_ns.abs_diff(now_ns) <= TIMESTAMP_DISTANCE_NS_MAX {
        Ok(())
    } else if timestamp_ns < now_ns {
        Err(Ineligible::TooOld)
    } else {
        Err(Ineligible::Future)
    }
}

#[cfg(test)]
mod tests {
    use super::{Ineligible, eligible};

    const NOW: i64 = 1_700_000_000_000_000_000;
    const WINDOW: i64 = 20_000_000_000;

    #[test]
    fn window_includes_its_ends() {
        for timestamp in [NOW - WINDOW, NOW, NOW + WINDOW] {
            assert_eq!(eligible(timestamp, false, NOW), Ok(()));
        }
        assert_eq!(eligible(NOW - WINDOW - 1, false, NOW), Err(Ineligible::TooOld));
        assert_eq!(eligible(NOW + WINDOW + 1, false, NOW), Err(Ineligible::Future));
    }

    #[test]
    fn absent_and_extreme_timestamps() {
        assert_eq!(eligible(0, false, NOW), Err(Ineligible::TooOld));
        assert_eq!(eligible(i64::MIN, false, i64::MAX), Err(Ineligible::TooOld));
        assert_eq!(eligible(i64::MAX, false, i64::MIN), Err(Ineligible::Future));
    }

    #[test]
    fn ephemeral_wins_over_the_window() {
        assert_eq!(eligible(NOW, true, NOW), Err(Ineligible::Ephemeral));
        assert_eq!(eligible(0, true, NOW), Err(Ineligible::Ephemeral));
    }
}
