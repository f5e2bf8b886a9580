//! How long things took, in nwaku's steps.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Upper bounds of the steps in milliseconds; what took longer is in one more.
const BOUNDS_MS: [u64; 17] =
    [5, 10, 25, 50, 75, 100, 250, 500, 750, 1_000, 2_500, 5_000, 7_500, 10_000, 15_000, 20_000, 30_000];

/// Durations by steps. To observe one allocates nothing.
#[derive(Debug, Default)]
pub struct Histogram {
    steps: [AtomicU64; BOUNDS_MS.len() + 1],
    sum_ns: AtomicU64,
}

/// What a [`Histogram`] has observed.
#[derive(Debug, Clone, PartialEq)]
pub struct Durations {
    /// The sum, in seconds.
    pub sum_seconds: f64,
    /// How many lay within each bound in seconds and above the one before; the last bound is the greatest number there is.
    pub steps: Vec<(f64, u64)>,
}

impl Histogram {
    /// Counts a duration.
    pub fn observe(&self, duration: Duration) {
        let step = BOUNDS_MS.partition_point(|bound| duration > Duration::from_millis(*bound));
        self.steps[step].fetch_add(1, Relaxed);
        self.sum_ns.fetch_add(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX), Relaxed);
    }

    /// What was observed so far.
    pub fn durations(&self) -> Durations {
        let bounds = BOUNDS_MS.iter().map(|bound| *bound as f64 / 1e3).chain([f64::MAX]);
        let steps = bounds.zip(&self.steps).map(|(bound, step)| (bound, step.load(Relaxed))).collect();
        Durations { sum_seconds: self.sum_ns.load(Relaxed) as f64 / 1e9, steps }
    }
}

impl Durations {
    /// How many were observed.
    pub fn count(&self) -> u64 {
        self.steps.iter().map(|(_, count)| count).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_counts_in_the_first_step_that_holds_it() {
        let histogram = Histogram::default();
        for ms in [0, 5, 6, 30_000, 30_001] {
            histogram.observe(Duration::from_millis(ms));
        }
        let durations = histogram.durations();
        let counted: Vec<(f64, u64)> = durations.steps.iter().copied().filter(|(_, count)| *count > 0).collect();
        assert_eq!(counted, [(0.005, 2), (0.01, 1), (30.0, 1), (f64::MAX, 1)]);
        assert_eq!((durations.count(), durations.sum_seconds), (5, 60.012));
    }
}
