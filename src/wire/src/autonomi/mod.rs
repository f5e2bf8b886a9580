//! Autonomi's chunk protocol, `autonomi.ant.chunk.v1`: all fourteen kinds of ChunkMessage, written for payloads that lie
//! still.
//!
//! [`decode`] walks over a received message once and lends its fields where they lie. [`ChunkMessage::parts`] gives what
//! is to be sent as a header of at most [`HEADER_BYTES_MAX`] bytes and references to the payload, so that one slot serves
//! every recipient; [`ChunkMessage::encode_into`] writes the same bytes in one piece. Neither allocates.
//!
//! # Format
//!
//! The encoding is that of the `postcard` crate (its format specification is at <https://postcard.jamesmunns.com>):
//! fields in order without names or types, so that a message can only be read by who knows its layout.
//!
//! | notation | bytes | refused |
//! |---|---|---|
//! | `u32`, `u64` | varint, seven bits a byte, lowest first; padded forms are read, the shortest is written | over 32, 64 bits |
//! | `variant` | the variant's number as `u32` | an unknown number |
//! | `address` | 32 bytes, BLAKE3 of the content | |
//! | `bytes` | `u64` length, then the bytes | a length beyond the message |
//! | `text` | as `bytes` | what is not UTF-8 |
//! | `flag` | one byte | other than 0 and 1 |
//! | `option` | a flag, then the value if it is 1 | other than 0 and 1 |
//!
//! Bytes behind a complete message are ignored. A message is a `u64` request id, which the answer repeats, and a body:
//!
//! | variant | body | fields |
//! |---|---|---|
//! | 0 | [`PutRequest`] | `address`, content `bytes`, payment proof `option bytes` |
//! | 1 | [`PutResponse`] | 0 Success `address`, 1 AlreadyExists `address`, 2 PaymentRequired `text`, 3 Error |
//! | 2 | GetRequest | `address` |
//! | 3 | [`GetResponse`] | 0 Success `address`, content `bytes`; 1 NotFound `address`; 2 Error |
//! | 4 | [`QuoteRequest`] | `address`, data size `u64`, data type `u32` |
//! | 5 | [`QuoteResponse`] | 0 Success: quote `bytes`, already stored `flag`, commitment `option bytes`; 1 Error |
//! | 6 | [`MerkleCandidateQuoteRequest`] | `address`, data type `u32`, data size `u64`, timestamp `u64` in seconds |
//! | 7 | [`MerkleCandidateQuoteResponse`] | 0 Success: candidate node `bytes`, commitment `option bytes`; 1 Error |
//! | 8 | QuoteRequestV2 | as 4, then settlement version `u32` |
//! | 9 | MerkleCandidateQuoteRequestV2 | as 6, then settlement version `u32` |
//! | 10 | PointerPutRequest | record `bytes`, payment proof `option bytes` |
//! | 11 | [`PointerPutResponse`] | 0 Success, 1 Unchanged, 2 Stale: `address`, state id 32 bytes; 3 PaymentRequired `text`; 4 Error |
//! | 12 | PointerGetRequest | `address` |
//! | 13 | [`PointerGetResponse`] | 0 Success record `bytes`, 1 NotFound `address`, 2 Error |
//!
//! An Error is a [`ProtocolError`]:
//!
//! | variant | error | fields |
//! |---|---|---|
//! | 0, 1, 5, 6, 7, 8 | SerializationFailed, DeserializationFailed, StorageFailed, PaymentFailed, QuoteFailed, Internal | `text` |
//! | 2, 3 | MessageTooLarge, ChunkTooLarge | size `u64`, limit `u64` |
//! | 4 | AddressMismatch | expected `address`, actual `address` |
//! | 9 | ClientUpdateRequired | client's settlement version `u32`, least accepted `u32` |
//! | 10 | StorerUpdateRequired | client's settlement version `u32`, node's `u32` |
//!
//! Source: the crate ant-protocol 5.0.1, whose output the vectors in `tests/vectors/ant-*.json` record. New variants are
//! only ever appended there. Variants 8 and 9 and errors 9 and 10 came after its release 2.3, variants 10 to 13 with
//! 3.x; an older peer refuses them as unknown.
//!
//! On the network a message travels in an [`OuterFrame`], which says who sends it and is signed.
//!
//! # Limits
//!
//! As in a node of the network, [`decode`] refuses messages over [`MESSAGE_BYTES_MAX`] bytes and looks at no other limit;
//! [`check_chunk`], [`check_proof`] and [`check_commitment`] belong to the handlers.

mod announced;
mod decode;
mod encode;
mod error;
mod frame;
mod limits;
mod message;
mod numbers;
mod parts;
mod reader;
mod response;

pub use announced::announced_len;
pub use decode::{DECODE_FAILURES, DECODES, decode, span_of};
pub use encode::put_trailer;
pub use error::{ChunkDecodeError, LimitError};
pub use frame::{OuterFrame, decode_frame, frame_head, frame_sender, frame_signature, is_framed};
pub use limits::{
    CHUNK_BYTES_MAX, COMMITMENT_BYTES_MAX, FRAME_BYTES_MAX, MESSAGE_BYTES_MAX, PROOF_BYTES_MAX, PROOF_BYTES_MIN,
    PROTOCOL, check_chunk, check_commitment, check_proof,
};
pub use message::{Address, ChunkBody, ChunkMessage, MerkleCandidateQuoteRequest, PutRequest, QuoteRequest};
pub use parts::{HEADER_BYTES_MAX, Parts};
pub use response::{
    GetResponse, MerkleCandidateQuoteResponse, PointerGetResponse, PointerPutResponse, ProtocolError, PutResponse,
    QuoteResponse,
};
