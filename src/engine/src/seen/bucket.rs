//! The words of the keys that hash alike: what is looked through, and what an insertion exchanges.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::zeroed::Zero;
use crate::sync::AtomicU64;

/// Words in a bucket: a pair of cache lines, which the processor fetches together.
#[cfg(not(loom))]
pub(super) const WAYS: usize = 16;
#[cfg(loom)]
pub(super) const WAYS: usize = 2;

/// A position in the log (48 bits: nine years of a million new keys a second), a fingerprint of the key there, and its
/// marks. Words compare by age; 0 is none.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Word(u64);

impl Word {
    pub fn new(position: u64, fingerprint: u8, marks: u8) -> Self {
        Self(position << 16 | u64::from(fingerprint) << 8 | u64::from(marks))
    }

    pub fn position(self) -> u64 {
        self.0 >> 16
    }

    fn fingerprint(self) -> u8 {
        (self.0 >> 8) as u8
    }

    pub fn marks(self) -> u8 {
        self.0 as u8
    }
}

/// The words of one bucket; each only ever grows.
#[derive(Default)]
#[repr(C, align(128))]
pub(super) struct Bucket([AtomicU64; WAYS]);

// SAFETY: the words are plain integers, and zero is one of them.
unsafe impl Zero for Bucket {}

/// A word as it was read.
#[derive(Clone, Copy)]
pub(super) struct Place {
    way: usize,
    pub word: Word,
}

/// What looking through a bucket came to.
pub(super) enum Found {
    Here(Place),
    Nowhere { oldest: Place },
}

impl Bucket {
    /// Looks for a word with the fingerprint whose position `is_it` confirms.
    #[inline]
    pub fn find(&self, fingerprint: u8, is_it: impl Fn(u64) -> bool) -> Found {
        let mut oldest = Place { way: 0, word: Word(u64::MAX) };
        for (way, word) in self.0.iter().enumerate() {
            // Pairs with the release exchange in `replace`: the log entry of the position is visible, and later positions
            // are greater.
            let word = Word(word.load(Acquire));
            if word.fingerprint() == fingerprint && is_it(word.position()) {
                return Found::Here(Place { way, word });
            }
            // Of words alike the first: all who see a bucket with empty words choose the same.
            if word < oldest.word {
                oldest = Place { way, word };
            }
        }
        Found::Nowhere { oldest }
    }

    /// Adds marks; false when the word has changed meanwhile.
    pub fn mark(&self, place: Place, marks: u8) -> bool {
        let (word, was) = (&self.0[place.way], place.word.0);
        let marked = was | u64::from(marks);
        // An exchange goes on with the release sequence of the one in `replace`, so that it need not release itself.
        marked == was || word.compare_exchange(was, marked, Relaxed, Relaxed).is_ok()
    }

    /// Puts a greater word in place of one that was read; false when that has changed meanwhile.
    pub fn replace(&self, place: Place, by: Word) -> bool {
        assert!(by > place.word, "a word grows");
        let word = &self.0[place.way];
        // Pairs with the acquire load in `find`.
        word.compare_exchange(place.word.0, by.0, Release, Relaxed).is_ok()
    }
}
