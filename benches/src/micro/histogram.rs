//! What was measured once per message or per round, counted by size in fixed memory: a list would grow with the speed of
//! the path and show in its heap.

/// Binary digits of a value that are kept behind its first: percentiles are exact below 256 and off by less than 1 % above.
const DIGITS: u32 = 7;

/// Buckets for each doubling of the value.
const STEPS: usize = 1 << DIGITS;

/// How many values there were of which size.
#[derive(Debug, Clone)]
pub struct Histogram {
    buckets: Box<[u64]>,
    total: u64,
}

impl Default for Histogram {
    /// Empty; this is the only allocation.
    fn default() -> Self {
        Self { buckets: vec![0; bucket_of(u64::MAX) + 1].into(), total: 0 }
    }
}

impl Histogram {
    /// Bytes on the heap.
    pub fn heap_bytes(&self) -> usize {
        size_of_val(&*self.buckets)
    }

    /// Counts one.
    pub fn add(&mut self, value: u64) {
        self.buckets[bucket_of(value)] += 1;
        self.total += 1;
    }

    /// The value that `pct` percent do not exceed; 0 when there is none.
    pub fn percentile(&self, pct: u64) -> u64 {
        let rank = self.total.saturating_sub(1) * pct / 100;
        let mut seen = 0;
        let found = self.buckets.iter().position(|count| {
            seen += count;
            seen > rank
        });
        found.map_or(0, value_of)
    }
}

fn bucket_of(value: u64) -> usize {
    let shift = (value | 1).ilog2().saturating_sub(DIGITS);
    STEPS * shift as usize + (value >> shift) as usize
}

/// The middle of a bucket.
fn value_of(bucket: usize) -> u64 {
    let shift = (bucket / STEPS).saturating_sub(1);
    let lowest = ((bucket - STEPS * shift) as u64) << shift;
    lowest + (1 << shift) / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_in_order_and_narrow() {
        let around = |power: u32| [(1_u64 << power) - 1, 1 << power, (1 << power) + 1, (1 << power) / 2 * 3];
        let mut last = 0;
        for value in (0..10_000).chain((14..64).flat_map(around)).chain([u64::MAX]) {
            let bucket = bucket_of(value);
            assert!(bucket >= last || value < 1 << 15, "{value}");
            assert!(value_of(bucket).abs_diff(value) <= value / 128, "{value}");
            last = bucket;
        }
    }

    #[test]
    fn percentiles_are_of_the_ranks() {
        let mut values = Histogram::default();
        assert_eq!(values.percentile(50), 0);
        (1..=100).rev().for_each(|value| values.add(value));
        assert_eq!([0, 50, 99, 100].map(|pct| values.percentile(pct)), [1, 50, 99, 100]);
        values.add(5_000_000);
        assert!(values.percentile(100).abs_diff(5_000_000) <= 5_000_000 / 128);
    }
}
