//! `chunk_parse`: one walk over the message, signed or not; spans of its fields go into the record.
//!
//! Cost: the header's bytes. A signed message costs one SHAKE-256 pass more, for its signature.

use levada_engine::{Batch, BatchLimit, Counter, Outputs, Stage};
use levada_wire::autonomi::{ChunkBody, decode, is_framed, span_of};
use levada_wire::{Span, varint};

use super::record::{ChunkRecord, Outcome, Refusal};
use super::shield::shielded;
use crate::signature::{open, verify};

/// Messages that did not decode.
pub static UNDECODABLE: Counter = Counter::new();

/// Messages whose outer frame was refused.
pub static UNSIGNED: Counter = Counter::new();

/// Sorts messages by what they ask.
#[derive(Debug)]
pub struct ChunkParse {
    requires_signature: bool,
}

impl ChunkParse {
    /// With `requires_signature`, messages without a signed outer frame are refused.
    pub fn new(requires_signature: bool) -> Self {
        Self { requires_signature }
    }

    fn port_of(&self, payload: &[u8], record: &mut ChunkRecord) -> usize {
        match self.inner(payload) {
            Ok(message) => read(payload, message, record),
            Err((message, why)) => {
                UNSIGNED.add(1);
                refuse(message, Refusal::Signature(why), record)
            }
        }
    }

    /// The chunk message within `payload`; or what may be one, and why it is not looked into.
    fn inner<'a>(&self, payload: &'a [u8]) -> Result<&'a [u8], (&'a [u8], &'static str)> {
        if is_framed(payload) {
            let frame = open(payload).map_err(|error| (&payload[..0], error.reason()))?;
            return verify(&frame).map_or_else(|error| Err((frame.data, error.reason())), |()| Ok(frame.data));
        }
        if self.requires_signature { Err((payload, "this node takes signed messages only")) } else { Ok(payload) }
    }
}

/// Answers a message that is not decoded: the peer can tell which of its requests it was, unless not even that can be read.
fn refuse(message: &[u8], refusal: Refusal, record: &mut ChunkRecord) -> usize {
    record.request_id = varint::decode(message).map_or(0, |(id, _)| id);
    record.outcome = Outcome::PutRefused(refusal);
    ANSWERED
}

/// Decodes `message`, which lies in `payload`, into the record.
fn read(payload: &[u8], message: &[u8], record: &mut ChunkRecord) -> usize {
    let decoded = match decode(message) {
        Ok(decoded) => decoded,
        Err(error) => {
            UNDECODABLE.add(1);
            return refuse(message, Refusal::Undecodable(error), record);
        }
    };
    record.request_id = decoded.request_id;
    match decoded.body {
        ChunkBody::PutRequest(request) => {
            record.address = *request.address;
            record.content = lies_in(payload, request.content);
            record.proof = request.payment_proof.map(|proof| lies_in(payload, proof));
            PUT
        }
        ChunkBody::GetRequest { address } => {
            record.address = *address;
            GET
        }
        _ => {
            record.outcome = Outcome::PutRefused(Refusal::NotServed);
            ANSWERED
        }
    }
}

fn lies_in(payload: &[u8], field: &[u8]) -> Span {
    span_of(field, payload).expect("the decoder lends fields of what it was given")
}

const PUT: usize = 0;
const GET: usize = 1;
const ANSWERED: usize = 2;

impl Stage<ChunkRecord> for ChunkParse {
    fn ports(&self) -> &'static [&'static str] {
        &["put", "get", "answered"]
    }

    fn batch_limit(&self) -> BatchLimit {
        super::HEADERS_ONLY
    }

    fn process(&mut self, batch: &mut Batch<'_, ChunkRecord>, outputs: &mut Outputs<'_, ChunkRecord>) {
        for mut envelope in batch {
            let mut record = *envelope.record();
            let port = shielded(|| self.port_of(envelope.payload(), &mut record)).unwrap_or_else(|broken| {
                record.outcome = broken;
                ANSWERED
            });
            *super::record_of(&mut envelope) = record;
            outputs.send(port, envelope);
        }
    }
}
