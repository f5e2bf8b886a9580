//! How values spread: how many lay within each of a few steps, and their sum.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Steps of a histogram at most.
const STEPS_MAX: usize = 17;

/// The steps that values are counted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Steps {
    /// Upper bounds of the steps, ascending; what lies above the last is in one more.
    bounds: &'static [u64],
    /// How many of what is counted make one of what is shown: 10⁹ for nanoseconds shown as seconds.
    per_unit: u64,
}

impl Steps {
    /// Nanoseconds, shown as seconds: what is usual for requests, from 5 ms to 30 s.
    pub const SECONDS: Self = Self::new(
        &[
            5_000_000,
            10_000_000,
            25_000_000,
            50_000_000,
            75_000_000,
            100_000_000,
            250_000_000,
            500_000_000,
            750_000_000,
            1_000_000_000,
            2_500_000_000,
            5_000_000_000,
            7_500_000_000,
            10_000_000_000,
            15_000_000_000,
            20_000_000_000,
            30_000_000_000,
        ],
        1_000_000_000,
    );

    /// Steps with these upper bounds, at most 17 and ascending, of which `per_unit` make one of what is shown.
    pub const fn new(bounds: &'static [u64], per_unit: u64) -> Self {
        assert!(bounds.len() <= STEPS_MAX && per_unit > 0);
        Self { bounds, per_unit }
    }
}

/// Values by steps. To observe one takes two additions and allocates nothing.
#[derive(Debug)]
pub struct Histogram {
    steps: Steps,
    counts: [AtomicU64; STEPS_MAX + 1],
    sum: AtomicU64,
}

/// What a [`Histogram`] has observed.
#[derive(Debug, Clone, PartialEq)]
pub struct Observed {
    /// The sum, in what is shown.
    pub sum: f64,
    /// How many lay within each bound and above the one before; the last bound is infinite.
    pub steps: Vec<(f64, u64)>,
}

impl Histogram {
    /// A histogram without values; `const`, so that it can be a `static`.
    pub const fn new(steps: Steps) -> Self {
        Self { steps, counts: [const { AtomicU64::new(0) }; STEPS_MAX + 1], sum: AtomicU64::new(0) }
    }

    /// Counts a value.
    #[inline]
    pub fn observe(&self, value: u64) {
        let step = self.steps.bounds.partition_point(|bound| value > *bound);
        self.counts[step].fetch_add(1, Relaxed);
        self.sum.fetch_add(value, Relaxed);
    }

    /// Counts a duration, in nanoseconds.
    pub fn observe_duration(&self, duration: Duration) {
        self.observe(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX));
    }

    /// What was observed so far.
    pub fn observed(&self) -> Observed {
        let shown = |value: u64| value as f64 / self.steps.per_unit as f64;
        let bounds = self.steps.bounds.iter().map(|bound| shown(*bound)).chain([f64::INFINITY]);
        let steps = bounds.zip(&self.counts).map(|(bound, count)| (bound, count.load(Relaxed))).collect();
        Observed { sum: shown(self.sum.load(Relaxed)), steps }
    }
}

impl Default for Histogram {
    /// Of durations.
    fn default() -> Self {
        Self::new(Steps::SECONDS)
    }
}

impl Observed {
    /// How many were observed.
    pub fn count(&self) -> u64 {
        self.steps.iter().map(|(_, count)| count).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(observed: &Observed) -> Vec<(f64, u64)> {
        observed.steps.iter().copied().filter(|(_, count)| *count > 0).collect()
    }

    #[test]
    fn a_duration_counts_in_the_first_step_that_holds_it() {
        let histogram = Histogram::default();
        for ms in [0, 5, 6, 30_000, 30_001] {
            histogram.observe_duration(Duration::from_millis(ms));
        }
        let observed = histogram.observed();
        assert_eq!(counted(&observed), [(0.005, 2), (0.01, 1), (30.0, 1), (f64::INFINITY, 1)]);
        assert_eq!((observed.count(), observed.sum), (5, 60.012));
    }

    #[test]
    fn steps_are_shown_in_their_unit() {
        static SIZES: Histogram = Histogram::new(Steps::new(&[0, 1_000, 3_000], 1_000));
        for bytes in [0, 1, 1_000, 1_001, 3_001] {
            SIZES.observe(bytes);
        }
        let observed = SIZES.observed();
        assert_eq!(counted(&observed), [(0.0, 1), (1.0, 2), (3.0, 1), (f64::INFINITY, 1)]);
        assert_eq!((observed.steps.len(), observed.sum), (4, 5.003));
    }
}
