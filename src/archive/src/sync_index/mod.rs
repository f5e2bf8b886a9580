//! The index that store-sync reconciles: the keys of the newest messages of each shard, with a summary of any range of them.
//!
//! Store-sync (`/vac/waku/reconciliation`) compares what two nodes hold by fingerprints of ranges of (timestamp, hash), and splits
//! the ranges that differ. Here an insert and the summary of any range each take a step per level of a tree; nodes of other
//! implementations shift an array and scan it. The index holds keys only, in bounded memory: when it is full, the
//! oldest keys leave first, and what is below the last of them in a shard is never taken in again. The floor that age sets is the
//! one of the last pruning: it follows the clock of the host back if that had been set forward by mistake.
//!
//! # Layout, and why
//! One tree per shard, all in one slab of nodes behind one lock, which a batch takes once. Keys lie in leaves of 128; a node above
//! holds 58 children, each with its lowest key and its summary, and is as large as a leaf, 5 kB. Messages that come up to 512
//! places out of order then take 52 bytes each; with leaves of 64, 32 and 16 they took 67, 64 and 73, and inserting was slower.

mod row;
mod slab;
mod summary;
mod tree;

use std::ops::{ControlFlow, Range};
use std::sync::{Mutex, MutexGuard, PoisonError};

use levada_engine::Counter;

use crate::range::Key;
use slab::{NODE_BYTES, Slab};
pub use summary::Summary;
use tree::Tree;

/// Bytes an index needs at least, so that one tree can grow two levels.
pub const SYNC_INDEX_BYTES_MIN: usize = 16 * NODE_BYTES;

/// No key is less.
const KEY_MIN: Key = (i64::MIN, [0; 32]);

/// A stretch of a shard's order, and what it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncPart {
    /// From the first key, included, to the second, excluded.
    pub range: Range<Key>,
    /// Its messages in short.
    pub summary: Summary,
}

/// What became of the keys of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SyncInserted {
    /// Keys that are in the index now and were not before.
    pub added: u64,
    /// Keys that were there.
    pub known: u64,
    /// Keys below the floor of age or of their shard, or of no shard of this index.
    pub refused: u64,
}

/// The keys of the newest messages, by shard. Shared by those who insert and those who reconcile.
#[derive(Debug)]
pub struct SyncIndex {
    state: Mutex<State>,
    pruned: Counter,
    evicted: Counter,
    refused: Counter,
}

#[derive(Debug)]
struct State {
    shards: Box<[Shard]>,
    /// The least key that is young enough.
    age_floor: Key,
    slab: Slab,
}

#[derive(Debug)]
struct Shard {
    tree: Tree,
    /// The least key above all that left for want of room.
    evicted_floor: Key,
}

impl SyncIndex {
    /// An empty index of the shards 0 to `shards_max` - 1, whose nodes take at most `bytes_max` bytes, or
    /// [`SYNC_INDEX_BYTES_MIN`] if that is more. Nodes are allocated as they are needed, and used again ever after.
    pub fn new(shards_max: usize, bytes_max: usize) -> Self {
        let shard = || Shard { tree: Tree::default(), evicted_floor: KEY_MIN };
        let shards = std::iter::repeat_with(shard).take(shards_max).collect();
        let nodes_max = (bytes_max.max(SYNC_INDEX_BYTES_MIN) / NODE_BYTES).min(u32::MAX as usize);
        let state = State { shards, age_floor: KEY_MIN, slab: Slab::new(nodes_max) };
        Self { state: Mutex::new(state), pruned: Counter::new(), evicted: Counter::new(), refused: Counter::new() }
    }

    /// No step below can panic half-way but by a mistake in this module, and then the summaries would only cost a needless exchange.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in messages, each as its shard's number and its key. The lock is held for the batch.
    pub fn insert_batch(&self, batch: impl Iterator<Item = (u32, Key)>) -> SyncInserted {
        let (mut outcome, mut evicted) = (SyncInserted::default(), 0);
        let mut state = self.lock();
        for (shard, key) in batch {
            match state.insert(shard as usize, &key, &mut evicted) {
                Some(true) => outcome.added += 1,
                Some(false) => outcome.known += 1,
                None => outcome.refused += 1,
            }
        }
        drop(state);
        self.evicted.add(evicted);
        self.refused.add(outcome.refused);
        outcome
    }

    /// The messages of `range` in short.
    pub fn summary(&self, shard: u32, range: &Range<Key>) -> Summary {
        let state = self.lock();
        state.shards.get(shard as usize).map_or_else(Summary::default, |shard| shard.summary(&state.slab, range))
    }

    /// The first keys of `range` in order, at most `keys_max`.
    pub fn keys(&self, shard: u32, range: &Range<Key>, keys_max: usize) -> Vec<Key> {
        let (mut keys, state) = (Vec::new(), self.lock());
        let Some(shard) = state.shards.get(shard as usize) else { return keys };
        shard.tree.visit(&state.slab, range, &mut |key| {
            if keys.len() >= keys_max {
                return ControlFlow::Break(());
            }
            keys.push(*key);
            ControlFlow::Continue(())
        });
        keys
    }

