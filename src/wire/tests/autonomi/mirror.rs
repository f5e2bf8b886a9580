//! The reference: ant-protocol 5.0.1's messages as `serde` types, encoded and decoded by `postcard`.
//!
//! Field for field as ant-protocol declares them: a chunk to be stored is one byte string, a chunk that was fetched, a proof,
//! a quote and a commitment are sequences of numbers, so that `postcard` takes the same ways through its code.

use std::fmt;

use serde::de::{Deserializer, Error, Visitor};
use serde::{Deserialize, Serialize, Serializer};

/// ant-protocol's limit of a whole message.
pub const MESSAGE_BYTES_MAX: usize = 5 * 1_024 * 1_024;

/// What ant-protocol's decoder does, with the reason of a refusal: the size first, then `postcard`.
pub fn decode(data: &[u8]) -> Result<ChunkMessage, Refusal> {
    if data.len() > MESSAGE_BYTES_MAX {
        return Err(Refusal::TooLarge);
    }
    postcard::from_bytes(data).map_err(Refusal::Malformed)
}

/// What ant-protocol's encoder does.
pub fn encode(message: &ChunkMessage) -> Vec<u8> {
    postcard::to_allocvec(message).expect("postcard encodes every message")
}

/// Why the reference refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    TooLarge,
    Malformed(postcard::Error),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChunkMessage {
    pub request_id: u64,
    pub body: ChunkMessageBody,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ChunkMessageBody {
    PutRequest(ChunkPutRequest),
    PutResponse(ChunkPutResponse),
    GetRequest(ChunkGetRequest),
    GetResponse(ChunkGetResponse),
    QuoteRequest(ChunkQuoteRequest),
    QuoteResponse(ChunkQuoteResponse),
    MerkleCandidateQuoteRequest(MerkleCandidateQuoteRequest),
    MerkleCandidateQuoteResponse(MerkleCandidateQuoteResponse),
    QuoteRequestV2(ChunkQuoteRequestV2),
    MerkleCandidateQuoteRequestV2(MerkleCandidateQuoteRequestV2),
    PointerPutRequest(PointerPutRequest),
    PointerPutResponse(PointerPutResponse),
    PointerGetRequest(PointerGetRequest),
    PointerGetResponse(PointerGetResponse),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChunkPutRequest {
    pub address: [u8; 32],
    pub content: ByteString,
    pub payment_proof: Option<Vec<u8>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ChunkPutResponse {
    Success { address: [u8; 32] },
    AlreadyExists { address: [u8; 32] },
    PaymentRequired { message: String },
    Error(ProtocolError),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChunkGetRequest {
    pub address: [u8; 32],
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ChunkGetResponse {
    Success { address: [u8; 32], content: Vec<u8> },
    NotFound { address: [u8; 32] },
    Error(ProtocolError),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChunkQuoteRequest {
    pub address: [u8; 32],
    pub data_size: u64,
    pub data_type: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ChunkQuoteResponse {
    Success { quote: Vec<u8>, already_stored: bool, commitment: Option<Vec<u8>> },
    Error(ProtocolError),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MerkleCandidateQuoteRequest {
    pub address: [u8; 32],
    pub data_type: u32,
    pub data_size: u64,
    pub merkle_payment_timestamp: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MerkleCandidateQuoteResponse {
    Success { candidate_node: Vec<u8>, commitment: Option<Vec<u8>> },
    Error(ProtocolError),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChunkQuoteRequestV2 {
    pub address: [u8; 32],
    pub data_size: u64,
    pub data_type: u32,
    pub settlement_version: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MerkleCandidateQuoteRequestV2 {
    pub address: [u8; 32],
    pub data_type: u32,
    pub data_size: u64,
    pub merkle_payment_timestamp: u64,
    pub settlement_version: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PointerPutRequest {
    pub record: ByteString,
    pub payment_proof: Option<Vec<u8>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PointerPutResponse {
    Success { address: [u8; 32], state_id: [u8; 32] },
    Unchanged { address: [u8; 32], state_id: [u8; 32] },
    Stale { address: [u8; 32], state_id: [u8; 32] },
    PaymentRequired { message: String },
    Error(ProtocolError),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PointerGetRequest {
    pub address: [u8; 32],
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PointerGetResponse {
    Success { record: ByteString },
    NotFound { address: [u8; 32] },
    Error(ProtocolError),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProtocolError {
    SerializationFailed(String),
    DeserializationFailed(String),
    MessageTooLarge { size: usize, max_size: usize },
    ChunkTooLarge { size: usize, max_size: usize },
    AddressMismatch { expected: [u8; 32], actual: [u8; 32] },
    StorageFailed(String),
    PaymentFailed(String),
    QuoteFailed(String),
    Internal(String),
    ClientUpdateRequired { client_settlement_version: u32, min_settlement_version: u32 },
    StorerUpdateRequired { client_settlement_version: u32, node_settlement_version: u32 },
}

/// Bytes as the `bytes` crate's `Bytes` gives them to `serde`: as one byte string, not as a sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ByteString(pub Vec<u8>);

impl Serialize for ByteString {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for ByteString {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ByteStringVisitor;
        impl Visitor<'_> for ByteStringVisitor {
            type Value = ByteString;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a byte string")
            }

            fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<ByteString, E> {
                Ok(ByteString(bytes.to_vec()))
            }

            fn visit_byte_buf<E: Error>(self, bytes: Vec<u8>) -> Result<ByteString, E> {
                Ok(ByteString(bytes))
            }
        }
        deserializer.deserialize_byte_buf(ByteStringVisitor)
    }
}
