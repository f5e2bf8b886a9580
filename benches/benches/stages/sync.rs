//! `sync`, and the index behind it, beside an ordered map and the sorted array that nwaku keeps.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::ops::Range;
use std::sync::Arc;

use criterion::Criterion;
use levada_archive::{Key, Summary, SyncIndex};
use levada_benches::workload::SplitMix64;
use levada_stages::sync::{SyncStage, WINDOW};

use crate::comparison::Comparison;
use crate::repeat::repeat;
use crate::through::{SMALL, Slots, Through, random_hash, ticket};

/// Keys in the index: an hour at 28 messages a second.
const HELD: i64 = 100_000;

/// Keys inserted in an iteration, and as many pruned.
const ARRIVING: i64 = 256;

/// How far a message may come before or after its time: so many others.
const JITTER: u64 = 512;

/// Bytes that hold everything here.
const BYTES_MAX: usize = 64 << 20;

/// Messages a microsecond apart, nearly in order.
struct Arrivals {
    random: SplitMix64,
    next: i64,
}

impl Arrivals {
    fn new() -> Self {
        Self { random: SplitMix64::new(7), next: 0 }
    }

    fn key(&mut self) -> Key {
        self.next += 1;
        let jitter = (self.random.next_u64() % JITTER) as i64;
        ((self.next + jitter) * 1_000, random_hash(&mut self.random))
    }

    /// The time before which everything is pruned.
    fn horizon(&self) -> i64 {
        (self.next - HELD) * 1_000
    }
}

pub fn stage(criterion: &mut Criterion) {
    let mut comparison = Comparison::new(criterion, "stage_sync", SMALL.len() as u64);
    let index = Arc::new(SyncIndex::new(1, BYTES_MAX));
    let mut stage = Through::new(Slots::new(&SMALL), SyncStage::new(index.clone(), WINDOW));
    let mut arrivals = Arrivals::new();
    comparison.bench("stage", move |iterations| {
        repeat(iterations, || {
            index.prune_before(arrivals.horizon());
            stage.pass(|record| (record.timestamp, record.hash) = arrivals.key(), ticket)
        })
    });
    let mut empty = Through::empty(Slots::new(&SMALL));
    let mut arrivals = Arrivals::new();
    comparison.bench("empty_stage", move |iterations| {
        repeat(iterations, || empty.pass(|record| (record.timestamp, record.hash) = arrivals.key(), ticket))
    });
    comparison.finish();
}

/// Inserting while as much is pruned. The keys are made while the clock runs, in each line alike.
pub fn index(criterion: &mut Criterion) {
    let mut comparison = Comparison::new(criterion, "sync_insert_and_prune", ARRIVING as u64);
    let (index, mut arrivals) = (SyncIndex::new(1, BYTES_MAX), Arrivals::new());
    (0..HELD).for_each(|_| _ = index.insert_batch(std::iter::once((0, arrivals.key()))));
    comparison.bench("sync_index", move |iterations| {
        repeat(iterations, || {
            let added = index.insert_batch((0..ARRIVING).map(|_| (0, arrivals.key()))).added;
            index.prune_before(arrivals.horizon());
            added
        })
    });
    let mut arrivals = Arrivals::new();
    let mut map: BTreeMap<Key, ()> = (0..HELD).map(|_| (arrivals.key(), ())).collect();
    comparison.bench("ordered_map", move |iterations| {
        repeat(iterations, || {
            let added = (0..ARRIVING).filter(|_| map.insert(arrivals.key(), ()).is_none()).count();
            while let Some(first) = map.first_entry().filter(|first| first.key().0 < arrivals.horizon()) {
                first.remove();
            }
            added as u64
        })
    });
    let mut arrivals = Arrivals::new();
    let mut array: Vec<Key> = (0..HELD).map(|_| arrivals.key()).collect();
    array.sort_unstable();
    comparison.bench("sorted_array", move |iterations| {
        repeat(iterations, || {
            let mut added = 0;
            for _ in 0..ARRIVING {
                let key = arrivals.key();
                if let Err(at) = array.binary_search(&key) {
                    array.insert(at, key);
                    added += 1;
                }
            }
            array.drain(..array.partition_point(|key| key.0 < arrivals.horizon()));
            added
        })
    });
    comparison.finish();
}

fn scan<'a>(keys: impl Iterator<Item = &'a Key>) -> Summary {
    keys.fold(Summary::default(), |mut summary, (_, hash)| {
        summary.count += 1;
        summary.fingerprint.iter_mut().zip(hash).for_each(|(byte, other)| *byte ^= other);
        summary
    })
}

fn digest(summary: &Summary) -> u64 {
    summary.fingerprint.iter().fold(summary.count, |digest, byte| digest.rotate_left(8) ^ u64::from(*byte))
}

/// The summary of all that is held, of an eighth, and of a hundred messages.
pub fn ranges(criterion: &mut Criterion) {
    for (name, count) in [("all", HELD), ("eighth", HELD / 8), ("hundred", 100)] {
        let (index, mut arrivals) = (SyncIndex::new(1, BYTES_MAX), Arrivals::new());
        let mut array: Vec<Key> = (0..HELD).map(|_| arrivals.key()).collect();
        array.iter().for_each(|key| _ = index.insert_batch(std::iter::once((0, *key))));
        array.sort_unstable();
        let map: BTreeMap<Key, ()> = array.iter().map(|key| (*key, ())).collect();
        let middle = HELD / 2;
        let range: Range<Key> = ((middle - count / 2) * 1_000, [7; 32])..((middle + count / 2) * 1_000, [9; 32]);
        let mut comparison = Comparison::new(criterion, &format!("sync_summary_{name}"), 1);
        comparison
            .bench("sync_index", |iterations| repeat(iterations, || digest(&index.summary(0, black_box(&range)))));
        comparison.bench("ordered_map", |iterations| {
            repeat(iterations, || digest(&scan(map.range(black_box(&range).clone()).map(|(key, ())| key))))
        });
        comparison.bench("sorted_array", |iterations| {
            repeat(iterations, || {
                let range = black_box(&range);
                let place = |bound: &Key| array.partition_point(|key| key < bound);
                digest(&scan(array[place(&range.start)..place(&range.end)].iter()))
            })
        });
        comparison.finish();
    }
}
