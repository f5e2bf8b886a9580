//! The decoder: one walk over a received message, which lends every field where it lies.

use levada_engine::Counter;

use super::error::ChunkDecodeError;
use super::limits::MESSAGE_BYTES_MAX;
use super::message::{ChunkBody, ChunkMessage, MerkleCandidateQuoteRequest, PutRequest, QuoteRequest};
use super::numbers::{body, error, get, pointer_put, put, quote};
use super::reader::Reader;
use super::response::{
    GetResponse, MerkleCandidateQuoteResponse, PointerGetResponse, PointerPutResponse, ProtocolError, PutResponse,
    QuoteResponse,
};
use crate::Span;

/// Walks over a chunk message, failed ones included.
pub static DECODES: Counter = Counter::new();

/// Walks that ended in an error.
pub static DECODE_FAILURES: Counter = Counter::new();

/// Finds the fields of the chunk message `data` in one pass, without copying or allocating, and counts the pass.
///
/// Padded numbers are read and bytes behind the message ignored, as ant-protocol does; so two byte strings can decode to
/// one message.
///
/// # Errors
/// A [`ChunkDecodeError`] if `data` is over [`MESSAGE_BYTES_MAX`] bytes, a field is cut off, a number does not fit, a
/// variant is unknown, an option or a flag is neither 0 nor 1, or a text is not UTF-8.
pub fn decode(data: &[u8]) -> Result<ChunkMessage<'_>, ChunkDecodeError> {
    DECODES.add(1);
    let outcome = read_message(data);
    if outcome.is_err() {
        DECODE_FAILURES.add(1);
    }
    outcome
}

/// Where `field` lies in `data`, for a record to keep; `None` if it is no part of `data`, which a field that [`decode`]
/// lent from `data` always is.
pub fn span_of(field: &[u8], data: &[u8]) -> Option<Span> {
    let start = field.as_ptr().addr().checked_sub(data.as_ptr().addr())?;
    let end = start.checked_add(field.len())?;
    (end <= data.len() && u32::try_from(end).is_ok()).then(|| Span::between(start, end))
}

type Outcome<T> = Result<T, ChunkDecodeError>;

fn read_message(data: &[u8]) -> Outcome<ChunkMessage<'_>> {
    if data.len() > MESSAGE_BYTES_MAX {
        return Err(ChunkDecodeError::TooLong { bytes: data.len() });
    }
    let mut reader = Reader::new(data);
    Ok(ChunkMessage { request_id: reader.u64()?, body: read_body(&mut reader)? })
}

fn read_body<'a>(reader: &mut Reader<'a>) -> Outcome<ChunkBody<'a>> {
    let offset = reader.offset();
    Ok(match reader.u32()? {
        body::PUT_REQUEST => ChunkBody::PutRequest(PutRequest {
            address: reader.address()?,
            content: reader.bytes()?,
            payment_proof: reader.option_bytes()?,
        }),
        body::PUT_RESPONSE => ChunkBody::PutResponse(read_put_response(reader)?),
        body::GET_REQUEST => ChunkBody::GetRequest { address: reader.address()? },
        body::GET_RESPONSE => ChunkBody::GetResponse(read_get_response(reader)?),
        body::QUOTE_REQUEST => ChunkBody::QuoteRequest(read_quote_request(reader)?),
        body::QUOTE_RESPONSE => ChunkBody::QuoteResponse(read_quote_response(reader)?),
        body::MERKLE_CANDIDATE_QUOTE_REQUEST => ChunkBody::MerkleCandidateQuoteRequest(read_merkle_request(reader)?),
        body::MERKLE_CANDIDATE_QUOTE_RESPONSE => ChunkBody::MerkleCandidateQuoteResponse(read_merkle_response(reader)?),
        body::QUOTE_REQUEST_V2 => {
            ChunkBody::QuoteRequestV2 { request: read_quote_request(reader)?, settlement_version: reader.u32()? }
        }
        body::MERKLE_CANDIDATE_QUOTE_REQUEST_V2 => ChunkBody::MerkleCandidateQuoteRequestV2 {
            request: read_merkle_request(reader)?,
            settlement_version: reader.u32()?,
        },
        body::POINTER_PUT_REQUEST => {
            ChunkBody::PointerPutRequest { record: reader.bytes()?, payment_proof: reader.option_bytes()? }
        }
        body::POINTER_PUT_RESPONSE => ChunkBody::PointerPutResponse(read_pointer_put_response(reader)?),
        body::POINTER_GET_REQUEST => ChunkBody::PointerGetRequest { address: reader.address()? },
        body::POINTER_GET_RESPONSE => ChunkBody::PointerGetResponse(read_pointer_get_response(reader)?),
        number => return Err(ChunkDecodeError::Variant { kind: "body", number, offset }),
    })
}

fn read_quote_request<'a>(reader: &mut Reader<'a>) -> Outcome<QuoteRequest<'a>> {
    Ok(QuoteRequest { address: reader.address()?, data_size: reader.u64()?, data_type: reader.u32()? })
}

/// Type before size, unlike in the other request for a price.
fn read_merkle_request<'a>(reader: &mut Reader<'a>) -> Outcome<MerkleCandidateQuoteRequest<'a>> {
    Ok(MerkleCandidateQuoteRequest {
        address: reader.address()?,
        data_type: reader.u32()?,
        data_size: reader.u64()?,
        merkle_payment_timestamp: reader.u64()?,
    })
}

