//! `fetch`: reads the chunk that a request asks for into a slot, which takes the place of the request's own.
//!
//! Cost: one read and one BLAKE3 pass, so that a damaged file is never served. It blocks: give it a worker of its own.

use std::sync::Arc;

use levada_engine::{Arena, Batch, Counter, Envelope, Outputs, Stage};
use levada_wire::Span;

use super::files::ChunkFiles;
use super::record::{ChunkRecord, Outcome, Refusal};
use super::shield::shielded;

/// Requests to fetch that found no slot for the chunk.
pub static FETCH_FULL: Counter = Counter::new();

/// Answers requests to fetch.
#[derive(Debug)]
pub struct Fetch {
    files: Arc<ChunkFiles>,
}

impl Fetch {
    /// The stage that reads `files`.
    pub fn new(files: Arc<ChunkFiles>) -> Self {
        Self { files }
    }

    /// The chunk in a slot of its own, or what to answer without it.
    fn chunk<'a>(
        &self,
        arena: &'a Arena<ChunkRecord>,
        request: &ChunkRecord,
    ) -> Result<Envelope<'a, ChunkRecord>, Outcome> {
        let disk = |error: std::io::Error| {
            tracing::warn!(address = hex::encode(request.address), %error, "a chunk could not be read");
            Outcome::GetRefused(Refusal::StorageFailed("the disk failed"))
        };
        let bytes = self.files.bytes_of(&request.address).map_err(disk)?.ok_or(Outcome::NotFound)?;
        let mut slot = arena.claim(bytes).map_err(|_| {
            FETCH_FULL.add(1);
            Outcome::GetRefused(Refusal::StorageFailed("no memory is free, try again"))
        })?;
        if !self.files.read(&request.address, &mut slot.payload_mut()[..bytes]).map_err(disk)? {
            return Err(Outcome::NotFound);
        }
        slot.set_len(bytes);
        let content = Span { start: 0, len: bytes as u32 };
        *slot.record_mut() = ChunkRecord { content, outcome: Outcome::Found, ..*request };
        Ok(slot.share())
    }
}

const NEXT: usize = 0;

impl Stage<ChunkRecord> for Fetch {
    fn ports(&self) -> &'static [&'static str] {
        &["next"]
    }

    fn process(&mut self, batch: &mut Batch<'_, ChunkRecord>, outputs: &mut Outputs<'_, ChunkRecord>) {
        for mut request in batch {
            match shielded(|| self.chunk(outputs.arena(), request.record())).unwrap_or_else(Err) {
                Ok(chunk) => outputs.send(NEXT, chunk),
                Err(outcome) => {
                    super::record_of(&mut request).outcome = outcome;
                    outputs.send(NEXT, request);
                }
            }
        }
    }
}
