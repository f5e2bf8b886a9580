//! `decode`: finds the fields of the WakuMessage (14/WAKU2-MESSAGE) in the slot, once for all stages behind it.
//!
//! Cost: one walk over the field headers, no copy, no allocation.

use levada_engine::{BatchLimit, Stage};
use levada_wire::waku::{RejectReason, Verdict, WakuRecord, message};

use crate::{Messages, Ports};

/// Fills the record's spans, or rejects the message.
#[derive(Debug, Default)]
pub struct Decode;

const DECODED: usize = 0;
const REJECTED: usize = 1;

impl Stage<WakuRecord> for Decode {
    fn ports(&self) -> &'static [&'static str] {
        &["decoded", "rejected"]
    }

    fn batch_limit(&self) -> BatchLimit {
        crate::HEADERS_ONLY
    }

    fn process(&mut self, batch: &mut Messages<'_>, ports: &mut Ports<'_>) {
        for mut envelope in batch {
            if envelope.record().decoded {
                // Whoever published it here had to look into it already.
                ports.send(DECODED, envelope);
                continue;
            }
            match message::decode(envelope.payload()) {
                Ok(spans) => {
                    crate::record(&mut envelope).fill(&spans);
                    ports.send(DECODED, envelope);
                }
                Err(error) => {
                    tracing::debug!(peer = envelope.record().peer, %error, "rejected a message that cannot be decoded");
                    let record = crate::record(&mut envelope);
                    (record.verdict, record.reject_reason) = (Verdict::Reject, RejectReason::Malformed);
                    ports.send(REJECTED, envelope);
                }
            }
        }
    }
}