fn read_put_response<'a>(reader: &mut Reader<'a>) -> Outcome<PutResponse<'a>> {
    let offset = reader.offset();
    Ok(match reader.u32()? {
        put::SUCCESS => PutResponse::Success { address: reader.address()? },
        put::ALREADY_EXISTS => PutResponse::AlreadyExists { address: reader.address()? },
        put::PAYMENT_REQUIRED => PutResponse::PaymentRequired { message: reader.text()? },
        put::ERROR => PutResponse::Error(read_error(reader)?),
        number => return Err(ChunkDecodeError::Variant { kind: "put response", number, offset }),
    })
}

fn read_get_response<'a>(reader: &mut Reader<'a>) -> Outcome<GetResponse<'a>> {
    let offset = reader.offset();
    Ok(match reader.u32()? {
        get::SUCCESS => GetResponse::Success { address: reader.address()?, content: reader.bytes()? },
        get::NOT_FOUND => GetResponse::NotFound { address: reader.address()? },
        get::ERROR => GetResponse::Error(read_error(reader)?),
        number => return Err(ChunkDecodeError::Variant { kind: "get response", number, offset }),
    })
}

fn read_quote_response<'a>(reader: &mut Reader<'a>) -> Outcome<QuoteResponse<'a>> {
    let offset = reader.offset();
    Ok(match reader.u32()? {
        quote::SUCCESS => QuoteResponse::Success {
            quote: reader.bytes()?,
            already_stored: reader.flag()?,
            commitment: reader.option_bytes()?,
        },
        quote::ERROR => QuoteResponse::Error(read_error(reader)?),
        number => return Err(ChunkDecodeError::Variant { kind: "quote response", number, offset }),
    })
}

fn read_merkle_response<'a>(reader: &mut Reader<'a>) -> Outcome<MerkleCandidateQuoteResponse<'a>> {
    let offset = reader.offset();
    Ok(match reader.u32()? {
        quote::SUCCESS => MerkleCandidateQuoteResponse::Success {
            candidate_node: reader.bytes()?,
            commitment: reader.option_bytes()?,
        },
        quote::ERROR => MerkleCandidateQuoteResponse::Error(read_error(reader)?),
        number => return Err(ChunkDecodeError::Variant { kind: "merkle candidate quote response", number, offset }),
    })
}

fn read_pointer_put_response<'a>(reader: &mut Reader<'a>) -> Outcome<PointerPutResponse<'a>> {
    let offset = reader.offset();
    Ok(match reader.u32()? {
        pointer_put::SUCCESS => PointerPutResponse::Success { address: reader.address()?, state_id: reader.address()? },
        pointer_put::UNCHANGED => {
            PointerPutResponse::Unchanged { address: reader.address()?, state_id: reader.address()? }
        }
        pointer_put::STALE => PointerPutResponse::Stale { address: reader.address()?, state_id: reader.address()? },
        pointer_put::PAYMENT_REQUIRED => PointerPutResponse::PaymentRequired { message: reader.text()? },
        pointer_put::ERROR => PointerPutResponse::Error(read_error(reader)?),
        number => return Err(ChunkDecodeError::Variant { kind: "pointer put response", number, offset }),
    })
}

fn read_pointer_get_response<'a>(reader: &mut Reader<'a>) -> Outcome<PointerGetResponse<'a>> {
    let offset = reader.offset();
    Ok(match reader.u32()? {
        get::SUCCESS => PointerGetResponse::Success { record: reader.bytes()? },
        get::NOT_FOUND => PointerGetResponse::NotFound { address: reader.address()? },
        get::ERROR => PointerGetResponse::Error(read_error(reader)?),
        number => return Err(ChunkDecodeError::Variant { kind: "pointer get response", number, offset }),
    })
}

fn read_error<'a>(reader: &mut Reader<'a>) -> Outcome<ProtocolError<'a>> {
    let offset = reader.offset();
    Ok(match reader.u32()? {
        error::SERIALIZATION_FAILED => ProtocolError::SerializationFailed(reader.text()?),
        error::DESERIALIZATION_FAILED => ProtocolError::DeserializationFailed(reader.text()?),
        error::MESSAGE_TOO_LARGE => ProtocolError::MessageTooLarge { size: reader.u64()?, max_size: reader.u64()? },
        error::CHUNK_TOO_LARGE => ProtocolError::ChunkTooLarge { size: reader.u64()?, max_size: reader.u64()? },
        error::ADDRESS_MISMATCH => {
            ProtocolError::AddressMismatch { expected: reader.address()?, actual: reader.address()? }
        }
        error::STORAGE_FAILED => ProtocolError::StorageFailed(reader.text()?),
        error::PAYMENT_FAILED => ProtocolError::PaymentFailed(reader.text()?),
        error::QUOTE_FAILED => ProtocolError::QuoteFailed(reader.text()?),
        error::INTERNAL => ProtocolError::Internal(reader.text()?),
        error::CLIENT_UPDATE_REQUIRED => ProtocolError::ClientUpdateRequired {
            client_settlement_version: reader.u32()?,
            min_settlement_version: reader.u32()?,
        },
        error::STORER_UPDATE_REQUIRED => ProtocolError::StorerUpdateRequired {
            client_settlement_version: reader.u32()?,
            node_settlement_version: reader.u32()?,
        },
        number => return Err(ChunkDecodeError::Variant { kind: "error", number, offset }),
    })
}
