//! What was sent, and who got it.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::message::{content_topic, encode, stamp, unix_ns};

/// All messages of a run.
pub struct Ledger {
    began: Instant,
    next: AtomicU64,
    /// When the message of each number was accepted for sending, in milliseconds since the run began; none if it never was.
    sent_ms: Mutex<Vec<Option<u64>>>,
    /// From sender to subscriber, in microseconds, since the last sample.
    latencies_us: Mutex<Vec<u32>>,
    content_topics: u64,
    payload_bytes: usize,
}

impl Ledger {
    pub fn new(content_topics: u64, payload_bytes: usize) -> Self {
        let (sent_ms, latencies_us) = (Mutex::default(), Mutex::default());
        Self { began: Instant::now(), next: AtomicU64::new(0), sent_ms, latencies_us, content_topics, payload_bytes }
    }

    /// Milliseconds since the run began.
    pub fn now_ms(&self) -> u64 {
        self.began.elapsed().as_millis() as u64
    }

    /// The next message: its number and its encoding.
    pub fn next(&self) -> (u64, bytes::Bytes) {
        let number = self.next.fetch_add(1, Relaxed);
        (number, encode(number, &content_topic(number % self.content_topics), self.payload_bytes))
    }

    /// A message is on its way: from now on it must not be lost.
    pub fn sent(&self, number: u64) {
        let (mut sent, at) = (lock(&self.sent_ms), number as usize);
        if sent.len() <= at {
            sent.resize(at + 1, None);
        }
        sent[at] = Some(self.now_ms());
    }

    /// How many are on their way or there.
    pub fn sent_total(&self) -> u64 {
        lock(&self.sent_ms).iter().flatten().count() as u64
    }

    /// Number and time in milliseconds of each message that was sent.
    pub fn all_sent(&self) -> Vec<(u64, u64)> {
        let sent = lock(&self.sent_ms);
        (0..).zip(sent.iter()).filter_map(|(number, ms)| Some((number, (*ms)?))).collect()
    }

    /// The number of a message that came, and how long it took counted.
    pub fn came(&self, data: &[u8]) -> Option<u64> {
        let (number, sent_ns) = stamp(data)?;
        let us = unix_ns().saturating_sub(sent_ns) / 1_000;
        lock(&self.latencies_us).push(us.try_into().unwrap_or(u32::MAX));
        Some(number)
    }

    /// The latencies since it was last asked.
    pub fn take_latencies_us(&self) -> Vec<u32> {
        std::mem::take(&mut lock(&self.latencies_us))
    }
}

/// The messages that one receiver got one way.
#[derive(Default)]
pub struct Tally {
    words: Mutex<Vec<u64>>,
    got: AtomicU64,
    repeated: AtomicU64,
}

impl Tally {
    pub fn count(&self, number: u64) {
        let (mut words, word, bit) = (lock(&self.words), (number / 64) as usize, 1 << (number % 64));
        if words.len() <= word {
            words.resize(word + 1, 0);
        }
        let counter = if words[word] & bit == 0 { &self.got } else { &self.repeated };
        words[word] |= bit;
        counter.fetch_add(1, Relaxed);
    }

    pub fn has(&self, number: u64) -> bool {
        lock(&self.words).get((number / 64) as usize).is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    /// Messages, each once.
    pub fn got(&self) -> u64 {
        self.got.load(Relaxed)
    }

    /// Messages that came once more.
    pub fn repeated(&self) -> u64 {
        self.repeated.load(Relaxed)
    }
}

/// What holds is whole after any change of it, so that a panic elsewhere costs nothing.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
