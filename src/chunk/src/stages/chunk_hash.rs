//! `chunk_hash`: BLAKE3 of the content, which is the chunk's address, once per chunk in this process.
//!
//! Cost: one pass over the content. It comes before everything that reads the payment proof or the disk, because garbage
//! costs a millisecond here and more behind.

use levada_engine::{Batch, BatchLimit, Counter, Outputs, Stage};
use levada_wire::autonomi::Address;

use super::record::{ChunkRecord, Outcome, Refusal};
use super::shield::shielded;

/// Contents hashed by this process.
pub static CHUNK_HASHES: Counter = Counter::new();

/// Chunks whose content had another address than they were sent with.
pub static ADDRESS_MISMATCHES: Counter = Counter::new();

/// The address of a chunk, counted.
pub fn address_of(content: &[u8]) -> Address {
    CHUNK_HASHES.add(1);
    *blake3::hash(content).as_bytes()
}

/// What the address is computed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    Check,
    Name,
}

/// Computes addresses.
#[derive(Debug)]
pub struct ChunkHash(Purpose);

impl ChunkHash {
    /// For a node: the address in the request must be that of the content.
    pub fn checking() -> Self {
        Self(Purpose::Check)
    }

    /// For who cuts a file into chunks: the address goes into the record.
    pub fn naming() -> Self {
        Self(Purpose::Name)
    }

    fn take(&self, actual: Address, record: &mut ChunkRecord) -> Result<(), Outcome> {
        if self.0 == Purpose::Name {
            record.address = actual;
        } else if record.address != actual {
            ADDRESS_MISMATCHES.add(1);
            return Err(Outcome::PutRefused(Refusal::AddressMismatch { actual }));
        }
        Ok(())
    }
}

const NEXT: usize = 0;
const ANSWERED: usize = 1;

impl Stage<ChunkRecord> for ChunkHash {
    fn ports(&self) -> &'static [&'static str] {
        &["next", "answered"]
    }

    /// One chunk at a time, so that those behind it are not held up by those before it.
    fn batch_limit(&self) -> BatchLimit {
        BatchLimit { envelopes: 8, payload_bytes: 1 }
    }

    fn process(&mut self, batch: &mut Batch<'_, ChunkRecord>, outputs: &mut Outputs<'_, ChunkRecord>) {
        for mut envelope in batch {
            let actual = shielded(|| address_of(envelope.record().content.of(envelope.payload())));
            let record = super::record_of(&mut envelope);
            match actual.and_then(|actual| self.take(actual, record)) {
                Ok(()) => outputs.send(NEXT, envelope),
                Err(refused) => {
                    record.outcome = refused;
                    outputs.send(ANSWERED, envelope);
                }
            }
        }
    }
}
