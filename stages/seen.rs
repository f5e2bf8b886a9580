//! `seen`: ends duplicates before they are decoded, by the whole 32-byte gossipsub id.
//!
//! Cost: one lookup per message. The set is shared by all lanes, fixed in bytes, and remembers an id for one to two
//! windows of time, or until as many newer ids have pushed it out.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use levada_engine::{BatchLimit, Counter, Stage};
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

/// Two maps: new ids go into the young one; when it is full or old, it becomes the old one and the old one is emptied.
/// Beside each id: whether a peer has sent it.
#[derive(Debug)]
struct Generations {
    young: HashMap<Digest, bool>,
    old: HashMap<Digest, bool>,
    since: Instant,
}

/// What the set knows of an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sighting {
    /// Nothing.
    New,
    /// It was published here, and no peer has sent it; or it was sent by a peer and is now published here.
    Repeated,
    /// A peer sent it before, and so does another now.
    Duplicate,
}

impl SeenSet {
    /// A set that remembers each id for at least `window`, unless more than `ids_max` newer ones arrive within it.
    /// Allocates everything at once.
    pub fn new(ids_max: usize, window: Duration) -> Self {
        let ids_per_generation = ids_max.div_ceil(SHARDS).max(1);
        let set = || HashMap::with_capacity(ids_per_generation);
        let shard = |_| Mutex::new(Generations { young: set(), old: set(), since: Instant::now() });
        Self { shards: std::array::from_fn(shard), ids_per_generation, window, duplicates: Counter::new() }
    }

    /// Remembers the id, and says what was known of it.
    pub fn insert(&self, id: &Digest, origin: Origin) -> Sighting {
        let shard = &self.shards[usize::from(id[0]) % SHARDS];
        let mut shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
        let shard = &mut *shard;
        if shard.young.len() >= self.ids_per_generation || shard.since.elapsed() >= self.window {
            std::mem::swap(&mut shard.young, &mut shard.old);
            shard.young.clear();
            shard.since = Instant::now();
        }
        let by_peer = origin == Origin::Gossip;
        let Some(sent_by_peer) = shard.young.get_mut(id).or_else(|| shard.old.get_mut(id)) else {
            shard.young.insert(*id, by_peer);
            return Sighting::New;
        };
        if by_peer && std::mem::replace(sent_by_peer, true) {
            self.duplicates.add(1);
            return Sighting::Duplicate;
        }
        Sighting::Repeated
    }

    /// Duplicates found so far.
    pub fn duplicates_total(&self) -> u64 {
        self.duplicates.value()
    }
}

/// Passes new and repeated messages on, and marks duplicates as ignored.
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

    fn batch_limit(&self) -> BatchLimit {
        crate::HEADERS_ONLY
    }

    fn process(&mut self, batch: &mut Messages<'_>, ports: &mut Ports<'_>) {
        for mut envelope in batch {
            match self.set.insert(&envelope.record().id, envelope.record().origin) {
                Sighting::New => ports.send(NEW, envelope),
                // A publisher that repeats itself wants to be sure: only the archive's answer tells that the message is
                // stored, and it knows duplicates by their hash. A peer that sends what was published here while nobody
                // listened waits for a verdict that lets it travel on.
                Sighting::Repeated => {
                    crate::record(&mut envelope).repeated = true;
                    ports.send(NEW, envelope);
                }
                Sighting::Duplicate => {
                    let record = crate::record(&mut envelope);
                    (record.verdict, record.reject_reason) = (Verdict::Ignore, RejectReason::Duplicate);
                    ports.send(DUPLICATE, envelope);
                }
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
        assert!((0..500).all(|number| set.insert(&id(number), Origin::Gossip) == Sighting::New));
        assert!((0..500).all(|number| set.insert(&id(number), Origin::Gossip) == Sighting::Duplicate));
        assert_eq!(set.duplicates_total(), 500);
    }

    #[test]
    fn what_was_published_here_is_no_duplicate_until_a_peer_has_sent_it() {
        let set = SeenSet::new(1_000, WINDOW);
        assert_eq!(set.insert(&id(1), Origin::Publish), Sighting::New);
        assert_eq!(set.insert(&id(1), Origin::Publish), Sighting::Repeated);
        assert_eq!(set.insert(&id(1), Origin::Gossip), Sighting::Repeated);
        assert_eq!(set.insert(&id(1), Origin::Gossip), Sighting::Duplicate);
        assert_eq!(set.insert(&id(1), Origin::Publish), Sighting::Repeated);
    }

    #[test]
    fn the_newest_ids_are_remembered_and_the_set_stays_bounded() {
        let set = SeenSet::new(1_600, WINDOW);
        (0..100_000).for_each(|number| assert_eq!(set.insert(&id(number), Origin::Gossip), Sighting::New));
        let newest = |number| set.insert(&id(number), Origin::Gossip) == Sighting::Duplicate;
        assert!((99_000..100_000).all(newest), "fewer than ids_max newer ones came since");
        assert_eq!(set.insert(&id(0), Origin::Gossip), Sighting::New, "an old id has been pushed out");
        let kept: usize = set.shards.iter().map(|shard| shard.lock().map_or(0, |s| s.young.len() + s.old.len())).sum();
        assert!(kept <= 2 * 1_600);
    }

    #[test]
    fn an_id_is_forgotten_after_two_windows() {
        let set = SeenSet::new(1_000, Duration::ZERO);
        // Ids of one shard: each turns the generations.
        assert!([16, 32, 48, 16].iter().all(|number| set.insert(&id(*number), Origin::Gossip) == Sighting::New));
    }
}
