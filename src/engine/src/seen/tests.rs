//! The set against a plain model that knows the buckets, and what its size promises.

use std::collections::{HashMap, VecDeque};

use super::*;

/// SplitMix64 (Steele, Lea, Flood 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

fn bytes(key: Key) -> [u8; 32] {
    std::array::from_fn(|place| key[place / 8].to_le_bytes()[place % 8])
}

/// Keys as digests are.
fn spread(number: u64) -> [u8; 32] {
    let mut random = Random(number);
    bytes(std::array::from_fn(|_| random.next()))
}

/// Keys that all fall into one bucket, with one fingerprint, as long as the secret is zero.
fn crowded(number: u64) -> [u8; 32] {
    bytes([0, number, 0, !number])
}

/// What the set does, said in ordinary collections.
struct Model {
    keys: HashMap<[u8; 32], (u64, u8)>,
    buckets: HashMap<usize, VecDeque<u64>>,
    capacity: u64,
    next: u64,
    young: u64,
    horizon: u64,
    crowded_out: u64,
}

impl Model {
    fn insert(&mut self, key: [u8; 32], bucket: usize, marks: u8) -> Sight {
        let bucket = self.buckets.entry(bucket).or_default();
        if let Some((position, known)) = self.keys.get_mut(&key)
            && *position >= self.horizon
            && *position + self.capacity >= self.next
            && bucket.contains(position)
        {
            let before = *known;
            *known |= marks;
            return Sight::Known { marks: before };
        }
        let position = self.next;
        self.next += 1;
        bucket.push_back(position);
        if bucket.len() > WAYS
            && let Some(lost) = bucket.pop_front()
            && lost >= self.horizon
            && position - lost < self.capacity
        {
            self.crowded_out += 1;
        }
        self.keys.insert(key, (position, marks));
        Sight::New
    }

    fn rotate(&mut self) {
        self.horizon = self.young;
        self.young = self.next;
    }
}

/// Insertions and rotations in one comparison.
const STEPS: u64 = 10_000;

/// Random insertions and rotations, from a first position on.
fn compare(seed: u64, first: u64) {
    let mut random = Random(seed);
    let set = Set::with_secret(KEYS_MIN, [0; 4]);
    set.log.start_at(first);
    set.young.store(first, Relaxed);
    let capacity = KEYS_MIN as u64;
    let (keys, buckets) = (HashMap::new(), HashMap::new());
    let mut model = Model { keys, buckets, capacity, next: first, young: first, horizon: 1, crowded_out: 0 };
    for step in 0..STEPS {
        if random.below(500) == 0 {
            set.rotate();
            model.rotate();
        }
        // Somewhat more keys than the set holds, and many that come again soon.
        let number = if random.below(2) == 0 { random.below(64) } else { random.below(3 * capacity) };
        let key = if number % 8 == 0 { crowded(number) } else { spread(number) };
        let bucket = (set.secret.hash(&words(&key)) >> 32) as usize % set.buckets.len();
        let marks = (random.next() & random.next()) as u8;
        let expected = model.insert(key, bucket, marks);
        assert_eq!(set.insert(&key, marks), expected, "seed {seed}, first position {first}, step {step}");
        assert_eq!(set.crowded_out_total(), model.crowded_out, "seed {seed}, first position {first}, step {step}");
    }
    assert!(model.crowded_out > 0, "seed {seed} crowds no bucket");
}

#[test]
fn it_does_what_the_model_does() {
    let seeds = if std::env::var_os("LEVADA_DEEP").is_some() { 500 } else { 10 };
    (0..seeds).for_each(|seed| compare(seed, log::FIRST));
}

#[test]
fn the_last_positions_that_a_word_holds_work_too() {
    (0..3).for_each(|seed| compare(seed, (1 << 48) - 1 - STEPS));
}

#[test]
fn a_full_set_remembers_nearly_all_of_its_newest_keys() {
    let set = Set::with_secret(1 << 14, [1, 2, 3, 4]);
    let keys = set.keys_max() as u64;
    for number in 0..4 * keys {
        assert_eq!(set.insert(&spread(number), 0), Sight::New);
    }
    // Five in a million of all insertions, some of which are of keys that would be gone by now.
    assert!(set.crowded_out_total() <= 4 * keys / 50_000, "{} crowded out", set.crowded_out_total());
    let known = (3 * keys..4 * keys).filter(|number| set.insert(&spread(*number), 0) != Sight::New).count() as u64;
    assert!(known + set.crowded_out_total() >= keys, "{known} of {keys}");
}

#[test]
fn keys_that_all_fall_into_one_bucket_cost_each_other_and_nobody_else() {
    let set = Set::with_secret(1 << 10, [0; 4]);
    assert!((0..100).all(|number| set.insert(&spread(number), 0) == Sight::New));
    for number in 1..=500 {
        assert_eq!(set.insert(&crowded(number), 0), Sight::New);
    }
    assert_eq!(set.crowded_out_total(), 500 - WAYS as u64);
    let newest = 501 - WAYS as u64..=500;
    assert!(newest.into_iter().all(|number| set.insert(&crowded(number), 0) != Sight::New));
    assert!((0..100).all(|number| set.insert(&spread(number), 0) != Sight::New));
    // The same keys under a secret are spread like any other.
    let set = Set::new(1 << 10);
    (1..=500).for_each(|number| _ = set.insert(&crowded(number), 0));
    assert_eq!(set.crowded_out_total(), 0);
}

#[test]
fn a_writer_that_never_comes_back_costs_its_entry() {
    let set = Set::with_secret(KEYS_MIN, [1, 2, 3, 4]);
    set.log.abandon_next();
    let keys = 3 * KEYS_MIN as u64;
    assert!((0..keys).all(|number| set.insert(&spread(number), 0) == Sight::New));
    let known = (0..keys).rev().take_while(|number| set.insert(&spread(*number), 0) != Sight::New).count();
    assert_eq!(known, KEYS_MIN - 1);
}

#[test]
fn sizes_are_rounded_and_bounded() {
    for (asked, keys) in [(0, 256), (256, 256), (257, 512), (5_000, 8_192)] {
        let set = Set::new(asked);
        assert_eq!((set.keys_max(), set.bytes()), (keys, keys * 96));
    }
}
