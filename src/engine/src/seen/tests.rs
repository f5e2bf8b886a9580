//! What the size of a set promises, and what becomes of keys that crowd each other.

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
