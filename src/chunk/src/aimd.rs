//! How many chunks are sent at once: more while peers keep up, half as many when they do not. Outcomes in, a limit out.
//!
//! Limits and thresholds are those of Autonomi's client (ant-core 0.14.0). Unlike there, what is slow counts towards what is usual:
//! a way that stays slow does not keep the limit at its floor. What bounds memory is not this but the arena.

use std::time::Duration;

/// How a send to one peer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sample {
    /// The peer did what it was asked, within this time.
    Success(Duration),
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
    timeouts: usize,
    /// Times of this window's successes.
    latencies: Vec<Duration>,
    /// What is usual: a moving mean of the windows' 95th percentiles.
    usual: Option<Duration>,
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
    /// Times what is usual that a window's 95th percentile may take; beyond, the limit falls.
    const LATENCY_TIMES_MAX: u32 = 4;
    /// Part of a window in what is usual: one in so many.
    const USUAL_WEIGHT: u32 = 5;

    /// A limit that starts at [`START`](Self::START) and never exceeds `ceiling`, nor [`CEILING`](Self::CEILING).
    pub fn new(ceiling: usize) -> Self {
        let ceiling = ceiling.clamp(Self::FLOOR, Self::CEILING);
        let latencies = Vec::with_capacity(Self::WINDOW);
        Self { limit: Self::START.min(ceiling), ceiling, samples: 0, timeouts: 0, latencies, usual: None }
    }

    /// Chunks that may be on their way at once.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Takes a sample into account. When a window is complete, the limit rises by one or falls by half.
    pub fn record(&mut self, sample: Sample) {
        self.samples += 1;
        match sample {
            Sample::Success(latency) => self.latencies.push(latency),
            Sample::Timeout => self.timeouts += 1,
            Sample::Failure => {}
        }
        if self.samples < Self::WINDOW {
            return;
        }
        let too_few = self.latencies.len() * 100 < Self::SUCCESSES_PCT_MIN * self.samples;
        let too_late = self.timeouts * 100 > Self::TIMEOUTS_PCT_MAX * self.samples;
        let too_slow = self.is_slower_than_usual();
        self.limit = if too_few || too_late || too_slow {
            (self.limit / 2).max(Self::FLOOR)
        } else {
            (self.limit + 1).min(self.ceiling)
        };
        (self.samples, self.timeouts) = (0, 0);
        self.latencies.clear();
    }

    /// Compares the window with what is usual, of which it becomes a part.
    fn is_slower_than_usual(&mut self) -> bool {
        self.latencies.sort_unstable();
        let position = (self.latencies.len() * 95).div_ceil(100).saturating_sub(1);
        let Some(p95) = self.latencies.get(position).copied() else { return false };
        let usual = self.usual.unwrap_or(p95);
        self.usual = Some((usual * (Self::USUAL_WEIGHT - 1) + p95) / Self::USUAL_WEIGHT);
        p95 > usual.saturating_mul(Self::LATENCY_TIMES_MAX)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SOON: Sample = Sample::Success(Duration::from_millis(100));

    fn after(limit: usize, failures: usize, timeouts: usize) -> usize {
        let mut aimd = Aimd { limit, ..Aimd::new(Aimd::CEILING) };
        let successes = Aimd::WINDOW - failures - timeouts;
        for (sample, count) in [(SOON, successes), (Sample::Failure, failures), (Sample::Timeout, timeouts)] {
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
        (0..56 * Aimd::WINDOW).for_each(|_| aimd.record(SOON));
        assert_eq!(aimd.limit(), Aimd::CEILING);
        (0..7 * Aimd::WINDOW).for_each(|_| aimd.record(Sample::Timeout));
        assert_eq!(aimd.limit(), Aimd::FLOOR);
        assert_eq!((Aimd::new(3).limit(), Aimd::new(0).limit()), (3, 1));
    }

    #[test]
    fn it_falls_when_the_slowest_take_four_times_what_is_usual_and_gets_used_to_it() {
        let window = |aimd: &mut Aimd, slow: usize, slow_ms: u64| {
            let slow_one = Sample::Success(Duration::from_millis(slow_ms));
            (0..Aimd::WINDOW).for_each(|sample| aimd.record(if sample < slow { slow_one } else { SOON }));
            aimd.limit()
        };
        let mut aimd = Aimd::new(Aimd::CEILING);
        assert_eq!(window(&mut aimd, Aimd::WINDOW, 100), 9, "the first says what is usual");
        assert_eq!(window(&mut aimd, 1, 10_000), 10, "one of 32 is above the 95th percentile");
        assert_eq!(window(&mut aimd, 2, 400), 11, "four times is within the bound");
        let mut aimd = Aimd::new(Aimd::CEILING);
        window(&mut aimd, 0, 0);
        assert_eq!(window(&mut aimd, 2, 401), 4, "more is not");
        assert_eq!(window(&mut aimd, Aimd::WINDOW, 1_000), 2);
        assert_eq!(window(&mut aimd, Aimd::WINDOW, 1_000), 3, "a way that stays slow is usual by now");
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
                    aimd.record(match sample { 0 => Sample::Failure, 1 => Sample::Timeout, _ => SOON });
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
