//! What is kept beside a chunk message: where its fields lie, what it asks, and what became of it.

use levada_wire::Span;
use levada_wire::autonomi::{Address, ChunkDecodeError};

/// The record beside each envelope of the chunk path.
#[derive(Clone, Copy, Debug, Default)]
pub struct ChunkRecord {
    /// The connection that brought the message, by its number in this process.
    pub connection: u64,
    /// Chosen by who asks, repeated in the answer.
    pub request_id: u64,
    /// The address in the request; where a file is cut into chunks, what `chunk_hash` computed.
    pub address: Address,
    /// The chunk within the payload.
    pub content: Span,
    /// The payment proof within the payload.
    pub proof: Option<Span>,
    /// The slot counts in the account of `admit`.
    pub is_admitted: bool,
    /// What became of the request so far.
    pub outcome: Outcome,
}

/// What became of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outcome {
    /// It is on its way.
    #[default]
    Pending,
    /// The chunk is on the disk now.
    Stored,
    /// The chunk was on the disk before.
    AlreadyExists,
    /// The chunk asked for lies in the payload.
    Found,
    /// The chunk asked for is not here.
    NotFound,
    /// The request to store is refused.
    PutRefused(Refusal),
    /// The request to fetch is refused.
    GetRefused(Refusal),
}

/// Why a request is refused; what the answer's error says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The message does not decode.
    Undecodable(ChunkDecodeError),
    /// The message asks for what this node does not do.
    NotServed,
    /// The outer frame is missing or its signature is wrong.
    Signature(&'static str),
    /// The chunk is over the limit.
    ChunkTooLarge {
        /// Bytes of the chunk.
        bytes: u64,
    },
    /// The content has another address than the request says.
    AddressMismatch {
        /// The one that the content has.
        actual: Address,
    },
    /// The chunk could not be stored or read: the reason in a few words.
    StorageFailed(&'static str),
    /// A stage broke down on the request.
    Panicked,
    /// Storing must be paid for first: what is wanted.
    PaymentRequired(&'static str),
    /// The payment proof is not accepted: the reason in a few words.
    PaymentFailed(&'static str),
}
