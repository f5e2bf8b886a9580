//! How many chunks are sent at once: more while peers keep up, half as many when they do not. Outcomes in, a limit out.
//!
//! Limits and thresholds are those of Autonomi's client. What bounds memory is not this but the arena.

/// How a send to one peer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sample {
    /// The peer did what it was asked.
    Success,
    /// It failed, or was lost.
    Failure,
    /// It did not answer in time.
    Timeout,
}

/// Additive increase, multiplicative decrease over windows of [`Aimd::WINDOW`] samples.
#[derive(Clone, Debug)]
pub struct Aimd {
    limit: usize,
    ceiling: usize,
    samples: usize,
    successes: usize,
    timeouts: usize,
}

impl Aimd {
    /// The least limit.
    pub const FLOOR: usize = 1;
    /// The limit at first.
    pub const START: usize = 8;
    /// The greatest limit.
    pub const CEILING: usize = 64;
    /// Samples that one decision is made on.
    pub const WINDOW: usize = 32;
    /// Successes, in hundredths of a window, below which the limit falls.
    const SUCCESSES_PCT_MIN: usize = 88;
    /// Timeouts, in hundredths of a window, above which the limit falls.
    const TIMEOUTS_PCT_MAX: usize = 10;

    /// A limit that starts at [`START`](Self::START) and never exceeds `ceiling`, nor [`CEILING`](Self::CEILING).
    pub fn new(ceiling: usize) -> Self {
        let ceiling = ceiling.clamp(Self::FLOOR, Self::CEILING);
        Self { limit: Self::START.min(ceiling), ceiling, samples: 0, successes: 0, timeouts: 0 }
    }

    /// Chunks that may be on their way at once.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Takes a sample into account. When a window is complete, the limit rises by one or falls by half.
    pub fn record(&mut self, sample: Sample) {
        self.samples += 1;
        self.successes += usize::from(sample == Sample::Success);
        self.timeouts += usize::from(sample == Sample::Timeout);
        if self.samples < Self::WINDOW {
            return;
        }
        let too_few = self.successes * 100 < Self::SUCCESSES_PCT_MIN * self.samples;
        let too_late = self.timeouts * 100 > Self::TIMEOUTS_PCT_MAX * self.samples;
        self.limit =
            if too_few || too_late { (self.limit / 2).max(Self::FLOOR) } else { (self.limit + 1).min(self.ceiling) };
        (self.samples, self.successes, self.timeouts) = (0, 0, 0);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn after(limit: usize, failures: usize, timeouts: usize) -> usize {
        let mut aimd = Aimd { limit, ..Aimd::new(Aimd::CEILING) };
        let successes = Aimd::WINDOW - failures - timeouts;
        for (sample, count) in [(Sample::Success, successes), (Sample::Failure, failures), (Sample::Timeout, timeouts)]
        {
            (0..count).for_each(|_| aimd.record(sample));
        }
        aimd.limit()
    }

    #[test]
    fn the_thresholds_are_where_they_are_said_to_be() {
        assert_eq!(after(8, 0, 0), 9);
        assert_eq!(after(8, 3, 0), 9, "29 of 32 are 0.906");
        assert_eq!(after(8, 4, 0), 4, "28 of 32 are 0.875");
        assert_eq!(after(8, 0, 3), 9, "3 of 32 are 9.4 %");
        assert_eq!(after(8, 0, 4), 4, "4 of 32 are 12.5 %");
        assert_eq!((after(64, 0, 0), after(1, 32, 0), after(1, 0, 0)), (64, 1, 2));
    }

    #[test]
    fn it_climbs_from_start_to_ceiling_and_falls_to_the_floor() {
        let mut aimd = Aimd::new(usize::MAX);
        assert_eq!(aimd.limit(), Aimd::START);
        (0..56 * Aimd::WINDOW).for_each(|_| aimd.record(Sample::Success));
        assert_eq!(aimd.limit(), Aimd::CEILING);
        (0..7 * Aimd::WINDOW).for_each(|_| aimd.record(Sample::Timeout));
        assert_eq!(aimd.limit(), Aimd::FLOOR);
        assert_eq!((Aimd::new(3).limit(), Aimd::new(0).limit()), (3, 1));
    }

    proptest! {
        /// Whatever comes: within its bounds, changed only at a window's end, and in the direction that the window says.
        #[test]
        fn the_limit_follows_the_windows(ceiling in 1..=Aimd::CEILING, samples in prop::collection::vec(0..10_u8, 0..2_000)) {
            let mut aimd = Aimd::new(ceiling);
            for window in samples.chunks(Aimd::WINDOW) {
                let before = aimd.limit();
                for (count, sample) in window.iter().enumerate() {
                    prop_assert!(count == 0 || aimd.limit() == before);
                    aimd.record(match sample { 0 => Sample::Failure, 1 => Sample::Timeout, _ => Sample::Success });
                }
                prop_assert!((Aimd::FLOOR..=ceiling).contains(&aimd.limit()));
                if window.len() == Aimd::WINDOW {
                    let share = |wanted: fn(u8) -> bool| window.iter().filter(|sample| wanted(**sample)).count() as f64 / 32.0;
                    let falls = share(|sample| sample > 1) < 0.88 || share(|sample| sample == 1) > 0.10;
                    prop_assert_eq!(aimd.limit() < before || before == Aimd::FLOOR, falls || before == Aimd::FLOOR);
                    prop_assert!(falls || aimd.limit() > before || before == ceiling);
                }
            }
        }
    }
}
