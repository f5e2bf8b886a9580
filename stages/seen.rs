//! `seen`: ends duplicates before they are decoded, by the whole 32-byte gossipsub id.
//!
//! Cost: one lookup per message. The set is shared by all lanes, and by the relay router with marks of its own, without a
//! lock; it is fixed in bytes, and remembers an id for one to two windows of time, or until as many newer ids have pushed it
//! out.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use levada_engine::seen::{Set, Sight};
use levada_engine::{BatchLimit, Counter, Stage};
use levada_wire::hash::Digest;
use levada_wire::waku::{Origin, RejectReason, Verdict, WakuRecord};

use crate::{Messages, Ports};

/// Ids the default set remembers at least, in 25 MB: two minutes at two thousand messages a second.
pub const IDS_MAX: usize = 262_144;

/// How long an id is remembered at least, the seen time of 11/WAKU2-RELAY's reference configuration.
pub const WINDOW: Duration = Duration::from_secs(120);

/// The mark of an id that has come this way from a peer.
const BY_PEER: u8 = 1 << 4;
/// The mark of an id that was published here, or pushed by a filter node.
const PUBLISHED: u8 = 1 << 5;

/// The marks given here; who shares the set uses others.
pub const SEEN_MARKS: u8 = BY_PEER | PUBLISHED;

/// The ids seen lately, and whether a peer has sent each.
#[derive(Debug)]
pub struct SeenSet {
    ids: Arc<Set>,
    window: Duration,
    started: Instant,
    /// When the window that is open began, in nanoseconds after `started`.
    opened_ns: AtomicU64,
    duplicates: Counter,
}

/// What the set knows of an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sighting {
    /// Nothing.
    New,
    /// It was published here, and no peer has sent it; or it was sent by a peer and is now published here.
    Repeated,
    /// A peer sent it before, and so does another now; or a filter node pushes what came before whichever way.
    Duplicate,
}

impl SeenSet {
    /// A set that remembers each id for at least `window`, unless more than `ids_max` newer ones arrive within it. (Five ids
    /// in a million go sooner, when the set is full: [`Set`] says why.) Allocates everything at once.
    pub fn new(ids_max: usize, window: Duration) -> Self {
        let (ids, started) = (Arc::new(Set::new(ids_max)), Instant::now());
        Self { ids, window, started, opened_ns: AtomicU64::new(0), duplicates: Counter::new() }
    }

    /// Remembers the id, and says what was known of it. Of all threads that insert an id at once, one gets
    /// [`Sighting::New`].
    pub fn insert(&self, id: &Digest, origin: Origin) -> Sighting {
        let by_peer = origin == Origin::Gossip;
        match self.ids.insert(id, if by_peer { BY_PEER } else { PUBLISHED }) {
            Sight::New => Sighting::New,
            // Whoever shares the set knew it before.
            Sight::Known { marks } if marks & SEEN_MARKS == 0 => Sighting::New,
            // What a filter node pushes is not relayed, so nobody waits for a verdict on what is known.
            Sight::Known { marks } if origin == Origin::Push || (by_peer && marks & BY_PEER != 0) => {
                self.duplicates.add(1);
                Sighting::Duplicate
            }
            Sight::Known { .. } => Sighting::Repeated,
        }
    }

    /// The set itself, for others to give ids marks that are not [`SEEN_MARKS`].
    pub fn ids(&self) -> &Arc<Set> {
        &self.ids
    }

    /// Opens the next window when the present one is over at `now`, and so forgets ids that are two windows old. For any
    /// thread to call, again and again; each window is opened once.
    pub fn tidy(&self, now: Instant) {
        let now_ns = now.saturating_duration_since(self.started).as_nanos() as u64;
        let opened_ns = self.opened_ns.load(Relaxed);
        let is_over = u128::from(now_ns.saturating_sub(opened_ns)) >= self.window.as_nanos();
        if is_over && self.opened_ns.compare_exchange(opened_ns, now_ns, Relaxed, Relaxed).is_ok() {
            self.ids.rotate();
        }
    }

    /// Duplicates found so far.
    pub fn duplicates_total(&self) -> u64 {
        self.duplicates.value()
    }

    /// Ids forgotten before their time, for want of room among those that hash alike.
    pub fn crowded_out_total(&self) -> u64 {
        self.ids.crowded_out_total()
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

    fn housekeeping(&mut self) {
        self.set.tidy(Instant::now());
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
    fn marks_of_others_change_nothing() {
        let set = SeenSet::new(1_000, WINDOW);
        set.ids().insert(&id(1), !SEEN_MARKS);
        assert_eq!(set.insert(&id(1), Origin::Gossip), Sighting::New);
        assert_eq!(set.insert(&id(1), Origin::Gossip), Sighting::Duplicate);
        set.ids().insert(&id(2), !SEEN_MARKS);
        assert_eq!(set.insert(&id(2), Origin::Publish), Sighting::New);
        assert_eq!(set.insert(&id(2), Origin::Gossip), Sighting::Repeated);
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
    fn what_a_filter_node_pushes_is_a_duplicate_however_it_came_before_and_may_still_be_relayed() {
        let set = SeenSet::new(1_000, WINDOW);
        for (number, before) in [Origin::Gossip, Origin::Publish, Origin::Push].into_iter().enumerate() {
            assert_eq!(set.insert(&id(number as u32), before), Sighting::New);
            assert_eq!(set.insert(&id(number as u32), Origin::Push), Sighting::Duplicate);
        }
        assert_eq!(set.insert(&id(2), Origin::Gossip), Sighting::Repeated, "a peer waits for the verdict");
        assert_eq!(set.insert(&id(2), Origin::Gossip), Sighting::Duplicate);
    }

    #[test]
    fn the_newest_ids_are_remembered_and_old_ones_pushed_out() {
        let set = SeenSet::new(1_600, WINDOW);
        (0..100_000).for_each(|number| assert_eq!(set.insert(&id(number), Origin::Gossip), Sighting::New));
        let newest = |number| set.insert(&id(number), Origin::Gossip) == Sighting::Duplicate;
        assert!((99_000..100_000).all(newest), "fewer than ids_max newer ones came since");
        assert!(set.crowded_out_total() < 100, "{} of 100 000", set.crowded_out_total());
        assert_eq!(set.insert(&id(0), Origin::Gossip), Sighting::New, "an old id has been pushed out");
    }

    #[test]
    fn an_id_is_remembered_for_one_window_and_forgotten_after_two() {
        let set = SeenSet::new(1_000, WINDOW);
        let after = |seconds| set.tidy(set.started + Duration::from_secs(seconds));
        after(100);
        assert_eq!(set.insert(&id(1), Origin::Gossip), Sighting::New);
        // The window that began with the set ends; that of a second call just after it has not.
        after(120);
        after(121);
        assert_eq!(set.insert(&id(1), Origin::Gossip), Sighting::Duplicate);
        assert_eq!(set.insert(&id(2), Origin::Gossip), Sighting::New);
        after(239);
        assert_eq!(set.insert(&id(1), Origin::Gossip), Sighting::Duplicate);
        after(240);
        assert_eq!(set.insert(&id(1), Origin::Gossip), Sighting::New);
        assert_eq!(set.insert(&id(2), Origin::Gossip), Sighting::Duplicate);
    }
}
