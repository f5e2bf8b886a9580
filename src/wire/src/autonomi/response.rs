//! The answers, and the errors that an answer can carry.

use thiserror::Error;

use super::message::Address;

/// Answer to a request to store a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PutResponse<'a> {
    /// The chunk is stored now.
    Success {
        /// The chunk's address.
        address: &'a Address,
    },
    /// The chunk was stored before.
    AlreadyExists {
        /// The chunk's address.
        address: &'a Address,
    },
    /// The node wants a payment proof first.
    PaymentRequired {
        /// The node's words.
        message: &'a str,
    },
    /// The node refuses.
    Error(ProtocolError<'a>),
}

/// Answer to a request to fetch a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GetResponse<'a> {
    /// Here it is.
    Success {
        /// The chunk's address.
        address: &'a Address,
        /// The chunk.
        content: &'a [u8],
    },
    /// The node does not have it.
    NotFound {
        /// The address that was asked for.
        address: &'a Address,
    },
    /// The node refuses.
    Error(ProtocolError<'a>),
}

/// Answer to a request for a price.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum QuoteResponse<'a> {
    /// A price.
    Success {
        /// The signed quote, not interpreted here.
        quote: &'a [u8],
        /// The node stores the data already; nothing need be paid.
        already_stored: bool,
        /// The signed statement of what the node stores, from which the price follows; not interpreted here.
        commitment: Option<&'a [u8]>,
    },
    /// The node refuses.
    Error(ProtocolError<'a>),
}

/// Answer to a request for a price within a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MerkleCandidateQuoteResponse<'a> {
    /// A price.
    Success {
        /// The signed candidate, not interpreted here.
        candidate_node: &'a [u8],
        /// The signed statement of what the node stores, from which the price follows; not interpreted here.
        commitment: Option<&'a [u8]>,
    },
    /// The node refuses.
    Error(ProtocolError<'a>),
}

/// Answer to a request to store a pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PointerPutResponse<'a> {
    /// The record is stored now.
    Success {
        /// The pointer's address.
        address: &'a Address,
        /// Identifies the record that the node holds.
        state_id: &'a Address,
    },
    /// The record was stored before.
    Unchanged {
        /// The pointer's address.
        address: &'a Address,
        /// Identifies the record that the node holds.
        state_id: &'a Address,
    },
    /// The node holds a newer record and keeps it.
    Stale {
        /// The pointer's address.
        address: &'a Address,
        /// Identifies the record that the node holds.
        state_id: &'a Address,
    },
    /// The node wants a payment proof first.
    PaymentRequired {
        /// The node's words.
        message: &'a str,
    },
    /// The node refuses.
    Error(ProtocolError<'a>),
}

/// Answer to a request to fetch a pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PointerGetResponse<'a> {
    /// Here it is.
    Success {
        /// The signed record, not interpreted here.
        record: &'a [u8],
    },
    /// The node does not have it.
    NotFound {
        /// The address that was asked for.
        address: &'a Address,
    },
    /// The node refuses.
    Error(ProtocolError<'a>),
}

/// Why a node refuses, as it says so on the wire. Texts are the node's own words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ProtocolError<'a> {
    /// It could not encode its answer.
    #[error("peer could not encode its answer: {0}")]
    SerializationFailed(&'a str),
    /// It could not decode the request.
    #[error("peer could not decode the request: {0}")]
    DeserializationFailed(&'a str),
    /// The message is over its limit.
    #[error("peer refuses a message of {size} bytes, its limit is {max_size} bytes")]
    MessageTooLarge {
        /// Bytes of the message.
        size: u64,
        /// The limit.
        max_size: u64,
    },
    /// The chunk is over its limit.
    #[error("peer refuses a chunk of {size} bytes, its limit is {max_size} bytes")]
    ChunkTooLarge {
        /// Bytes of the chunk.
        size: u64,
        /// The limit.
        max_size: u64,
    },
    /// The content does not hash to the address.
    #[error("peer computed another address than the chunk was sent with")]
    AddressMismatch {
        /// The address in the request.
        expected: &'a Address,
        /// The address it computed.
        actual: &'a Address,
    },
    /// It could not store or read.
    #[error("peer's storage failed: {0}")]
    StorageFailed(&'a str),
    /// It does not accept the payment proof.
    #[error("peer does not accept the payment: {0}")]
    PaymentFailed(&'a str),
    /// It could not make a quote.
    #[error("peer could not make a quote: {0}")]
    QuoteFailed(&'a str),
    /// Something else failed on its side.
    #[error("peer failed: {0}")]
    Internal(&'a str),
    /// The client settles by rules too old for it.
    #[error("peer needs settlement version {min_settlement_version}, the client uses {client_settlement_version}")]
    ClientUpdateRequired {
        /// The client's rules.
        client_settlement_version: u32,
        /// The oldest rules that the node accepts.
        min_settlement_version: u32,
    },
    /// The client settles by rules too new for it.
    #[error("peer uses settlement version {node_settlement_version}, the client {client_settlement_version}")]
    StorerUpdateRequired {
        /// The client's rules.
        client_settlement_version: u32,
        /// The node's rules.
        node_settlement_version: u32,
    },
}
