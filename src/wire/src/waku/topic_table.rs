//! Pubsub topic names as small numbers, so that a message's record carries four bytes instead of a string.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::error::TopicTableFull;

/// Limit of a topic name in bytes. A sharded topic has at most 22; the limit bounds what a peer's subscriptions can hold.
pub const TOPIC_BYTES_MAX: usize = 1_024;

/// An append-only table of topic names. Ids count up from 0 in order of interning and are never reused.
///
/// Reads take no lock and see every name interned before. Memory is bounded by capacity times [`TOPIC_BYTES_MAX`].
#[derive(Debug)]
pub struct TopicTable {
    /// Names by id. A slot is set once, before its id appears in `buckets`.
    names: Box<[OnceLock<Box<str>>]>,
    /// Open addressing by hash of the name: id + 1, or 0 for a free bucket. Twice as many as names, so that one is
    /// always free and every probe ends.
    buckets: Box<[AtomicU32]>,
    /// Randomly keyed, so that a peer cannot choose names that share a bucket.
    hasher: RandomState,
    /// Names interned so far; held while interning, which is rare.
    count: Mutex<u32>,
}

impl TopicTable {
    /// Names a node's table holds unless configured otherwise: every shard of a cluster (51/WAKU2-RELAY-SHARDING).
    pub const TOPICS_DEFAULT: usize = 1_024;

    /// A table for at most `topics_max` names; all of its memory but the names is allocated here.
    pub fn new(topics_max: usize) -> Self {
        let topics_max = topics_max.min(u32::MAX as usize / 4);
        let buckets = (topics_max * 2).next_power_of_two().max(2);
        Self {
            names: (0..topics_max).map(|_| OnceLock::new()).collect(),
            buckets: (0..buckets).map(|_| AtomicU32::new(0)).collect(),
            hasher: RandomState::new(),
            count: Mutex::new(0),
        }
    }

    /// The names that it has room for.
    pub fn capacity(&self) -> usize {
        self.names.len()
    }

    /// The name with this id; `None` if there is none yet.
    #[inline]
    pub fn name(&self, id: u32) -> Option<&str> {
        self.names.get(id as usize)?.get().map(AsRef::as_ref)
    }

    /// The id of `name`; `None` if it was not interned.
    pub fn find(&self, name: &str) -> Option<u32> {
        self.probe(name).ok()
    }

    /// The id of `name`, which it gets now if it has none.
    ///
    /// # Errors
    /// [`TopicTableFull`] if all ids are taken or the name is over [`TOPIC_BYTES_MAX`]; ids given out stay valid.
    pub fn intern(&self, name: &str) -> Result<u32, TopicTableFull> {
        if let Ok(id) = self.probe(name) {
            return Ok(id);
        }
        if name.len() > TOPIC_BYTES_MAX {
            return Err(TopicTableFull::Name { bytes: name.len(), bytes_max: TOPIC_BYTES_MAX });
        }
        self.append(name)
    }

    /// Interns a name that was absent when the caller looked, though another thread may have been faster.
    fn append(&self, name: &str) -> Result<u32, TopicTableFull> {
        // Each step below leaves the table sound, so that a panic elsewhere under the lock cannot have broken it.
        let mut count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        let bucket = match self.probe(name) {
            Ok(id) => return Ok(id),
            Err(bucket) => bucket,
        };
        let id = *count;
        let slot = self.names.get(id as usize).ok_or(TopicTableFull::Topics { topics_max: self.names.len() })?;
        slot.get_or_init(|| name.into());
        *count = id + 1;
        // Release: whoever finds the id in its bucket sees the name in its slot. Pairs with the acquire in `probe`.
        self.buckets[bucket].store(id + 1, Ordering::Release);
        Ok(id)
    }

    /// Names interned so far.
    pub fn len(&self) -> usize {
        *self.count.lock().unwrap_or_else(PoisonError::into_inner) as usize
    }

    /// Whether no name was interned yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The id of `name`, or the free bucket where it would go.
    fn probe(&self, name: &str) -> Result<u32, usize> {
        let mask = self.buckets.len() - 1;
        let mut bucket = self.hasher.hash_one(name) as usize & mask;
        loop {
            // Pairs with the release store of the bucket where a name is added.
            match self.buckets[bucket].load(Ordering::Acquire) {
                0 => return Err(bucket),
                taken if self.name(taken - 1) == Some(name) => return Ok(taken - 1),
                _ => bucket = (bucket + 1) & mask,
            }
        }
    }
}

impl Default for TopicTable {
    fn default() -> Self {
        Self::new(Self::TOPICS_DEFAULT)
    }
}

#[cfg(test)]
mod tests {
    use super::{TOPIC_BYTES_MAX, TopicTable};
    use crate::error::TopicTableFull;

    fn name(shard: u32) -> String {
        format!("/waku/2/rs/1/{shard}")
    }

    #[test]
    fn fills_to_its_capacity_and_keeps_every_id() {
        let table = TopicTable::default();
        assert!(table.is_empty());
        for shard in 0..1_024 {
            assert_eq!(table.find(&name(shard)), None);
            assert_eq!(table.intern(&name(shard)), Ok(shard));
            assert_eq!(table.intern(&name(shard)), Ok(shard));
        }
        assert_eq!(table.intern("one more"), Err(TopicTableFull::Topics { topics_max: 1_024 }));
        assert_eq!(table.find("one more"), None);
        for shard in 0..1_024 {
            assert_eq!(table.find(&name(shard)), Some(shard));
            assert_eq!(table.name(shard), Some(name(shard).as_str()));
        }
        assert_eq!((table.name(1_024), table.name(u32::MAX), table.len()), (None, None, 1_024));
    }

    #[test]
    fn limits_at_their_edges() {
        let empty = TopicTable::new(0);
        assert_eq!(empty.intern("a"), Err(TopicTableFull::Topics { topics_max: 0 }));
        assert_eq!((empty.find("a"), empty.name(0)), (None, None));
        let table = TopicTable::new(2);
        assert_eq!(table.intern(""), Ok(0));
        assert_eq!(table.intern(&"x".repeat(TOPIC_BYTES_MAX)), Ok(1));
        let too_long = TopicTableFull::Name { bytes: TOPIC_BYTES_MAX + 1, bytes_max: TOPIC_BYTES_MAX };
        assert_eq!(table.intern(&"x".repeat(TOPIC_BYTES_MAX + 1)), Err(too_long));
    }

    /// Both found the name absent; the second to take the lock must find what the first left.
    #[test]
    fn the_slower_of_two_threads_gets_the_id_of_the_faster() {
        let table = TopicTable::new(2);
        assert_eq!(table.append("a"), Ok(0));
        assert_eq!(table.append("a"), Ok(0));
        assert_eq!((table.append("b"), table.len()), (Ok(1), 2));
        assert_eq!(table.append("a"), Ok(0), "a full table still knows its names");
    }

    #[test]
    fn threads_that_intern_the_same_names_agree() {
        let table = TopicTable::new(1_000);
        let intern_all = |first: u32| {
            for shard in (0..1_000).map(|n| (n + first) % 1_000) {
                let id = table.intern(&name(shard)).expect("room for every name");
                assert_eq!(table.name(id), Some(name(shard).as_str()));
                assert_eq!(table.find(&name(shard)), Some(id));
            }
        };
        std::thread::scope(|scope| [0, 0, 500, 500].map(|first| scope.spawn(move || intern_all(first))).len());
        assert_eq!(table.len(), 1_000);
    }
}
