//! Against an ordered set that does the same the slow way.

use std::collections::BTreeSet;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::*;
use crate::Hash;

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn hash(&mut self) -> Hash {
        let mut hash = [0; 32];
        hash.chunks_mut(8).for_each(|chunk| chunk.copy_from_slice(&self.next().to_le_bytes()));
        hash
    }
}

const SHARDS: usize = 3;

fn xor(keys: &[Key]) -> Summary {
    let mut fingerprint = [0; 32];
    keys.iter().for_each(|(_, hash)| fingerprint.iter_mut().zip(hash).for_each(|(byte, other)| *byte ^= other));
    Summary { count: keys.len() as u64, fingerprint }
}

/// The index, and what it should hold.
struct Model {
    random: Random,
    index: SyncIndex,
    expected: Vec<BTreeSet<Key>>,
    now: i64,
    recent: Vec<(u32, Key)>,
}

impl Model {
    fn new(seed: u64, bytes_max: usize) -> Self {
        let index = SyncIndex::new(SHARDS, bytes_max);
        let expected = vec![BTreeSet::new(); SHARDS];
        Self { random: Random(seed), index, expected, now: 1_000_000, recent: Vec::new() }
    }

    /// A bound near what is there, or far from it, or a key itself.
    fn bound(&mut self) -> Key {
        match self.random.below(8) {
            0 => (i64::MIN, [0; 32]),
            1 => (i64::MAX, [0xff; 32]),
            2 | 3 if !self.recent.is_empty() => self.recent[self.random.below(self.recent.len() as u64) as usize].1,
            _ => (self.now - self.random.below(20_000) as i64 + 1_000, [self.random.below(256) as u8; 32]),
        }
    }

    fn range(&mut self) -> (u32, Range<Key>) {
        let shard = self.random.below(SHARDS as u64) as u32;
        let (one, other) = (self.bound(), self.bound());
        (shard, if self.random.below(16) == 0 { one..other } else { one.min(other)..one.max(other) })
    }

    fn insert(&mut self) {
        self.now += self.random.below(3) as i64;
        let jitter = match self.random.below(16) {
            0 => self.random.below(30_000) as i64 - 15_000,
            _ => self.random.below(400) as i64 - 200,
        };
        let fresh = (self.random.below(SHARDS as u64) as u32, (self.now + jitter, self.random.hash()));
        let (shard, key) = match self.random.below(10) {
            0 if !self.recent.is_empty() => self.recent[self.random.below(self.recent.len() as u64) as usize],
            _ => fresh,
        };
        let floors: Vec<Key> = self.index.lock().shards.iter().map(|shard| shard.evicted_floor).collect();
        let outcome = self.index.insert_batch(std::iter::once((shard, key)));
        // What the index pushed out is told by its floors, and must be the oldest of the shard.
        let state = self.index.lock();
        for (expected, (now, before)) in self.expected.iter_mut().zip(state.shards.iter().zip(floors)) {
            assert!(now.evicted_floor >= before, "the floor of what was pushed out never sinks");
            *expected = expected.split_off(&now.evicted_floor);
        }
        let floor = state.shards[shard as usize].evicted_floor.max(state.age_floor);
        drop(state);
        let expected = &mut self.expected[shard as usize];
        let expected = match key >= floor {
            false => SyncInserted { refused: 1, ..SyncInserted::default() },
            true if expected.insert(key) => SyncInserted { added: 1, ..SyncInserted::default() },
            true => SyncInserted { known: 1, ..SyncInserted::default() },
        };
        assert_eq!(outcome, expected);
        if self.recent.len() < 1_000 {
            self.recent.push((shard, key));
        } else {
            let place = self.random.below(1_000) as usize;
            self.recent[place] = (shard, key);
        }
    }

