//! `reply`: the end of a node's path: counts what became of a request, and says it in the protocol's words.
//!
//! Cost: no payload byte; the answer to a request to fetch carries the chunk by reference.

use std::sync::Arc;

use levada_engine::{Batch, BatchLimit, Counter, Outputs, Stage};
use levada_wire::autonomi::{CHUNK_BYTES_MAX, ChunkBody, ChunkMessage, GetResponse, ProtocolError, PutResponse};

use super::admit::Admission;
use super::record::{ChunkRecord, Outcome, Refusal};

/// Answers by what they say.
#[derive(Debug, Default)]
pub struct Replies {
    /// Chunks stored.
    pub stored: Counter,
    /// Chunks that were stored before.
    pub already_stored: Counter,
    /// Chunks fetched.
    pub found: Counter,
    /// Chunks asked for that are not here.
    pub not_found: Counter,
    /// Requests refused.
    pub refused: Counter,
}

/// Settles the account of `admit` and passes on to whoever holds the connections.
#[derive(Debug)]
pub struct Reply {
    admission: Arc<Admission>,
    replies: Arc<Replies>,
}

impl Reply {
    /// The last stage of a path that `admission` guards.
    pub fn new(admission: Arc<Admission>, replies: Arc<Replies>) -> Self {
        Self { admission, replies }
    }
}

const ANSWERS: usize = 0;

impl Stage<ChunkRecord> for Reply {
    fn ports(&self) -> &'static [&'static str] {
        &["answers"]
    }

    fn batch_limit(&self) -> BatchLimit {
        super::HEADERS_ONLY
    }

    fn process(&mut self, batch: &mut Batch<'_, ChunkRecord>, outputs: &mut Outputs<'_, ChunkRecord>) {
        batch.pass(outputs, ANSWERS, |envelope| {
            let record = envelope.record();
            if record.is_admitted {
                self.admission.settle(envelope.slot_bytes() as u64);
            }
            match record.outcome {
                Outcome::Stored => self.replies.stored.add(1),
                Outcome::AlreadyExists => self.replies.already_stored.add(1),
                Outcome::Found => self.replies.found.add(1),
                Outcome::NotFound => self.replies.not_found.add(1),
                Outcome::Pending | Outcome::PutRefused(_) | Outcome::GetRefused(_) => self.replies.refused.add(1),
            }
        });
    }
}

/// Gives the answer to the request of `record`, whose payload is `payload`, to `send`.
pub fn with_answer<R>(payload: &[u8], record: &ChunkRecord, send: impl FnOnce(&ChunkMessage<'_>) -> R) -> R {
    let address = &record.address;
    let mut text = String::new();
    let body = match &record.outcome {
        Outcome::Stored => ChunkBody::PutResponse(PutResponse::Success { address }),
        Outcome::AlreadyExists => ChunkBody::PutResponse(PutResponse::AlreadyExists { address }),
        Outcome::Found => ChunkBody::GetResponse(GetResponse::Success { address, content: record.content.of(payload) }),
        Outcome::NotFound => ChunkBody::GetResponse(GetResponse::NotFound { address }),
        Outcome::PutRefused(Refusal::PaymentRequired(message)) => {
            ChunkBody::PutResponse(PutResponse::PaymentRequired { message })
        }
        Outcome::PutRefused(refusal) => ChunkBody::PutResponse(PutResponse::Error(refusal.error(address, &mut text))),
        Outcome::GetRefused(refusal) => ChunkBody::GetResponse(GetResponse::Error(refusal.error(address, &mut text))),
        Outcome::Pending => ChunkBody::PutResponse(PutResponse::Error(ProtocolError::Internal("not handled"))),
    };
    send(&ChunkMessage { request_id: record.request_id, body })
}

impl Refusal {
    /// The refusal as the protocol's error; `text` holds words that must be made up.
    fn error<'a>(&'a self, expected: &'a [u8; 32], text: &'a mut String) -> ProtocolError<'a> {
        match self {
            Self::Undecodable(error) => {
                *text = error.to_string();
                ProtocolError::DeserializationFailed(text)
            }
            Self::NotServed => ProtocolError::Internal("this node stores and fetches chunks, nothing else"),
            Self::Signature(why) => ProtocolError::Internal(why),
            Self::Panicked => ProtocolError::Internal("this node broke down on the request"),
            Self::ChunkTooLarge { bytes } => {
                ProtocolError::ChunkTooLarge { size: *bytes, max_size: CHUNK_BYTES_MAX as u64 }
            }
            Self::AddressMismatch { actual } => ProtocolError::AddressMismatch { expected, actual },
            Self::StorageFailed(why) => ProtocolError::StorageFailed(why),
            Self::PaymentRequired(why) | Self::PaymentFailed(why) => ProtocolError::PaymentFailed(why),
        }
    }
}
