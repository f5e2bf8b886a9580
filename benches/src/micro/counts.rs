//! The production counters, read before and after a round.

use levada_engine::heap;
use levada_wire::hash;
use levada_wire::waku::message;

/// What was counted, over some stretch of time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are named like the counters they hold")]
pub struct Counts {
    pub decodes: u64,
    pub decoded_bytes: u64,
    pub hashes: u64,
    pub hashed_bytes: u64,
    pub copies: u64,
    pub copied_bytes: u64,
    pub allocations: u64,
}

impl Counts {
    /// The counters as they stand.
    pub fn now() -> Self {
        Self {
            decodes: message::DECODES.value(),
            decoded_bytes: message::DECODED_BYTES.value(),
            hashes: hash::MESSAGE_HASHES.value(),
            hashed_bytes: hash::HASHED_BYTES.value(),
            copies: levada_engine::PAYLOAD_COPIES.value() + levada_archive::counters::ARCHIVE_COPIES.value(),
            copied_bytes: levada_engine::PAYLOAD_COPIED_BYTES.value()
                + levada_archive::counters::ARCHIVE_COPIED_BYTES.value(),
            allocations: heap::allocations_total(),
        }
    }

    /// What was counted since `earlier`.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            decodes: self.decodes - earlier.decodes,
            decoded_bytes: self.decoded_bytes - earlier.decoded_bytes,
            hashes: self.hashes - earlier.hashes,
            hashed_bytes: self.hashed_bytes - earlier.hashed_bytes,
            copies: self.copies - earlier.copies,
            copied_bytes: self.copied_bytes - earlier.copied_bytes,
            allocations: self.allocations - earlier.allocations,
        }
    }

    /// All but the allocations, which depend on what libraries keep: these must not differ between two rounds.
    pub fn path(&self) -> Self {
        Self { allocations: 0, ..*self }
    }
}
