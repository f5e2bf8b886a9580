//! `id_hash`: the gossipsub message id, SHA-256 over the encoded message (11/WAKU2-RELAY).
//!
//! Cost: one hash pass over the payload, or none when the ingress already brought the id.

use levada_engine::Stage;
use levada_wire::hash;
use levada_wire::waku::WakuRecord;

use crate::{Messages, Ports};

/// Fills in the id where it is not known yet.
#[derive(Debug, Default)]
pub struct IdHash;

const NEXT: usize = 0;

impl Stage<WakuRecord> for IdHash {
    fn ports(&self) -> &'static [&'static str] {
        &["next"]
    }

    fn process(&mut self, batch: &mut Messages<'_>, ports: &mut Ports<'_>) {
        for mut envelope in batch {
            if !envelope.record().id_known {
                let id = hash::message_id(envelope.payload());
                let record = crate::record(&mut envelope);
                (record.id, record.id_known) = (id, true);
            }
            ports.send(NEXT, envelope);
        }
    }
}
