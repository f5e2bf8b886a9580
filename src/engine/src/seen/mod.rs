//! Which keys were seen lately: a set that all threads share, of fixed size and without a lock.
//!
//! ```text
//!             hash picks a bucket                           the word's position names an entry
//!  key ─────→ [word│word│ … │word]  ──────────────────────→ log: … [stamp│key] [stamp│key] …  ← cursor
//!              16 words of position│fingerprint│marks               the newest keys, in order of arrival
//! ```
//!
//! **Publication.** A new key is written into a log entry that nobody else knows, and then becomes known by one exchange
//! of one word in its bucket. There is no half-made entry to come upon, so nobody ever waits: a thread that is preempted
//! or killed in the middle of an insertion holds an entry of the log out of use, and nothing else.
//!
//! **One winner.** A word is only ever exchanged for a greater one (positions grow, marks are added), and a new key takes
//! the place of the bucket's least word. Suppose that two threads inserted one key, the first in place of word *i*, the
//! second of word *j*, and neither saw the other's word. Then what the second saw in *i* was no greater than what the
//! first replaced there, and the other way round for *j*; but *i* was the least that the first saw, and *j* the least
//! that the second saw. That leaves two words alike, which are empty ones, and of those both take the first. So one
//! exchange fails, and its thread looks again and finds the key. (Unless the first one's word has been crowded out by then:
//! that is a loss of the kind below, and counted.)
//!
//! **Bounds.** A look-up reads one bucket. When all words of it are in use, the oldest key in it is forgotten early, and
//! counted. The log has four words in the buckets for each of its entries: that a bucket gets 16 newer keys before the log
//! has come round happens to five keys in a million. Nobody can aim at a bucket, for a secret drawn per set decides
//! which one a key belongs to.
//!
//! **Forgetting.** Nothing is swept. A key is forgotten as its log entry is written over, by age in keys, or as the
//! horizon passes its position, by age in time: [`Set::rotate`] moves it by one generation, and takes no time.

mod bucket;
mod log;
mod look;
mod secret;
#[cfg(all(test, not(loom)))]
mod tests;
mod zeroed;

use std::fmt;
use std::sync::atomic::Ordering::Relaxed;

use crate::counters::Counter;
use crate::sync::AtomicU64;
use bucket::{Bucket, Found, WAYS, Word};
use log::Log;
use secret::Secret;

/// Words in the buckets for each entry of the log.
const WORDS_PER_KEY: usize = 4;

/// Least entries of the log: more than there are threads in the middle of an insertion at once.
#[cfg(not(loom))]
const KEYS_MIN: usize = 256;
#[cfg(loom)]
const KEYS_MIN: usize = 2;

/// Most entries of the log: 6 GiB.
const KEYS_MAX: usize = 1 << 26;

/// The keys seen lately, and up to eight marks beside each.
pub struct Set {
    secret: Secret,
    buckets: Box<[Bucket]>,
    log: Log,
    /// What lies before this position is forgotten.
    horizon: AtomicU64,
    /// Where the horizon goes next: the position at which the present generation began.
    young: AtomicU64,
    crowded_out: Counter,
}

/// What the set knew of a key that was inserted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sight {
    /// Nothing. Of all threads that insert a key at once, one gets this.
    New,
    /// It was there.
    Known {
        /// The marks it had before this insertion added its own.
        marks: u8,
    },
}

impl Set {
    /// A set that remembers a key until `keys_max` newer insertions have taken an entry, or two rotations have passed.
    /// `keys_max` is rounded up to a power of two, at least 256 and at most 2²⁶.
    ///
    /// Memory is reserved here, 96 bytes a key, and nowhere else; where the allocator leaves that to the system, it
    /// becomes resident as it is used.
    pub fn new(keys_max: usize) -> Self {
        Self::with_secret(keys_max, Secret::drawn().0)
    }

    /// The same with a known secret, for runs that must repeat. Whoever knows it can choose keys that crowd each other
    /// out.
    pub fn with_secret(keys_max: usize, secret: [u64; 4]) -> Self {
        Self::starting_at(keys_max, secret, log::FIRST)
    }

    /// The same with positions that go on from `first`, which is above 0: for the proofs, which come to the last that a word
    /// holds.
    #[doc(hidden)]
    pub fn starting_at(keys_max: usize, secret: [u64; 4], first: u64) -> Self {
        let keys = keys_max.clamp(KEYS_MIN, KEYS_MAX).next_power_of_two();
        Self {
            secret: Secret(secret),
            buckets: zeroed::slice(keys * WORDS_PER_KEY / WAYS),
            log: Log::new(keys, first),
            horizon: AtomicU64::new(log::FIRST),
            young: AtomicU64::new(first),
            crowded_out: Counter::new(),
        }
    }

    /// Remembers `key`, adds `marks` to those it has, and says what was known of it.
    ///
    /// An insertion that lasts while the log comes round, or while two rotations pass, counts from its beginning: the key
    /// is forgotten as it is inserted.
    pub fn insert(&self, key: &[u8; 32], marks: u8) -> Sight {
        let key = words(key);
        let hash = self.secret.hash(&key);
        let (bucket, fingerprint) = (&self.buckets[(hash >> 32) as usize & (self.buckets.len() - 1)], hash as u8);
        let horizon = self.horizon.load(Relaxed);
        let mut position = 0;
        loop {
            let found = bucket.find(fingerprint, |position| position >= horizon && self.log.holds(position, &key));
            match found {
                Found::Here(place) => {
                    if bucket.mark(place, marks) {
                        return Sight::Known { marks: place.word.marks() };
                    }
                }
                Found::Nowhere { oldest } => {
                    // Words grow: an entry taken before the oldest word came would not do.
                    if position <= oldest.word.position() {
                        position = self.log.append(&key);
                    }
                    if bucket.replace(oldest, Word::new(position, fingerprint, marks)) {
                        self.count_loss(oldest.word.position(), horizon, position);
                        return Sight::New;
                    }
                }
            }
        }
    }

    /// A word was replaced while its key was remembered: the bucket was full.
    fn count_loss(&self, lost: u64, horizon: u64, position: u64) {
        if lost >= horizon && position - lost < self.log.keys() {
            self.crowded_out.add(1);
        }
    }

    /// Begins a new generation, and forgets the one before the last: every key that was inserted before the last call.
    /// Called once per window of time, the set remembers a key for at least one window and at most two.
    pub fn rotate(&self) {
        let next = self.log.cursor();
        let horizon = self.young.fetch_max(next, Relaxed);
        self.horizon.fetch_max(horizon, Relaxed);
    }

    /// Keys the set remembers at most.
    pub fn keys_max(&self) -> usize {
        self.log.keys() as usize
    }

    /// Keys forgotten before their time because their bucket was full.
    pub fn crowded_out_total(&self) -> u64 {
        self.crowded_out.value()
    }

    /// Bytes the tables take.
    pub fn bytes(&self) -> usize {
        size_of_val::<[Bucket]>(&self.buckets) + self.log.bytes()
    }
}

/// Without the tables, and without the secret.
impl fmt::Debug for Set {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let crowded_out = self.crowded_out_total();
        f.debug_struct("Set")
            .field("keys_max", &self.keys_max())
            .field("crowded_out", &crowded_out)
            .finish_non_exhaustive()
    }
}

/// A key as it is stored.
type Key = [u64; 4];

fn words(key: &[u8; 32]) -> Key {
    let (words, _) = key.as_chunks::<8>();
    std::array::from_fn(|place| u64::from_le_bytes(words[place]))
}
