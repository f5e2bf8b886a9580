//! `id_hash`: the gossipsub message id, SHA-256 over the encoded message (11/WAKU2-RELAY).
//!
//! Cost: one hash pass over the payload, or none when the ingress already brought the id. What waits is hashed side by
//! side, together with what waits in [`message_hash`](crate::message_hash).

use levada_engine::{BatchLimit, Stage};
use levada_wire::waku::WakuRecord;

use crate::hash_unit::{HASH_LIMIT, HashUnit};
use crate::{Messages, Ports};

/// Fills in the id where it is not known yet.
#[derive(Debug)]
pub struct IdHash {
    unit: HashUnit,
}

impl IdHash {
    /// A lane that hashes in `unit`.
    pub fn new(unit: HashUnit) -> Self {
        Self { unit }
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
        let mut unit = self.unit.lock();
        unit.hash_ids(batch);
        let mut ids = unit.digests().iter();
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
