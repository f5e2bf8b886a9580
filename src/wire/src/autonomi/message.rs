//! The messages by their fields, which borrow from whatever holds the bytes.

use super::response::{
    GetResponse, MerkleCandidateQuoteResponse, PointerGetResponse, PointerPutResponse, PutResponse, QuoteResponse,
};

/// A place in the network's address space: BLAKE3-256 of a chunk's content, or what a pointer's owner key derives to.
pub type Address = [u8; 32];

/// A message of the chunk protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkMessage<'a> {
    /// Chosen by who asks, repeated by who answers.
    pub request_id: u64,
    /// What is asked or answered.
    pub body: ChunkBody<'a>,
}

/// The fourteen kinds of message, in the order of their numbers on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChunkBody<'a> {
    /// Store a chunk.
    PutRequest(PutRequest<'a>),
    /// Answer to [`PutRequest`](Self::PutRequest).
    PutResponse(PutResponse<'a>),
    /// Fetch a chunk.
    GetRequest {
        /// The chunk's address.
        address: &'a Address,
    },
    /// Answer to [`GetRequest`](Self::GetRequest).
    GetResponse(GetResponse<'a>),
    /// Ask what storing a chunk costs, as clients without a settlement version do.
    QuoteRequest(QuoteRequest<'a>),
    /// Answer to [`QuoteRequest`](Self::QuoteRequest) and [`QuoteRequestV2`](Self::QuoteRequestV2).
    QuoteResponse(QuoteResponse<'a>),
    /// Ask what storing costs when many chunks are paid at once, as clients without a settlement version do.
    MerkleCandidateQuoteRequest(MerkleCandidateQuoteRequest<'a>),
    /// Answer to [`MerkleCandidateQuoteRequest`](Self::MerkleCandidateQuoteRequest) and its second version.
    MerkleCandidateQuoteResponse(MerkleCandidateQuoteResponse<'a>),
    /// Ask what storing a chunk costs.
    QuoteRequestV2 {
        /// The request.
        request: QuoteRequest<'a>,
        /// The payment rules by which the client settles.
        settlement_version: u32,
    },
    /// Ask what storing costs when many chunks are paid at once.
    MerkleCandidateQuoteRequestV2 {
        /// The request.
        request: MerkleCandidateQuoteRequest<'a>,
        /// The payment rules by which the client settles.
        settlement_version: u32,
    },
    /// Store a pointer or replace it. Its address follows from the owner's key in the record.
    PointerPutRequest {
        /// The signed record, not interpreted here.
        record: &'a [u8],
        /// Proof that storing was paid for, not interpreted here.
        payment_proof: Option<&'a [u8]>,
    },
    /// Answer to [`PointerPutRequest`](Self::PointerPutRequest).
    PointerPutResponse(PointerPutResponse<'a>),
    /// Fetch a pointer.
    PointerGetRequest {
        /// The pointer's address.
        address: &'a Address,
    },
    /// Answer to [`PointerGetRequest`](Self::PointerGetRequest).
    PointerGetResponse(PointerGetResponse<'a>),
}

/// A chunk to be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PutRequest<'a> {
    /// The address it claims.
    pub address: &'a Address,
    /// Its bytes; a node stores at most [`CHUNK_BYTES_MAX`](super::CHUNK_BYTES_MAX).
    pub content: &'a [u8],
    /// Proof that storing was paid for, not interpreted here. A node that has seen it needs none.
    pub payment_proof: Option<&'a [u8]>,
}

/// A request for a price.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuoteRequest<'a> {
    /// Address of the data.
    pub address: &'a Address,
    /// Bytes of the data.
    pub data_size: u64,
    /// 0 for a chunk, 1 for a pointer.
    pub data_type: u32,
}

/// A request for a price within a batch that is paid at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MerkleCandidateQuoteRequest<'a> {
    /// Address of the pool that the answer becomes a candidate of.
    pub address: &'a Address,
    /// 0 for a chunk.
    pub data_type: u32,
    /// Bytes of the data.
    pub data_size: u64,
    /// When the client means to pay, in seconds since the epoch.
    pub merkle_payment_timestamp: u64,
}
