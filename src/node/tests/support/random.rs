//! Seeded random numbers: a failing run is repeated with the seed that it printed.

use std::time::Duration;

/// SplitMix64.
pub struct Random(u64);

impl Random {
    /// From `LEVADA_SEED`, else 42; says which.
    pub fn from_environment() -> Self {
        let given = std::env::var("LEVADA_SEED").ok();
        let seed = given.map_or(42, |text| text.parse().expect("LEVADA_SEED is a whole number"));
        println!("LEVADA_SEED={seed}");
        Self(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// Less than `max`.
    pub fn duration(&mut self, max: Duration) -> Duration {
        Duration::from_micros(self.below(max.as_micros() as u64))
    }

    /// A generator of its own for a thread.
    pub fn fork(&mut self) -> Self {
        Self(self.next())
    }
}
