//! The production counters, read before and after a round.

use levada_archive::counters::{ARCHIVE_COPIED_BYTES, ARCHIVE_COPIES};
use levada_engine::{Counter, PAYLOAD_COPIED_BYTES, PAYLOAD_COPIES, heap};
use levada_wire::hash;
use levada_wire::waku::message;
use serde::{Deserialize, Serialize};

/// What was counted, over some stretch of time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are named like the counters they hold")]
pub struct Counts {
    pub decodes: u64,
    pub decoded_bytes: u64,
    pub hashes: u64,
    pub ids: u64,
    pub hashed_bytes: u64,
    pub copies: u64,
    pub copied_bytes: u64,
    /// Those of `copies` that went into an archive.
    pub archive_copies: u64,
    pub allocations: u64,
}

impl Counts {
    /// The counters as they stand.
    pub fn now() -> Self {
        Self::read(Counter::value, heap::allocations_total())
    }

    /// The calling thread's part of them, for work that stays on it.
    pub fn of_thread() -> Self {
        Self::read(Counter::value_of_thread, heap::allocations_of_thread())
    }

    fn read(value: fn(&Counter) -> u64, allocations: u64) -> Self {
        Self {
            decodes: value(&message::DECODES),
            decoded_bytes: value(&message::DECODED_BYTES),
            hashes: value(&hash::MESSAGE_HASHES),
            ids: value(&hash::MESSAGE_IDS),
            hashed_bytes: value(&hash::HASHED_BYTES),
            copies: value(&PAYLOAD_COPIES) + value(&ARCHIVE_COPIES),
            copied_bytes: value(&PAYLOAD_COPIED_BYTES) + value(&ARCHIVE_COPIED_BYTES),
            archive_copies: value(&ARCHIVE_COPIES),
            allocations,
        }
    }

    /// What was counted since `earlier`.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            decodes: self.decodes - earlier.decodes,
            decoded_bytes: self.decoded_bytes - earlier.decoded_bytes,
            hashes: self.hashes - earlier.hashes,
            ids: self.ids - earlier.ids,
            hashed_bytes: self.hashed_bytes - earlier.hashed_bytes,
            copies: self.copies - earlier.copies,
            copied_bytes: self.copied_bytes - earlier.copied_bytes,
            archive_copies: self.archive_copies - earlier.archive_copies,
            allocations: self.allocations - earlier.allocations,
        }
    }

    /// All but the allocations, which depend on what libraries keep: these must not differ between two rounds.
    pub fn path(&self) -> Self {
        Self { allocations: 0, ..*self }
    }
}
