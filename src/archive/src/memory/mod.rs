//! The memory archive: messages in an ordered map, bounded in bytes; the oldest leave when a new one needs the room.
//!
//! A message costs one copy of its payload into a recycled buffer, one entry in the order (timestamp, hash), and one in the
//! index by hash. Readers take references under the lock and copy after it, so that a page of 15 MB does not stop an insert. A
//! query by topic walks the order until the page is full, at worst through the whole archive, under the lock: it is bounded by the
//! bytes of the archive, and an archive that is to answer many such queries belongs into SQLite.

mod order;
mod pool;

use std::collections::HashMap;
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::counters::{InsertTally, count_query, count_retention};
use crate::range::{Key, KeyRange};
use crate::{
    Archive, ArchiveError, ArchiveMessage, ArchiveReader, Direction, Dropped, Hash, InsertOutcome, PAYLOAD_BYTES_MAX,
    Page, Query, Retention, StoredBody, StoredMessage,
};
use order::Order;
use pool::{Pool, bytes_needed, bytes_of};

/// Bytes of the memory archive that the URL `memory` opens: room for about 4 000 messages of 65 kB.
pub const MEMORY_BYTES_MAX_DEFAULT: usize = 256 << 20;

/// The part of an archive that buffers without a message may take while there are messages to give up: a sixteenth.
const POOL_SHARE: usize = 16;

/// Messages that one step of retention drops at most, under the lock.
const RETENTION_STEP_MESSAGES: u64 = 4_096;

/// An archive in memory, of a fixed number of bytes.
#[derive(Debug)]
pub struct MemoryArchive {
    shared: Arc<Mutex<Store>>,
}

/// A reader of a [`MemoryArchive`].
#[derive(Debug)]
pub struct MemoryReader {
    shared: Arc<Mutex<Store>>,
}

impl MemoryArchive {
    /// Copies of the payload that an insert makes: into the buffer of the archive.
    pub const PAYLOAD_COPIES_PER_INSERT: u64 = 1;

    /// An empty archive that holds at most `bytes_max` bytes: payload buffers, topics, meta, and an allowance for the indexes, of
    /// stored messages and of buffers kept for reuse. Nothing is allocated before the first insert.
    pub fn new(bytes_max: usize) -> Self {
        Self { shared: Arc::new(Mutex::new(Store::new(bytes_max))) }
    }

    /// Bytes held now, of at most those given to [`MemoryArchive::new`].
    pub fn bytes(&self) -> usize {
        lock(&self.shared).bytes()
    }
}

impl Archive for MemoryArchive {
    /// The lock is held for the batch, so that readers see all of it or nothing; `batch` must not query this archive.
    fn insert_batch<'a>(
        &mut self,
        batch: &mut dyn Iterator<Item = ArchiveMessage<'a>>,
    ) -> Result<InsertOutcome, ArchiveError> {
        let mut tally = InsertTally::default();
        let mut store = lock(&self.shared);
        batch.for_each(|message| store.insert(&message, &mut tally));
        drop(store);
        tally.publish(Ok(()))
    }

    fn takes(&self, message: &ArchiveMessage<'_>) -> bool {
        lock(&self.shared).takes(message, bytes_needed(message))
    }

    fn reader(&self) -> Result<Box<dyn ArchiveReader>, ArchiveError> {
        Ok(Box::new(MemoryReader { shared: Arc::clone(&self.shared) }))
    }

    fn clear(&mut self) -> Result<(), ArchiveError> {
        lock(&self.shared).clear();
        Ok(())
    }

    fn retain(&mut self, retention: &Retention) -> Result<Dropped, ArchiveError> {
        count_retention(Ok(lock(&self.shared).retain(retention)))
    }

    fn message_count(&self) -> Result<u64, ArchiveError> {
        Ok(lock(&self.shared).by_key.len() as u64)
    }

    fn location(&self) -> String {
        format!("memory (at most {} MB, the oldest messages leave first)", lock(&self.shared).bytes_max / 1_000_000)
    }

    fn close(self: Box<Self>) -> Result<(), ArchiveError> {
        Ok(())
    }
}

impl ArchiveReader for MemoryReader {
    fn query(&mut self, query: &Query) -> Result<Page, ArchiveError> {
        let began = Instant::now();
        let found = query.check().and_then(|()| lock(&self.shared).find(query));
        let page = found.map(|found| {
            let (found, cursor) = query.cut(found, |(hash, _)| *hash);
            let stored = |(hash, body): (Hash, Arc<StoredBody>)| StoredMessage {
                hash,
                body: query.include_data.then(|| body.as_ref().clone()),
            };
            Page { messages: found.into_iter().map(stored).collect(), cursor }
        });
        count_query(began, &page);
        page
    }

    fn keys_after(&mut self, pubsub_topic: &str, after: Key, keys_max: usize) -> Result<Vec<Key>, ArchiveError> {
        let store = lock(&self.shared);
        let behind = store.by_key.range((Bound::Excluded(after), Bound::Unbounded));
        let of_topic = behind.filter(|(_, body)| body.pubsub_topic == pubsub_topic);
        Ok(of_topic.take(keys_max).map(|(key, _)| *key).collect())
    }
}

/// Takes the lock. A panic elsewhere cannot have left the store between two states: only the iterator of a batch runs foreign code, and it
/// runs between inserts.
fn lock(shared: &Mutex<Store>) -> MutexGuard<'_, Store> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The messages and their two indexes.
#[derive(Debug)]
struct Store {
    by_key: Order<Arc<StoredBody>>,
    timestamps: HashMap<Hash, i64>,
    pool: Pool,
    bytes_live: usize,
    bytes_max: usize,
}

