//! An ordered map for keys that come nearly in order and leave from the front, which allocates nothing in its steady state.
//!
//! Entries lie in chunks of up to 128, and the chunks in a queue. A key behind all others goes to the end of the last chunk, one
//! elsewhere into the chunk that it belongs to, which splits in halves when it is full. So a key that comes late moves half a
//! chunk at most, and once in 64 times the places of the chunks, not the messages behind it. Emptied chunks serve again.

use std::collections::VecDeque;
use std::ops::{Bound, RangeBounds};

use crate::range::Key;

/// Entries of a chunk.
const CHUNK_ENTRIES: usize = 128;

/// Emptied chunks that are kept: 1.6 MB of them.
const SPARE_CHUNKS_MAX: usize = 256;

type Chunk<T> = VecDeque<(Key, T)>;

/// Values in the order of their keys.
#[derive(Debug)]
pub(super) struct Order<T> {
    /// None of them is empty; those between the first and the last are at least half full.
    chunks: VecDeque<Chunk<T>>,
    spare: Vec<Chunk<T>>,
    len: usize,
}

impl<T> Order<T> {
    pub(super) fn new() -> Self {
        Self { chunks: VecDeque::new(), spare: Vec::new(), len: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Puts a value at its place. The key must not be there yet.
    pub(super) fn insert(&mut self, key: Key, value: T) {
        self.len += 1;
        let chunk = self.chunks.partition_point(|chunk| starts_up_to(chunk, &key)).saturating_sub(1);
        let (place, is_full) = match self.chunks.get(chunk) {
            Some(entries) => (place_of(entries, &key), entries.len() == CHUNK_ENTRIES),
            None => (0, true),
        };
        if !is_full {
            return self.chunks[chunk].insert(place, (key, value));
        }
        let mut next = self.spare.pop().unwrap_or_else(|| VecDeque::with_capacity(CHUNK_ENTRIES));
        if self.chunks.is_empty() || (place == CHUNK_ENTRIES && chunk + 1 == self.chunks.len()) {
            next.push_back((key, value));
            return self.chunks.push_back(next);
        }
        let entries = &mut self.chunks[chunk];
        next.extend(entries.drain(CHUNK_ENTRIES / 2..));
        match place.checked_sub(CHUNK_ENTRIES / 2) {
            None | Some(0) => entries.insert(place, (key, value)),
            Some(place) => next.insert(place, (key, value)),
        }
        self.chunks.insert(chunk + 1, next);
    }

    /// The entry of the least key.
    pub(super) fn first(&self) -> Option<(&Key, &T)> {
        let entries = self.chunks.front()?;
        entries.front().map(|(key, value)| (key, value))
    }

    /// Removes the least key.
    pub(super) fn pop_first(&mut self) -> Option<(Key, T)> {
        let entries = self.chunks.front_mut()?;
        let first = entries.pop_front();
        if entries.is_empty()
            && let Some(emptied) = self.chunks.pop_front()
            && self.spare.len() < SPARE_CHUNKS_MAX
        {
            self.spare.push(emptied);
        }
        self.len -= usize::from(first.is_some());
        first
    }

    /// The entry of a key.
    pub(super) fn get(&self, key: &Key) -> Option<(&Key, &T)> {
        let chunk = self.chunks.partition_point(|chunk| starts_up_to(chunk, key)).checked_sub(1)?;
        let entries = &self.chunks[chunk];
        let place = entries.binary_search_by(|(other, _)| other.cmp(key)).ok()?;
        entries.get(place).map(|(key, value)| (key, value))
    }

    /// The entries between two keys, in order from either end.
    pub(super) fn range(&self, bounds: (Bound<Key>, Bound<Key>)) -> impl DoubleEndedIterator<Item = (&Key, &T)> {
        let first = match &bounds.0 {
            Bound::Included(key) | Bound::Excluded(key) => {
                self.chunks.partition_point(|chunk| starts_up_to(chunk, key)).saturating_sub(1)
            }
            Bound::Unbounded => 0,
        };
        let end = match &bounds.1 {
            Bound::Included(key) | Bound::Excluded(key) => {
                self.chunks.partition_point(|chunk| starts_up_to(chunk, key))
            }
            Bound::Unbounded => self.chunks.len(),
        };
        let entries = self.chunks.range(first.min(end)..end).flatten().map(|(key, value)| (key, value));
        entries.filter(move |(key, _)| bounds.contains(*key))
    }
}

/// Whether the first key of a chunk is `key` or less.
fn starts_up_to<T>(chunk: &Chunk<T>, key: &Key) -> bool {
    chunk.front().is_some_and(|(first, _)| first <= key)
}

fn place_of<T>(entries: &Chunk<T>, key: &Key) -> usize {
    entries.partition_point(|(other, _)| other < key)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    const ALL: (Bound<Key>, Bound<Key>) = (Bound::Unbounded, Bound::Unbounded);

    fn key(number: u64) -> Key {
        ((number >> 8) as i64, [number as u8; 32])
    }

    /// Against the ordered map of the standard library, with keys in order, reversed, and scattered.
    #[test]
    fn agrees_with_an_ordered_map() {
        let orders: [fn(u64) -> u64; 4] = [
            |step| step,
            |step| 60_000 - step,
            |step| step * 7_919 % 20_011,
            |step| (step + 300).saturating_sub(step * 31 % 257),
        ];
        for (number, order) in orders.into_iter().enumerate() {
            let (mut map, mut expected) = (Order::new(), BTreeMap::new());
            for step in 0..20_000_u64 {
                let key = key(order(step));
                if expected.insert(key, step).is_none() {
                    map.insert(key, step);
                } else {
                    *expected.get_mut(&key).expect("it was just put there") = *map.get(&key).expect("it is known").1;
                }
                if step % 3 == 0 && step > 5_000 {
                    assert_eq!(map.pop_first(), expected.pop_first(), "order {number}, step {step}");
                }
            }
            assert_eq!(map.len(), expected.len());
            assert!(map.range(ALL).eq(&expected), "order {number}");
            assert!(map.chunks.len() <= expected.len() / (CHUNK_ENTRIES / 2) + 2, "order {number}");
            for start in (0..61_000).step_by(613) {
                for end in (start + 1..61_000).step_by(7_001) {
                    for (lower, upper) in [
                        (Bound::Included(key(start)), Bound::Excluded(key(end))),
                        (Bound::Excluded(key(start)), Bound::Included(key(end))),
                    ] {
                        assert!(map.range((lower, upper)).eq(expected.range((lower, upper))));
                        assert!(map.range((lower, upper)).rev().eq(expected.range((lower, upper)).rev()));
                    }
                }
                assert_eq!(map.get(&key(start)), expected.get_key_value(&key(start)));
            }
            while let Some(first) = expected.pop_first() {
                assert_eq!(map.first(), Some((&first.0, &first.1)));
                assert_eq!(map.pop_first(), Some(first));
            }
            assert_eq!((map.pop_first(), map.len()), (None, 0));
        }
    }
}
