//! `archive`: writes a chunk's content to its file, from the slot in which it came.
//!
//! Cost: one write and two syncs per chunk. It blocks: give it a worker of its own. The answer comes behind it, so that
//! what is answered with success is on the disk.

use std::io;
use std::sync::Arc;

use levada_engine::{Batch, Counter, Outputs, Stage};

use super::files::ChunkFiles;
use super::record::{ChunkRecord, Outcome, Refusal};
use super::shield::shielded;

/// Chunks that the disk did not take.
pub static STORE_FAILURES: Counter = Counter::new();

/// Stores what `policy` let pass.
#[derive(Debug)]
pub struct ChunkArchive {
    files: Arc<ChunkFiles>,
}

impl ChunkArchive {
    /// The stage that writes `files`.
    pub fn new(files: Arc<ChunkFiles>) -> Self {
        Self { files }
    }

    fn outcome(&self, payload: &[u8], record: &ChunkRecord) -> Outcome {
        let content = record.content.of(payload);
        // Another request for the same chunk may have come between `policy` and here.
        if matches!(self.files.bytes_of(&record.address), Ok(Some(bytes)) if bytes == content.len()) {
            return Outcome::AlreadyExists;
        }
        match self.files.store(&record.address, content) {
            Ok(()) => Outcome::Stored,
            Err(error) => {
                STORE_FAILURES.add(1);
                tracing::warn!(address = hex::encode(record.address), %error, "a chunk could not be stored");
                let full = error.kind() == io::ErrorKind::StorageFull;
                let why = if full { "the folder of chunks is full" } else { "the disk failed" };
                Outcome::PutRefused(Refusal::StorageFailed(why))
            }
        }
    }
}

const NEXT: usize = 0;

impl Stage<ChunkRecord> for ChunkArchive {
    fn ports(&self) -> &'static [&'static str] {
        &["next"]
    }

    fn process(&mut self, batch: &mut Batch<'_, ChunkRecord>, outputs: &mut Outputs<'_, ChunkRecord>) {
        batch.pass(outputs, NEXT, |envelope| {
            let outcome =
                shielded(|| self.outcome(envelope.payload(), envelope.record())).unwrap_or_else(|broken| broken);
            super::record_of(envelope).outcome = outcome;
        });
    }
}
