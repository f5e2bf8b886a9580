//! The set behind `seen` beside a map and an LRU cache, each behind one lock; one thread, half of the ids new. What several
//! threads do to it is in the bench `seen`.

use std::collections::HashMap;
use std::sync::Mutex;

use criterion::Criterion;
use hashlink::LruCache;
use levada_benches::workload::SplitMix64;
use levada_stages::seen::{IDS_MAX, SeenSet, Sighting, WINDOW};
use levada_wire::hash::Digest;
use levada_wire::waku::Origin;

use crate::comparison::Comparison;
use crate::repeat::repeat;
use crate::through::random_hash;

/// Ids of an iteration: so many new ones, each followed by its duplicate.
const NEW: usize = 512;

/// Ids that nobody repeats, in batches.
struct Arrivals(SplitMix64);

impl Arrivals {
    /// Asks `is_new` about each id twice, and returns how often it said yes.
    fn through(&mut self, mut is_new: impl FnMut(&Digest) -> bool) -> u64 {
        let mut batch = [[0; 32]; NEW];
        batch.iter_mut().for_each(|id| *id = random_hash(&mut self.0));
        let twice = batch.iter().chain(&batch);
        twice.map(|id| u64::from(is_new(id))).sum()
    }
}

pub fn seen(criterion: &mut Criterion) {
    let mut comparison = Comparison::new(criterion, "stage_seen", 2 * NEW as u64);
    let set = SeenSet::new(IDS_MAX, WINDOW);
    let mut arrivals = Arrivals(SplitMix64::new(1));
    comparison.bench("seen_set", move |iterations| {
        repeat(iterations, || arrivals.through(|id| set.insert(id, Origin::Gossip) == Sighting::New))
    });
    let cache = Mutex::new(LruCache::new(IDS_MAX));
    let mut arrivals = Arrivals(SplitMix64::new(2));
    comparison.bench("hashlink_lru", move |iterations| {
        repeat(iterations, || arrivals.through(|id| cache.lock().expect("nobody panics").insert(*id, true).is_none()))
    });
    let map = Mutex::new(HashMap::with_capacity(IDS_MAX));
    let mut arrivals = Arrivals(SplitMix64::new(3));
    comparison.bench("map_behind_lock", move |iterations| {
        repeat(iterations, || {
            let lock = || map.lock().expect("nobody panics");
            if lock().len() >= IDS_MAX {
                lock().clear();
            }
            arrivals.through(|id| lock().insert(*id, true).is_none())
        })
    });
    comparison.finish();
}
