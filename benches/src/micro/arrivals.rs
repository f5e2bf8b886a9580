//! The open loop: messages are due at times drawn beforehand, whether or not the path keeps up.
//!
//! A closed loop brings the next message in when one has come out, so a path that stalls is asked for less while it does, and
//! the stall shows in one latency instead of many ("coordinated omission", Gil Tene). Here each latency counts from the time
//! at which the message was due.

use crate::workload::SplitMix64;

/// Keeps the gaps from repeating the order of the payload sizes, which is drawn from the same seed.
const STREAM: u64 = 0x6172_7269_7661_6c73;

/// A Poisson process: the gaps between arrivals are exponential, the same for one seed.
#[derive(Debug)]
pub struct Arrivals {
    random: SplitMix64,
    gap_ns_mean: f64,
    /// Time of the last arrival drawn, from the first one's lead on.
    offset_ns: f64,
}

impl Arrivals {
    /// Arrivals at a mean of `rate_msg_per_s`, which is at least 1.
    pub fn new(seed: u64, rate_msg_per_s: u64) -> Self {
        let gap_ns_mean = 1e9 / rate_msg_per_s as f64;
        Self { random: SplitMix64::new(seed ^ STREAM), gap_ns_mean, offset_ns: 0.0 }
    }

    /// Starts over at time zero, with other gaps than before.
    pub fn restart(&mut self) {
        self.offset_ns = 0.0;
    }

    /// The time of the next arrival, in nanoseconds.
    pub fn next_ns(&mut self) -> u64 {
        // Above 0 and up to 1, with the 53 bits that the fraction of a double holds.
        let uniform = ((self.random.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
        self.offset_ns -= uniform.ln() * self.gap_ns_mean;
        self.offset_ns as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrivals(seed: u64, count: usize) -> Vec<u64> {
        let mut arrivals = Arrivals::new(seed, 10_000);
        (0..count).map(|_| arrivals.next_ns()).collect()
    }

    #[test]
    fn the_gaps_are_those_of_a_poisson_process_at_the_rate() {
        let times = arrivals(42, 100_000);
        assert!(times.is_sorted());
        let mean = *times.last().expect("there are some") as f64 / times.len() as f64;
        assert!((mean - 100_000.0).abs() < 1_000.0, "{mean} ns instead of 100 us");
        // Of exponential gaps, one in e is longer than the mean.
        let longer = times.windows(2).filter(|pair| pair[1] - pair[0] > 100_000).count() as f64 / times.len() as f64;
        assert!((longer - (-1_f64).exp()).abs() < 0.01, "{longer} of the gaps are longer than the mean");
    }

    #[test]
    fn a_seed_repeats_the_times_and_a_new_start_changes_them() {
        assert_eq!(arrivals(42, 100), arrivals(42, 100));
        assert_ne!(arrivals(42, 100), arrivals(43, 100));
        let mut again = Arrivals::new(42, 10_000);
        let first = again.next_ns();
        again.restart();
        assert_ne!(again.next_ns(), first);
    }
}
