//! `seen`: ends duplicates before they are decoded, by the whole 32-byte gossipsub id.
//!
//! Cost: one lookup per message. The set is shared by all lanes, fixed in bytes, and remembers an id for one to two
//! windows of time, or until as many newer ids have pushed it out.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use levada_engine::{Counter, Stage};
use levada_wire::hash::Digest;
use levada_wire::waku::{Origin, RejectReason, Verdict, WakuRecord};

use crate::{Messages, Ports};

/// Locks the set is split over, by the first byte of the id.
const SHARDS: usize = 16;

/// Ids the default set remembers at least: two minutes at a thousand messages a second.
pub const IDS_MAX: usize = 131_072;

/// How long an id is remembered at least, the seen time of 11/WAKU2-RELAY's reference configuration.
pub const WINDOW: Duration = Duration::from_secs(120);

/// The ids seen lately.
#[derive(Debug)]
pub struct SeenSet {
    shards: [Mutex<Generations>; SHARDS],
    ids_per_generation: usize,
    window: Duration,
    duplicates: Counter,
}

/// Two sets: new ids go into the young one; when it is full or old, it becomes the old one and the old one is emptied.
#[derive(Debug)]
struct Generations {
    young: HashSet<Digest>,
    old: HashSet<Digest>,
    since: Instant,
}

impl SeenSet {
    /// A set that remembers each id for at least `window`, unless more than `ids_max` newer ones arrive within it.
    /// Allocates everything at once.
    pub fn new(ids_max: usize, window: Duration) -> Self {
        let ids_per_generation = ids_max.div_ceil(SHARDS).max(1);
        let set = || HashSet::with_capacity(ids_per_generation);
        let shard = |_| Mutex::new(Generations { young: set(), old: set(), since: Instant::now() });
        Self { shards: std::array::from_fn(shard), ids_per_generation, window, duplicates: Counter::new() }
    }

    /// Remembers the id; true when it was not known.
    pub fn insert(&self, id: &Digest) -> bool {
        let shard = &self.shards[usize::from(id[0]) % SHARDS];
        let mut shard = shard.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if shard.young.len() >= self.ids_per_generation || shard.since.elapsed() >= self.window {
            let shard = &mut *shard;
            std::mem::swap(&mut shard.young, &mut shard.old);
            shard.young.clear();
            shard.since = Instant::now();
        }
        if shard.young.contains(id) || shard.old.contains(id) {
            self.duplicates.add(1);
            return false;
        }
        shard.young.insert(*id)
    }

    /// Duplicates found so far.
    pub fn duplicates_total(&self) -> u64 {
        self.duplicates.value()
    }
}

/// Passes new messages on, and repeated publications; marks duplicates from peers as ignored.
#[derive(Debug)]
pub struct Seen {
    set: Arc<SeenSet>,
}

impl Seen {
    /// A lane over the shared set.
    pub fn new(set: Arc<SeenSet>) -> Self {
        Self { set }
    }
}

const NEW: usize = 0;
const DUPLICATE: usize = 1;

impl Stage<WakuRecord> for Seen {
    fn ports(&self) -> &'static [&'static str] {
        &["new", "duplicate"]
    }

    fn process(&mut self, batch: &mut Messages<'_>, ports: &mut Ports<'_>) {
        for mut envelope in batch {
            // A publisher that repeats itself wants to be sure: the archive knows duplicates by their hash, and only its
            // answer tells that the message is stored.
            let is_new = self.set.insert(&envelope.record().id);
            if is_new {
                ports.send(NEW, envelope);
            } else if envelope.record().origin == Origin::Publish {
                crate::record(&mut envelope).repeated = true;
                ports.send(NEW, envelope);
            } else {
                let record = crate::record(&mut envelope);
                (record.verdict, record.reject_reason) = (Verdict::Ignore, RejectReason::Duplicate);
                ports.send(DUPLICATE, envelope);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u32) -> Digest {
        let mut id = [0; 32];
        id[0] = number as u8;
        id[4..8].copy_from_slice(&number.to_be_bytes());
        id
    }

    #[test]
    fn an_id_is_new_once() {
        let set = SeenSet::new(1_000, WINDOW);
        assert!((0..500).all(|number| set.insert(&id(number))));
        assert!((0..500).all(|number| !set.insert(&id(number))));
        assert_eq!(set.duplicates_total(), 500);
    }

    #[test]
    fn the_newest_ids_are_remembered_and_the_set_stays_bounded() {
        let set = SeenSet::new(1_600, WINDOW);
        (0..100_000).for_each(|number| assert!(set.insert(&id(number))));
        assert!((99_000..100_000).all(|number| !set.insert(&id(number))), "fewer than ids_max newer ones came since");
        assert!(set.insert(&id(0)), "an old id has been pushed out");
        let kept: usize = set.shards.iter().map(|shard| shard.lock().map_or(0, |s| s.young.len() + s.old.len())).sum();
        assert!(kept <= 2 * 1_600);
    }

    #[test]
    fn an_id_is_forgotten_after_two_windows() {
        let set = SeenSet::new(1_000, Duration::ZERO);
        assert!(set.insert(&id(16)));
        assert!(set.insert(&id(32)), "another id of the same shard turns the generations");
        assert!(set.insert(&id(48)));
        assert!(set.insert(&id(16)));
    }
}
