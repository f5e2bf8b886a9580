//! What the hash stages keep between batches, so that none is allocated or moved for a batch.

use levada_engine::BatchLimit;
use levada_wire::hash::{Digest, Job, Scratch, WINDOW, hash_many};

/// A backlog that fills the lanes; more bytes at once would keep the first message waiting without speeding up any.
pub(crate) const HASH_LIMIT: BatchLimit = BatchLimit { envelopes: WINDOW, payload_bytes: 8_000_000 };

/// Room for the jobs of a batch and their digests.
#[derive(Debug)]
pub(crate) struct HashBatch {
    /// Empty between batches: only its memory is kept.
    jobs: Vec<Job<'static>>,
    digests: Box<[Digest; WINDOW]>,
    scratch: Scratch,
}

impl HashBatch {
    /// Uses the kernels that `scratch` was made with.
    pub fn new(scratch: Scratch) -> Self {
        Self { jobs: Vec::with_capacity(WINDOW), digests: Box::new([[0; 32]; WINDOW]), scratch }
    }

    /// Hashes at most [`WINDOW`] jobs side by side; the digests are in the order of the jobs.
    pub fn hash<'a>(&mut self, jobs: impl Iterator<Item = Job<'a>>) -> &[Digest] {
        let mut batch = emptied(std::mem::take(&mut self.jobs));
        batch.extend(jobs.take(WINDOW));
        let digests = &mut self.digests[..batch.len()];
        hash_many(&batch, digests, &mut self.scratch);
        self.jobs = emptied(batch);
        digests
    }
}

/// The memory of a vector, for jobs of another lifetime. The standard library collects a vector of the same layout in
/// place; `benches/tests/micro.rs` shows that nothing is allocated.
fn emptied<'b>(mut jobs: Vec<Job<'_>>) -> Vec<Job<'b>> {
    jobs.clear();
    jobs.into_iter().map(|_| unreachable!("the vector is empty")).collect()
}