    fn prune(&mut self) {
        let timestamp = self.now - self.random.below(30_000) as i64;
        let before = self.index.pruned_total();
        self.index.prune_before(timestamp);
        let mut pruned = 0;
        for expected in &mut self.expected {
            let kept = expected.split_off(&(timestamp, [0; 32]));
            pruned += std::mem::replace(expected, kept).len() as u64;
        }
        assert_eq!(self.index.pruned_total() - before, pruned);
    }

    fn look(&mut self) {
        let (shard, range) = self.range();
        let all = &self.expected[shard as usize];
        let expected: Vec<Key> =
            if range.is_empty() { Vec::new() } else { all.range(range.clone()).copied().collect() };
        assert_eq!(self.index.summary(shard, &range), xor(&expected));
        let keys_max = self.random.below(200) as usize;
        assert_eq!(self.index.keys(shard, &range, keys_max), expected[..keys_max.min(expected.len())]);
        let parts = 1 + self.random.below(12);
        self.check_parts(shard, &range, parts, &expected);
    }

    fn check_parts(&self, shard: u32, range: &Range<Key>, parts: u64, expected: &[Key]) {
        let cut = self.index.split(shard, range, parts);
        assert_eq!(cut.len(), expected.len().min(parts as usize));
        let (mut start, mut rest) = (range.start, expected);
        for part in &cut {
            assert_eq!(part.range.start, start);
            let (own, behind) = rest.split_at(part.summary.count as usize);
            assert_eq!(part.summary, xor(own));
            assert!(own.iter().all(|key| part.range.contains(key)));
            (start, rest) = (part.range.end, behind);
        }
        assert!(rest.is_empty() && (cut.is_empty() || start == range.end));
        let counts = cut.iter().map(|part| part.summary.count);
        assert!(counts.clone().max().unwrap_or(0) - counts.min().unwrap_or(0) <= 1);
    }

    fn run(&mut self, operations: usize) {
        let room = self.index.lock().slab.room();
        for _ in 0..operations {
            match self.random.below(1_000) {
                0..3 => self.prune(),
                3..60 => self.look(),
                _ => self.insert(),
            }
        }
        let counts = self.expected.iter().zip(0..).map(|(keys, shard)| (shard, keys.len() as u64));
        assert_eq!(self.index.counts(), counts.filter(|(_, count)| *count > 0).collect::<Vec<_>>());
        self.index.prune_before(i64::MAX);
        assert_eq!((self.index.counts(), self.index.lock().slab.room()), (Vec::new(), room), "every node came back");
    }
}

fn run(seed: u64, bytes_max: usize, operations: usize) -> Model {
    let mut model = Model::new(seed, bytes_max);
    let outcome = catch_unwind(AssertUnwindSafe(|| model.run(operations)));
    assert!(outcome.is_ok(), "the model failed with seed {seed} and {bytes_max} bytes");
    model
}

/// Operations in each of the tests below.
fn operations() -> usize {
    let deep = std::env::var_os("LEVADA_DEEP").is_some_and(|deep| deep == "1");
    if deep { 1_000_000 } else { 100_000 }
}

#[test]
fn agrees_with_an_ordered_set() {
    let model = run(1, 256 << 20, operations());
    assert_eq!(model.index.evicted_total(), 0);
    assert!(model.index.pruned_total() > 0 && model.index.refused_total() > 0);
}

#[test]
fn agrees_while_the_oldest_are_pushed_out() {
    for (seed, bytes_max) in [(2, 0), (3, 24 * NODE_BYTES), (4, 75 * NODE_BYTES)] {
        let model = run(seed, bytes_max, operations() / 4);
        assert!(model.index.evicted_total() > 0);
        assert!(model.index.bytes() <= bytes_max.max(SYNC_INDEX_BYTES_MIN));
    }
}