impl Store {
    fn new(bytes_max: usize) -> Self {
        Self { by_key: Order::new(), timestamps: HashMap::new(), pool: Pool::default(), bytes_live: 0, bytes_max }
    }

    fn bytes(&self) -> usize {
        self.bytes_live + self.pool.bytes()
    }

    fn takes(&self, message: &ArchiveMessage<'_>, bytes_needed: usize) -> bool {
        message.payload.len() <= PAYLOAD_BYTES_MAX && bytes_needed <= self.bytes_max
    }

    fn insert(&mut self, message: &ArchiveMessage<'_>, tally: &mut InsertTally) {
        let needed = bytes_needed(message);
        if !self.takes(message, needed) {
            tally.outcome.dropped += 1;
            return;
        }
        if self.timestamps.contains_key(&message.hash) {
            tally.outcome.duplicates += 1;
            return;
        }
        let mut shared = self.make_room(message.payload.len(), needed, tally);
        let body = Arc::get_mut(&mut shared).expect("a body that is not stored has one owner");
        pool::fill(body, message);
        self.bytes_live += bytes_of(body);
        self.timestamps.insert(message.hash, message.timestamp);
        self.by_key.insert((message.timestamp, message.hash), shared);
        tally.stored(message.payload.len());
        // A recycled body may hold longer topic buffers than this message needs.
        while self.bytes() > self.bytes_max && self.give_up_one(tally) {}
    }

    /// A body whose buffer fits a payload of `payload_bytes`: recycled if there is one, new if there is room, and otherwise room is made.
    fn make_room(&mut self, payload_bytes: usize, needed: usize, tally: &mut InsertTally) -> Arc<StoredBody> {
        loop {
            if let Some(body) = self.pool.take(payload_bytes) {
                return body;
            }
            if self.bytes() + needed <= self.bytes_max || !self.give_up_one(tally) {
                return pool::allocate(payload_bytes);
            }
        }
    }

    /// Gives up a kept buffer or the oldest message; false if there is neither.
    ///
    /// Buffers of other sizes than the one that is wanted now stay, up to a share of the archive: their turn comes. Were they freed first,
    /// two of three messages of mixed sizes would find no buffer.
    fn give_up_one(&mut self, tally: &mut InsertTally) -> bool {
        let pool_is_large = self.pool.bytes() > self.bytes_max / POOL_SHARE;
        (pool_is_large && self.pool.release_one()) || self.evict_oldest(tally) || self.pool.release_one()
    }

    /// Removes the oldest message to make room; false if there is none.
    fn evict_oldest(&mut self, tally: &mut InsertTally) -> bool {
        let evicted = self.remove_oldest();
        tally.evicted += u64::from(evicted);
        evicted
    }

    /// Removes the oldest message and keeps its buffer for the next; false if there is none.
    fn remove_oldest(&mut self) -> bool {
        let Some(((_, hash), body)) = self.by_key.pop_first() else { return false };
        self.timestamps.remove(&hash);
        self.bytes_live -= bytes_of(&body);
        self.pool.put(body);
        true
    }

    fn retain(&mut self, retention: &Retention) -> Dropped {
        let mut dropped = Dropped::default();
        while let Some(((timestamp, _), _)) = self.by_key.first()
            && retention.lets_go(1, *timestamp, self.by_key.len() as u64, self.bytes_live as u64)
        {
            if dropped.messages == RETENTION_STEP_MESSAGES {
                dropped.unfinished = true;
                break;
            }
            self.remove_oldest();
            dropped.messages += 1;
        }
        dropped
    }

    fn clear(&mut self) {
        self.timestamps.clear();
        self.bytes_live = 0;
        while let Some((_, body)) = self.by_key.pop_first() {
            self.pool.put(body);
        }
    }

    /// What `query` matches, in its direction, up to one more than a page.
    fn find(&self, query: &Query) -> Result<Vec<(Hash, Arc<StoredBody>)>, ArchiveError> {
        let cursor = match query.cursor {
            Some(hash) => Some((*self.timestamps.get(&hash).ok_or(ArchiveError::CursorNotFound)?, hash)),
            None => None,
        };
        let range = KeyRange::new(query, cursor);
        if !query.hashes.is_empty() {
            return Ok(self.find_hashes(query, &range));
        }
        let Some(bounds) = range.bounds() else { return Ok(Vec::new()) };
        let walk = self.by_key.range(bounds);
        Ok(match query.direction {
            Direction::Forward => take_matching(walk, query),
            Direction::Backward => take_matching(walk.rev(), query),
        })
    }

    fn find_hashes(&self, query: &Query, range: &KeyRange) -> Vec<(Hash, Arc<StoredBody>)> {
        let keys = query.unique_hashes().into_iter().filter_map(|hash| Some((*self.timestamps.get(&hash)?, hash)));
        let mut keys: Vec<Key> = keys.filter(|key| range.contains(key)).collect();
        keys.sort_unstable();
        if query.direction == Direction::Backward {
            keys.reverse();
        }
        take_matching(keys.iter().filter_map(|key| self.by_key.get(key)), query)
    }
}

fn take_matching<'a>(
    walk: impl Iterator<Item = (&'a Key, &'a Arc<StoredBody>)>,
    query: &Query,
) -> Vec<(Hash, Arc<StoredBody>)> {
    walk.filter(|(_, body)| query.topics_match(&body.pubsub_topic, &body.content_topic))
        .take(query.page_limit() + 1)
        .map(|(key, body)| (key.1, Arc::clone(body)))
        .collect()
}

#[cfg(test)]
mod tests;
