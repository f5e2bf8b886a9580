//! `backlog`: decides whether the archive takes a message, so that a slow disk never holds up the path.
//!
//! A message goes to the archive if it is eligible (13/WAKU2-STORE: not ephemeral, within 20 s of now) and what waits
//! for the disk stays within its bound; otherwise it goes on without being stored, and is counted. What a filter node
//! pushed is not stored, as with nwaku: no relay peer has vouched for it. What was fetched from another archive may be
//! of any time, since that archive judged it when it was new, and always finds room: who fetches waits until there is some.
//! Cost: a clock reading per batch, no payload byte.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use levada_archive::{Ineligible, eligible};
use levada_engine::{BatchLimit, Counter, Stage};
use levada_wire::waku::{Origin, WakuRecord};

use crate::{Messages, Ports};

/// What waits for the archive, and what did not get to; shared by this stage's lanes and the archive stage.
#[derive(Debug)]
pub struct Backlog {
    bytes: AtomicU64,
    envelopes: AtomicU64,
    bytes_max: u64,
    envelopes_max: u64,
    /// Messages not archived because too much waited already.
    pub full: Counter,
    /// Messages not archived because they were marked ephemeral.
    pub ephemeral: Counter,
    /// Messages not archived because their timestamp lies too far back.
    pub too_old: Counter,
    /// Messages not archived because their timestamp lies too far ahead.
    pub future: Counter,
}

impl Backlog {
    /// At most `envelopes_max` messages wait, in slots of at most `bytes_max` bytes together. What counts is the slot, not
    /// the payload in it: that is what the messages still to come cannot use.
    pub fn new(bytes_max: u64, envelopes_max: u64) -> Self {
        Self {
            bytes: AtomicU64::new(0),
            envelopes: AtomicU64::new(0),
            bytes_max,
            envelopes_max,
            full: Counter::new(),
            ephemeral: Counter::new(),
            too_old: Counter::new(),
            future: Counter::new(),
        }
    }

    /// Takes `bytes` into account, unless a bound would be passed.
    fn admit(&self, bytes: u64) -> bool {
        let envelopes = self.envelopes.fetch_add(1, Relaxed) + 1;
        let waiting = self.bytes.fetch_add(bytes, Relaxed) + bytes;
        let fits = envelopes <= self.envelopes_max && waiting <= self.bytes_max;
        if !fits {
            self.settle(1, bytes);
            self.full.add(1);
        }
        fits
    }

    /// Takes `bytes` into account whatever waits already; always true.
    fn enter(&self, bytes: u64) -> bool {
        self.envelopes.fetch_add(1, Relaxed);
        self.bytes.fetch_add(bytes, Relaxed);
        true
    }

    /// The archive is done with messages, well or ill.
    pub(crate) fn settle(&self, envelopes: u64, bytes: u64) {
        self.envelopes.fetch_sub(envelopes, Relaxed);
        self.bytes.fetch_sub(bytes, Relaxed);
    }

    /// Whether so much waits that waiting for more could cost messages: a quarter of a bound.
    pub fn is_pressed(&self) -> bool {
        self.bytes.load(Relaxed) > self.bytes_max / 4 || self.envelopes.load(Relaxed) > self.envelopes_max / 4
    }

    /// Bytes of the slots waiting now.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }
}

/// Decides per message.
#[derive(Debug)]
pub struct BacklogStage {
    backlog: Arc<Backlog>,
}

impl BacklogStage {
    /// A lane over the shared account.
    pub fn new(backlog: Arc<Backlog>) -> Self {
        Self { backlog }
    }

    /// Whether a message that came at the time `now` is one to be archived; counts why it is not.
    fn is_eligible(&self, record: &WakuRecord, now: i64) -> bool {
        match eligible(record.timestamp, record.ephemeral, now) {
            Ok(()) => return true,
            Err(Ineligible::Ephemeral) => self.backlog.ephemeral.add(1),
            Err(Ineligible::TooOld) => self.backlog.too_old.add(1),
            Err(Ineligible::Future) => self.backlog.future.add(1),
        }
        false
    }
}

const STORE: usize = 0;
const SKIP: usize = 1;

impl Stage<WakuRecord> for BacklogStage {
    fn ports(&self) -> &'static [&'static str] {
        &["store", "skip"]
    }

    fn batch_limit(&self) -> BatchLimit {
        crate::HEADERS_ONLY
    }

    fn process(&mut self, batch: &mut Messages<'_>, ports: &mut Ports<'_>) {
        let now = crate::unix_ns();
        for envelope in batch {
            let (record, bytes) = (envelope.record(), envelope.slot_bytes() as u64);
            // What another archive judged when it was new came at its own time.
            let store = match record.origin {
                Origin::Push => false,
                Origin::Resume => self.is_eligible(record, record.timestamp) && self.backlog.enter(bytes),
                Origin::Gossip | Origin::Publish => self.is_eligible(record, now) && self.backlog.admit(bytes),
            };
            ports.send(if store { STORE } else { SKIP }, envelope);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Backlog;

    #[test]
    fn bounds_hold_in_bytes_and_in_messages() {
        let backlog = Backlog::new(100, 3);
        assert!(backlog.admit(60));
        assert!(!backlog.admit(41));
        assert!(backlog.admit(40));
        assert_eq!((backlog.bytes(), backlog.full.value()), (100, 1));
        backlog.enter(1);
        assert_eq!((backlog.bytes(), backlog.full.value()), (101, 1), "what waits for room before always has some");
        backlog.settle(2, 61);
        assert!(backlog.admit(1));
        assert!(backlog.admit(1));
        assert!(!backlog.admit(1), "three messages wait");
        backlog.settle(3, 42);
        assert_eq!(backlog.bytes(), 0);
    }
}