#[test]
fn the_oldest_of_all_shards_goes_first() {
    let index = SyncIndex::new(2, 0);
    let mut random = Random(5);
    let mut insert = |shard, timestamp| index.insert_batch(std::iter::once((shard, (timestamp, random.hash()))));
    (0..300).for_each(|timestamp| _ = insert(0, timestamp));
    (300..4_000).for_each(|timestamp| _ = insert(1, timestamp));
    assert_eq!(index.counts().iter().map(|(shard, _)| *shard).collect::<Vec<_>>(), [1]);
    assert_eq!(insert(0, 10), SyncInserted { refused: 1, ..SyncInserted::default() });
    assert_eq!(insert(0, 4_000).added, 1);
    assert_eq!(insert(2, 4_000).refused, 1, "there is no such shard");
}

fn insert_times(index: &SyncIndex, timestamps: impl Iterator<Item = i64>) -> SyncInserted {
    index.insert_batch(timestamps.map(|timestamp| (0, (timestamp, [7; 32]))))
}

#[test]
fn a_clock_that_went_ahead_and_back_refuses_nothing_for_long() {
    let index = SyncIndex::new(1, 1 << 20);
    assert_eq!(insert_times(&index, 0..10).added, 10);
    index.prune_before(1_000_000);
    assert_eq!((index.counts(), insert_times(&index, 10..20).refused), (Vec::new(), 10));
    index.prune_before(5);
    assert_eq!(insert_times(&index, 0..20), SyncInserted { added: 15, refused: 5, ..SyncInserted::default() });
}

#[test]
fn keys_older_than_all_others_are_found() {
    let index = SyncIndex::new(1, 16 << 20);
    insert_times(&index, 0..20_000);
    index.prune_before(10_000);
    index.prune_before(i64::MIN);
    insert_times(&index, (0..10_000).rev());
    for start in (0..20_000).step_by(97) {
        let range = (start, [0; 32])..(start + 500, [0; 32]);
        let expected = 500.min(20_000 - start);
        assert_eq!(index.summary(0, &range).count, expected as u64, "from {start}");
        assert_eq!(index.keys(0, &range, 1_000).len(), expected as usize, "from {start}");
    }
    assert_eq!(insert_times(&index, 0..20_000), SyncInserted { known: 20_000, ..SyncInserted::default() });
}

/// What an attacker would do to make the tree hold few keys in many nodes.
#[test]
fn no_order_of_arrival_wastes_room() {
    let orders: [fn(i64) -> i64; 4] =
        [|step| step, |step| -step, |step| step % 2 * 1_000_000 - step, |step| step * 7_919 % 20_011];
    for (number, order) in orders.into_iter().enumerate() {
        let index = SyncIndex::new(1, 256 << 20);
        (0..20_000).for_each(|step| _ = index.insert_batch(std::iter::once((0, (order(step), [7; 32])))));
        assert_eq!(index.counts(), [(0, 20_000)]);
        assert!(index.bytes() < 20_000 * 100, "order {number}: {} bytes", index.bytes());
    }
}

#[test]
fn slices_of_time_follow_on_each_other() {
    let hash = |byte| [byte; 32];
    let slices = |range: Range<Key>, count| time_slices(&range, count).collect::<Vec<_>>();
    let zero = [0; 32];
    assert_eq!(
        slices((10, hash(3))..(21, hash(4)), 3),
        [(10, hash(3))..(14, zero), (14, zero)..(18, zero), (18, zero)..(21, hash(4))]
    );
    assert_eq!(slices((5, hash(1))..(5, hash(2)), 8), [(5, hash(1))..(5, hash(2))]);
    assert_eq!(slices((5, hash(2))..(5, hash(2)), 8), []);
    assert_eq!(slices((5, zero)..(7, zero), 8), [(5, zero)..(6, zero), (6, zero)..(7, zero)]);
    let all = slices((i64::MIN, zero)..(i64::MAX, zero), 8);
    assert!(all.len() == 8 && all.windows(2).all(|pair| pair[0].end == pair[1].start && pair[0].start < pair[0].end));
}

#[test]
fn the_key_behind_another() {
    assert_eq!(successor((1, [0; 32])), (1, std::array::from_fn(|at| u8::from(at == 31))));
    assert_eq!(successor((1, [0xff; 32])), (2, [0; 32]));
}