    /// Cuts `range` into at most `parts` stretches that follow on each other and hold as many messages each, the first ones one more
    /// where that does not go up. A range of fewer messages than parts, but some, has a part for each.
    pub fn split(&self, shard: u32, range: &Range<Key>, parts: u64) -> Vec<SyncPart> {
        let state = self.lock();
        let Some(shard) = state.shards.get(shard as usize) else { return Vec::new() };
        shard.split(&state.slab, range, parts)
    }

    /// Removes what is older than `timestamp`, nanoseconds since the Unix epoch, and takes in nothing as old until the next call.
    pub fn prune_before(&self, timestamp: i64) {
        let mut pruned = 0;
        let mut state = self.lock();
        let State { shards, age_floor, slab } = &mut *state;
        *age_floor = (timestamp, [0; 32]);
        for shard in shards {
            pruned += shard.tree.remove_before(slab, age_floor).count;
        }
        drop(state);
        self.pruned.add(pruned);
    }

    /// The shards that hold any message, and how many.
    pub fn counts(&self) -> Vec<(u32, u64)> {
        let state = self.lock();
        let counts = state.shards.iter().zip(0..).map(|(shard, number)| (number, shard.tree.total().count));
        counts.filter(|(_, count)| *count > 0).collect()
    }

    /// Bytes of the nodes allocated so far.
    pub fn bytes(&self) -> usize {
        self.lock().slab.bytes()
    }

    /// Messages removed because of their age.
    pub fn pruned_total(&self) -> u64 {
        self.pruned.value()
    }

    /// Messages removed because newer ones needed the room.
    pub fn evicted_total(&self) -> u64 {
        self.evicted.value()
    }

    /// Messages not taken in because they are older than what is kept.
    pub fn refused_total(&self) -> u64 {
        self.refused.value()
    }
}

impl State {
    /// Whether the key is new; `None` if it is refused.
    fn insert(&mut self, number: usize, key: &Key, evicted: &mut u64) -> Option<bool> {
        let needed = self.shards.get(number)?.tree.nodes_needed();
        if *key < self.age_floor {
            return None;
        }
        while self.slab.room() < needed && *key >= self.shards[number].evicted_floor {
            *evicted += self.evict();
        }
        let shard = &mut self.shards[number];
        (*key >= shard.evicted_floor).then(|| shard.tree.insert(&mut self.slab, key))
    }

    /// Removes the first leaf of the shard that has the oldest message; returns how many keys that were.
    fn evict(&mut self) -> u64 {
        let Self { shards, slab, .. } = self;
        let firsts = shards.iter_mut().filter_map(|shard| Some((shard.tree.first(slab)?, shard)));
        let Some((_, oldest)) = firsts.min_by_key(|(first, _)| *first) else { return 0 };
        let Some(last) = oldest.tree.first_leaf_end(slab) else { return 0 };
        oldest.evicted_floor = successor(last);
        oldest.tree.remove_before(slab, &oldest.evicted_floor).count
    }
}

impl Shard {
    fn summary(&self, slab: &Slab, range: &Range<Key>) -> Summary {
        if range.is_empty() {
            return Summary::default();
        }
        let mut summary = self.tree.summary_before(slab, &range.end);
        summary.subtract(&self.tree.summary_before(slab, &range.start));
        summary
    }

    fn split(&self, slab: &Slab, range: &Range<Key>, parts: u64) -> Vec<SyncPart> {
        let before = self.tree.summary_before(slab, &range.start).count;
        let count = self.summary(slab, range).count;
        let parts = parts.min(count);
        let (mut cut, mut start) = (Vec::new(), range.start);
        for part in 1..=parts {
            // Where the next part begins: behind as many as even shares make, rounded up.
            let rank = before + (u128::from(count) * u128::from(part)).div_ceil(u128::from(parts)) as u64;
            let next = if part == parts { None } else { self.tree.nth(slab, rank) };
            let range = start..next.unwrap_or(range.end);
            start = range.end;
            cut.push(SyncPart { summary: self.summary(slab, &range), range });
        }
        cut
    }
}

/// The next key in the order.
fn successor(key: Key) -> Key {
    let (timestamp, mut hash) = key;
    for byte in hash.iter_mut().rev() {
        let (next, overflows) = byte.overflowing_add(1);
        *byte = next;
        if !overflows {
            return (timestamp, hash);
        }
    }
    (timestamp.saturating_add(1), hash)
}

/// Cuts `range` into at most `slices` stretches of equal time, as nodes do that reconcile over the wire, where a bound between
/// two ranges is a time and no hash. The first ones are a nanosecond longer where the time does not go up.
pub fn time_slices(range: &Range<Key>, slices: u64) -> impl Iterator<Item = Range<Key>> {
    let (start, end) = (range.start, range.end);
    let span = if start < end { end.0.abs_diff(start.0) } else { 0 };
    // A range within one nanosecond has hashes to tell its ends apart, and stays whole.
    let slices = if start < end { slices.min(span).max(1) } else { 0 };
    let bound = move |slice: u64| match slice {
        0 => start,
        last if last == slices => end,
        slice => (start.0.saturating_add_unsigned(span / slices * slice + slice.min(span % slices)), [0; 32]),
    };
    (0..slices).map(move |slice| bound(slice)..bound(slice + 1))
}

#[cfg(test)]
mod tests;
