//! `id_hash`: the gossipsub message id, SHA-256 over the encoded message (11/WAKU2-RELAY).
//!
//! Cost: one hash pass over the payload, or none when the ingress already brought the id. What waits is hashed side by
//! side, as in [`message_hash`](crate::message_hash).

use levada_engine::{BatchLimit, Stage};
use levada_wire::hash::{Job, Scratch};
use levada_wire::waku::WakuRecord;

use crate::hash_batch::{HASH_LIMIT, HashBatch};
use crate::{Messages, Ports};

/// Fills in the id where it is not known yet.
#[derive(Debug)]
pub struct IdHash {
    hashes: HashBatch,
}

impl Default for IdHash {
    fn default() -> Self {
        Self::with_scratch(Scratch::new())
    }
}

impl IdHash {
    /// A stage that uses the kernels of `scratch`, for measurements that compare them within one process.
    pub fn with_scratch(scratch: Scratch) -> Self {
        Self { hashes: HashBatch::new(scratch) }
    }
}

const NEXT: usize = 0;

impl Stage<WakuRecord> for IdHash {
    fn ports(&self) -> &'static [&'static str] {
        &["next"]
    }

    fn batch_limit(&self) -> BatchLimit {
        HASH_LIMIT
    }

    fn process(&mut self, batch: &mut Messages<'_>, ports: &mut Ports<'_>) {
        let unknown = batch.peek().filter(|view| !view.record.id_known);
        let mut ids = self.hashes.hash(unknown.map(|view| Job::message_id(view.payload))).iter();
        batch.pass(ports, NEXT, |envelope| {
            if !envelope.record().id_known {
                let id =
                    ids.next().expect("a batch is within the limit, and every message of it without an id was hashed");
                let record = crate::record(envelope);
                (record.id, record.id_known) = (*id, true);
            }
        });
    }
}
