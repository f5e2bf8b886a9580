//! Random operations, with an ordered map as the oracle.

use std::collections::BTreeMap;

use levada_archive::{Archive, Direction, Key, Query, SegmentArchive};

use crate::sample::{Place, Random, SEGMENT_BYTES, contents, hash_of, insert, message, repeats};

/// The messages there are, in their order; the number says when each was inserted.
#[derive(Default)]
struct Model {
    by_key: BTreeMap<Key, u64>,
    inserted: Vec<u64>,
}

impl Model {
    fn insert(&mut self, number: u64) -> bool {
        let new = self.by_key.insert((number as i64, hash_of(number)), number).is_none();
        if new {
            self.inserted.push(number);
        }
        new
    }

    fn drop_oldest(&mut self, count: usize) {
        for number in self.inserted.drain(..count) {
            self.by_key.remove(&(number as i64, hash_of(number)));
        }
    }
}

/// 12 runs of 60 operations; fewer or more as [`repeats`] says.
#[test]
fn random_operations_agree_with_an_ordered_map() {
    for seed in 0..repeats(12) {
        let outcome = std::panic::catch_unwind(|| run(seed));
        assert!(outcome.is_ok(), "seed {seed}");
    }
}

fn run(seed: u64) {
    let mut random = Random(seed);
    let place = Place::new();
    let mut archive = place.open();
    let mut model = Model::default();
    for _ in 0..60 {
        match random.below(20) {
            0..9 => insert_some(&mut archive, &mut model, &mut random),
            9..14 => query(&archive, &model, &mut random),
            14..16 => retain(&mut archive, &mut model, &mut random),
            16 => {
                if random.below(8) == 0 {
                    archive.clear().unwrap();
                    model = Model::default();
                }
            }
            17 => {
                let before = model.by_key.len();
                fail(&mut archive);
                assert_eq!(archive.message_count().unwrap(), before as u64);
            }
            _ => {
                drop(archive);
                if random.below(4) == 0 {
                    place.lose_index();
                }
                archive = place.open();
            }
        }
        assert_eq!(archive.message_count().unwrap(), model.by_key.len() as u64);
    }
    assert!(contents(&archive).into_iter().eq(model.by_key.values().copied()));
}

/// Numbers from a small range, so that duplicates are met.
fn insert_some(archive: &mut SegmentArchive, model: &mut Model, random: &mut Random) {
    let numbers: Vec<u64> = (0..random.below(9)).map(|_| random.below(300)).collect();
    let outcome = insert(archive, numbers.iter().copied());
    let stored = numbers.iter().filter(|number| model.insert(**number)).count() as u64;
    assert_eq!((outcome.stored, outcome.duplicates), (stored, numbers.len() as u64 - stored));
}

fn query(archive: &SegmentArchive, model: &Model, random: &mut Random) {
    let start = random.below(300) as i64;
    let limit = 1 + random.below(12);
    let backward = random.below(2) == 0;
    let mut reader = archive.reader().unwrap();
    let (direction, bound) = if backward { (Direction::Backward, "end") } else { (Direction::Forward, "start") };
    let (time_start, time_end) = if bound == "end" { (None, Some(start)) } else { (Some(start), None) };
    let query = Query { time_start, time_end, direction, page_size: Some(limit), ..Query::default() };
    let found: Vec<Key> = reader.query(&query).unwrap().messages.iter().map(|stored| key_of(&stored.hash)).collect();
    let keys = model.by_key.keys().copied();
    let mut expected: Vec<Key> = if backward {
        keys.rev().filter(|key| key.0 <= start).take(limit as usize).collect()
    } else {
        keys.filter(|key| key.0 >= start).take(limit as usize).collect()
    };
    expected.sort_unstable();
    assert_eq!(found, expected);
    let after = (start, [0; 32]);
    let of_topic = |key: &&Key| **key > after && key.0 % 3 == 0;
    let expected: Vec<Key> = model.by_key.keys().filter(of_topic).take(5).copied().collect();
    assert_eq!(reader.keys_after(message(0, &[]).pubsub_topic, after, 5).unwrap(), expected);
}

fn key_of(hash: &levada_archive::Hash) -> Key {
    (crate::sample::number_of(hash) as i64, *hash)
}

fn retain(archive: &mut SegmentArchive, model: &mut Model, random: &mut Random) {
    let keep = random.below(60);
    let dropped = crate::sample::keep(archive, keep);
    assert!(dropped.messages <= dropped.segments * (SEGMENT_BYTES / 96));
    model.drop_oldest(dropped.messages as usize);
    assert!(dropped.messages == 0 || model.by_key.len() as u64 >= keep);
    assert_eq!(archive.message_count().unwrap(), model.by_key.len() as u64);
}

/// A batch that panics half-way leaves nothing.
fn fail(archive: &mut SegmentArchive) {
    let payload = vec![0; 30_000];
    let mut batch = (0..6).map(|number| {
        assert!(number < 5, "the panic of this test");
        message(1_000 + number, &payload)
    });
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| archive.insert_batch(&mut batch)));
    assert!(panicked.is_err());
}
