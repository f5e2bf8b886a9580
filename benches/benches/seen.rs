//! The shared seen set against maps behind locks, by one thread and by two that are given the same keys.

#[path = "shared/comparison.rs"]
mod comparison;

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Barrier, Mutex};
use std::time::{Duration, Instant};

use comparison::{Comparison, Timed};
use criterion::{Criterion, criterion_group, criterion_main};
use levada_benches::workload::SplitMix64;
use levada_stages::seen::{IDS_MAX, SeenSet, Sighting, WINDOW};
use levada_wire::hash::Digest;
use levada_wire::waku::Origin;

/// Keys in one iteration.
const KEYS: u64 = 1 << 14;

/// Keys between the first copy of a key and the next.
const APART: u64 = 64;

/// What one would otherwise take: two generations of maps, split by the first byte of the id over locks.
struct Locked {
    shards: Vec<Mutex<Generations>>,
    ids_per_generation: usize,
}

struct Generations {
    young: HashMap<Digest, bool>,
    old: HashMap<Digest, bool>,
    since: Instant,
}

impl Locked {
    const SHARDS: usize = 16;

    fn new() -> Self {
        let ids_per_generation = IDS_MAX / Self::SHARDS;
        let map = || HashMap::with_capacity(ids_per_generation);
        let shard = || Mutex::new(Generations { young: map(), old: map(), since: Instant::now() });
        Self { shards: std::iter::repeat_with(shard).take(Self::SHARDS).collect(), ids_per_generation }
    }

    /// True when the id is new.
    fn insert(&self, id: &Digest) -> bool {
        let mut shard = self.shards[usize::from(id[0]) % Self::SHARDS].lock().expect("nobody panics");
        let shard = &mut *shard;
        if shard.young.len() >= self.ids_per_generation || shard.since.elapsed() >= WINDOW {
            std::mem::swap(&mut shard.young, &mut shard.old);
            shard.young.clear();
            shard.since = Instant::now();
        }
        let Some(by_peer) = shard.young.get_mut(id).or_else(|| shard.old.get_mut(id)) else {
            shard.young.insert(*id, true);
            return true;
        };
        *by_peer = true;
        false
    }
}

fn key(number: u64) -> Digest {
    let (mut random, mut key) = (SplitMix64::new(number), [0; 32]);
    key.chunks_exact_mut(8).for_each(|word| word.copy_from_slice(&random.next_u64().to_le_bytes()));
    key
}

/// Every key of a block, `copies` times; how many were new.
fn insert_block(first: u64, copies: u64, insert: &impl Fn(&Digest) -> bool) -> u64 {
    let mut new = 0;
    for some in (first..first + KEYS).step_by(APART as usize) {
        for _ in 0..copies {
            new += (some..some + APART).filter(|number| insert(&key(*number))).count() as u64;
        }
    }
    new
}

/// All threads insert all keys of each block; the blocks are others each time.
fn run(threads: usize, copies: u64, blocks: u64, first: u64, insert: &(impl Fn(&Digest) -> bool + Sync)) -> Timed {
    let (together, new) = (Barrier::new(threads), AtomicU64::new(0));
    let elapsed = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|thread| {
                let (together, new) = (&together, &new);
                scope.spawn(move || {
                    bind(thread);
                    together.wait();
                    let started = Instant::now();
                    let found: u64 = (0..blocks).map(|block| insert_block(first + block * KEYS, copies, insert)).sum();
                    new.fetch_add(found, Relaxed);
                    started.elapsed()
                })
            })
            .collect();
        let elapsed = workers.into_iter().map(|worker| worker.join().expect("no worker panics"));
        elapsed.max().unwrap_or(Duration::ZERO)
    });
    Timed { elapsed, work: new.into_inner() / blocks }
}

fn bind(thread: usize) {
    let cores = core_affinity::get_core_ids().unwrap_or_default();
    if !cores.is_empty() {
        core_affinity::set_for_current(cores[thread % cores.len()]);
    }
}

/// Copies of each key per thread: a message comes once, or from six mesh peers.
fn compare(criterion: &mut Criterion, name: &str, threads: usize, copies: u64) {
    let (set, locked, next) = (SeenSet::new(IDS_MAX, WINDOW), Locked::new(), Cell::new(0));
    let first = |blocks: u64| next.replace(next.get() + blocks * KEYS);
    let mut comparison = Comparison::new(criterion, name, KEYS * copies * threads as u64);
    comparison.bench("set", |blocks| {
        let insert = |id: &Digest| set.insert(id, Origin::Gossip) == Sighting::New;
        run(threads, copies, blocks, first(blocks), &insert)
    });
    comparison.bench("maps_behind_locks", |blocks| {
        run(threads, copies, blocks, first(blocks), &|id: &Digest| locked.insert(id))
    });
    comparison.finish();
}

fn seen(criterion: &mut Criterion) {
    compare(criterion, "seen_once_by_one_thread", 1, 1);
    compare(criterion, "seen_six_times_by_one_thread", 1, 6);
    compare(criterion, "seen_once_by_two_threads", 2, 1);
    compare(criterion, "seen_three_times_by_two_threads", 2, 3);
}

criterion_group!(benches, seen);
criterion_main!(benches);
