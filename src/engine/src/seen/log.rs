//! The keys themselves, in order of arrival, in a table that comes round.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crossbeam_utils::CachePadded;

use super::Key;
use super::zeroed::{self, Zero};
use crate::sync::AtomicU64;

/// The position taken first: entries and words start as zero, which is to mean nothing.
pub(super) const FIRST: u64 = 1;

/// Beside the position in a stamp: the key is being written.
const WRITING: u64 = 1;

/// The newest keys. Position `p` lies in entry `p` modulo the number of entries.
pub(super) struct Log {
    cursor: CachePadded<AtomicU64>,
    entries: Box<[Entry]>,
}

/// A key and whose it is. A cache line, so that threads that insert at the same time do not share one.
#[derive(Default)]
#[repr(C, align(64))]
struct Entry {
    /// Twice the position, plus [`WRITING`].
    stamp: AtomicU64,
    key: [AtomicU64; 4],
}

// SAFETY: the fields are plain integers, and zero is one of them.
unsafe impl Zero for Entry {}

impl Log {
    /// `keys` must be a power of two; `first` is the position given out first.
    pub fn new(keys: usize, first: u64) -> Self {
        Self { cursor: CachePadded::new(AtomicU64::new(first)), entries: zeroed::slice(keys) }
    }

    fn entry(&self, position: u64) -> &Entry {
        &self.entries[position as usize & (self.entries.len() - 1)]
    }

    /// Writes a key at a position that is greater than all given out before; which that is.
    ///
    /// An entry that somebody is still writing since the table last came round is passed over: with more entries than
    /// threads there is always another.
    pub fn append(&self, key: &Key) -> u64 {
        loop {
            let position = self.cursor.fetch_add(1, Relaxed);
            let entry = self.entry(position);
            if entry.begin(position, position.saturating_sub(self.keys())) {
                entry.write(key);
                entry.finish(position);
                return position;
            }
        }
    }

    /// The key at `position` is `key`, and has not been written over. The caller has acquired the position.
    #[inline]
    pub fn holds(&self, position: u64, key: &Key) -> bool {
        let entry = self.entry(position);
        // Pairs with the release stores in `write`: if any word is a later writer's, the stamp below is so too.
        let same = entry.key.iter().zip(key).all(|(stored, word)| stored.load(Acquire) == *word);
        same && entry.stamp.load(Relaxed) == position << 1
    }

    /// The next position to be given out.
    pub fn cursor(&self) -> u64 {
        self.cursor.load(Relaxed)
    }

    pub fn keys(&self) -> u64 {
        self.entries.len() as u64
    }

    pub fn bytes(&self) -> usize {
        size_of_val::<[Entry]>(&self.entries)
    }
}

#[cfg(all(test, not(loom)))]
impl Log {
    /// Begins to write a key, and never goes on.
    pub fn abandon_next(&self) {
        let position = self.cursor.fetch_add(1, Relaxed);
        assert!(self.entry(position).begin(position, 0));
    }
}

impl Entry {
    /// Takes the entry for `position`, unless somebody is writing it or was given a later position. It is likely to be
    /// the entry of `before`, one round ago; positions that were passed over make it an older one's.
    fn begin(&self, position: u64, before: u64) -> bool {
        let mut stamp = before << 1;
        while stamp & WRITING == 0 && stamp < position << 1 {
            // Acquire pairs with the release store in `finish`: this writer's words come after the last one's.
            match self.stamp.compare_exchange(stamp, position << 1 | WRITING, Acquire, Relaxed) {
                Ok(_) => return true,
                Err(seen) => stamp = seen,
            }
        }
        false
    }

    fn write(&self, key: &Key) {
        // Each pairs with the acquire load in `holds`: whoever reads the word sees that the entry changes hands.
        self.key.iter().zip(key).for_each(|(stored, word)| stored.store(*word, Release));
    }

    fn finish(&self, position: u64) {
        // Pairs with the acquire exchange in `begin`.
        self.stamp.store(position << 1, Release);
    }
}
