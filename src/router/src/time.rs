//! The caller's clock as a number.

use std::time::Duration;

/// A moment of the caller's monotonic clock: nanoseconds since any start that stays the same for one router.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(u64);

impl Moment {
    /// The start of the clock.
    pub const ZERO: Self = Self(0);

    /// The moment `nanos` nanoseconds after the start.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the start.
    pub const fn nanos(self) -> u64 {
        self.0
    }

    /// The moment `wait` later, or the last one there is.
    pub fn after(self, wait: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX)))
    }

    /// The time from `earlier` to this moment, zero if `earlier` is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_and_differences_stop_at_the_ends() {
        let moment = Moment::ZERO.after(Duration::from_millis(5));
        assert_eq!(moment.nanos(), 5_000_000);
        assert_eq!(moment.since(Moment::ZERO), Duration::from_millis(5));
        assert_eq!(Moment::ZERO.since(moment), Duration::ZERO);
        assert_eq!(moment.after(Duration::MAX), Moment::from_nanos(u64::MAX));
    }
}
