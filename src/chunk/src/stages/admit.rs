//! `admit`: what a node looks at before it hashes anything: the chunk's size, and how many bytes wait for the disk already.
//!
//! Cost: no payload byte. What bounds memory is the arena itself; the account here keeps a slow disk from taking all of it,
//! so that requests to fetch still find a slot.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use levada_engine::{Batch, BatchLimit, Counter, Outputs, Stage};
use levada_wire::autonomi::check_chunk;

use super::record::{ChunkRecord, Outcome, Refusal};

/// Bytes of slots between admission and the disk.
#[derive(Debug)]
pub struct Admission {
    bytes: AtomicU64,
    bytes_max: u64,
    /// Chunks refused because too much waited.
    pub full: Counter,
    /// Chunks refused for their size.
    pub too_large: Counter,
}

impl Admission {
    /// At most `bytes_max` of slots wait for the disk.
    pub fn new(bytes_max: u64) -> Self {
        Self { bytes: AtomicU64::new(0), bytes_max, full: Counter::new(), too_large: Counter::new() }
    }

    /// Bytes of the slots admitted and not settled.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }

    /// Takes a slot into account, unless the bound would be passed.
    fn take(&self, slot_bytes: u64) -> bool {
        let fits = self.bytes.fetch_add(slot_bytes, Relaxed) + slot_bytes <= self.bytes_max;
        if !fits {
            self.settle(slot_bytes);
            self.full.add(1);
        }
        fits
    }

    /// A slot that was admitted is answered for.
    pub(crate) fn settle(&self, slot_bytes: u64) {
        self.bytes.fetch_sub(slot_bytes, Relaxed);
    }
}

/// Decides per request.
#[derive(Debug)]
pub struct Admit {
    admission: Arc<Admission>,
}

impl Admit {
    /// A lane over the shared account, which `reply` lowers again.
    pub fn new(admission: Arc<Admission>) -> Self {
        Self { admission }
    }

    fn refusal(&self, content_bytes: u32, slot_bytes: usize) -> Option<Refusal> {
        let bytes = u64::from(content_bytes);
        if check_chunk(bytes).is_err() {
            self.admission.too_large.add(1);
            return Some(Refusal::ChunkTooLarge { bytes });
        }
        let busy = Refusal::StorageFailed("too much waits for the disk, try again");
        (!self.admission.take(slot_bytes as u64)).then_some(busy)
    }
}

const NEXT: usize = 0;
const ANSWERED: usize = 1;

impl Stage<ChunkRecord> for Admit {
    fn ports(&self) -> &'static [&'static str] {
        &["next", "answered"]
    }

    fn batch_limit(&self) -> BatchLimit {
        super::HEADERS_ONLY
    }

    fn process(&mut self, batch: &mut Batch<'_, ChunkRecord>, outputs: &mut Outputs<'_, ChunkRecord>) {
        for mut envelope in batch {
            match self.refusal(envelope.record().content.len, envelope.slot_bytes()) {
                None => {
                    super::record_of(&mut envelope).is_admitted = true;
                    outputs.send(NEXT, envelope);
                }
                Some(refusal) => {
                    super::record_of(&mut envelope).outcome = Outcome::PutRefused(refusal);
                    outputs.send(ANSWERED, envelope);
                }
            }
        }
    }
}
