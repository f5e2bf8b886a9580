//! The reference's messages as this crate's, field by field.

use levada_wire::autonomi::{self as wire, ChunkBody};

use crate::mirror::{
    ChunkGetResponse, ChunkMessage, ChunkMessageBody as Body, ChunkPutResponse, ChunkQuoteResponse,
    MerkleCandidateQuoteResponse, PointerGetResponse, PointerPutResponse, ProtocolError,
};

/// `message` as this crate would decode it.
pub fn view(message: &ChunkMessage) -> wire::ChunkMessage<'_> {
    wire::ChunkMessage { request_id: message.request_id, body: view_body(&message.body) }
}

fn view_body(body: &Body) -> ChunkBody<'_> {
    match body {
        Body::PutRequest(request) => ChunkBody::PutRequest(wire::PutRequest {
            address: &request.address,
            content: &request.content.0,
            payment_proof: request.payment_proof.as_deref(),
        }),
        Body::PutResponse(response) => ChunkBody::PutResponse(view_put(response)),
        Body::GetRequest(request) => ChunkBody::GetRequest { address: &request.address },
        Body::GetResponse(response) => ChunkBody::GetResponse(view_get(response)),
        Body::QuoteResponse(response) => ChunkBody::QuoteResponse(view_quote(response)),
        Body::MerkleCandidateQuoteResponse(response) => ChunkBody::MerkleCandidateQuoteResponse(view_merkle(response)),
        Body::PointerPutRequest(request) => {
            ChunkBody::PointerPutRequest { record: &request.record.0, payment_proof: request.payment_proof.as_deref() }
        }
        Body::PointerPutResponse(response) => ChunkBody::PointerPutResponse(view_pointer_put(response)),
        Body::PointerGetRequest(request) => ChunkBody::PointerGetRequest { address: &request.address },
        Body::PointerGetResponse(response) => ChunkBody::PointerGetResponse(view_pointer_get(response)),
        Body::QuoteRequest(_)
        | Body::QuoteRequestV2(_)
        | Body::MerkleCandidateQuoteRequest(_)
        | Body::MerkleCandidateQuoteRequestV2(_) => view_price_request(body),
    }
}

fn view_price_request(body: &Body) -> ChunkBody<'_> {
    match body {
        Body::QuoteRequest(request) => ChunkBody::QuoteRequest(wire::QuoteRequest {
            address: &request.address,
            data_size: request.data_size,
            data_type: request.data_type,
        }),
        Body::QuoteRequestV2(request) => ChunkBody::QuoteRequestV2 {
            request: wire::QuoteRequest {
                address: &request.address,
                data_size: request.data_size,
                data_type: request.data_type,
            },
            settlement_version: request.settlement_version,
        },
        Body::MerkleCandidateQuoteRequest(request) => {
            ChunkBody::MerkleCandidateQuoteRequest(wire::MerkleCandidateQuoteRequest {
                address: &request.address,
                data_type: request.data_type,
                data_size: request.data_size,
                merkle_payment_timestamp: request.merkle_payment_timestamp,
            })
        }
        Body::MerkleCandidateQuoteRequestV2(request) => ChunkBody::MerkleCandidateQuoteRequestV2 {
            request: wire::MerkleCandidateQuoteRequest {
                address: &request.address,
                data_type: request.data_type,
                data_size: request.data_size,
                merkle_payment_timestamp: request.merkle_payment_timestamp,
            },
            settlement_version: request.settlement_version,
        },
        _ => unreachable!("only requests for a price come here"),
    }
}

fn view_put(response: &ChunkPutResponse) -> wire::PutResponse<'_> {
    match response {
        ChunkPutResponse::Success { address } => wire::PutResponse::Success { address },
        ChunkPutResponse::AlreadyExists { address } => wire::PutResponse::AlreadyExists { address },
        ChunkPutResponse::PaymentRequired { message } => wire::PutResponse::PaymentRequired { message },
        ChunkPutResponse::Error(error) => wire::PutResponse::Error(view_error(error)),
    }
}

fn view_get(response: &ChunkGetResponse) -> wire::GetResponse<'_> {
    match response {
        ChunkGetResponse::Success { address, content } => wire::GetResponse::Success { address, content },
        ChunkGetResponse::NotFound { address } => wire::GetResponse::NotFound { address },
        ChunkGetResponse::Error(error) => wire::GetResponse::Error(view_error(error)),
    }
}

fn view_quote(response: &ChunkQuoteResponse) -> wire::QuoteResponse<'_> {
    match response {
        ChunkQuoteResponse::Success { quote, already_stored, commitment } => {
            wire::QuoteResponse::Success { quote, already_stored: *already_stored, commitment: commitment.as_deref() }
        }
        ChunkQuoteResponse::Error(error) => wire::QuoteResponse::Error(view_error(error)),
    }
}

fn view_merkle(response: &MerkleCandidateQuoteResponse) -> wire::MerkleCandidateQuoteResponse<'_> {
    match response {
        MerkleCandidateQuoteResponse::Success { candidate_node, commitment } => {
            wire::MerkleCandidateQuoteResponse::Success { candidate_node, commitment: commitment.as_deref() }
        }
        MerkleCandidateQuoteResponse::Error(error) => wire::MerkleCandidateQuoteResponse::Error(view_error(error)),
    }
}

fn view_pointer_put(response: &PointerPutResponse) -> wire::PointerPutResponse<'_> {
    match response {
        PointerPutResponse::Success { address, state_id } => wire::PointerPutResponse::Success { address, state_id },
        PointerPutResponse::Unchanged { address, state_id } => {
            wire::PointerPutResponse::Unchanged { address, state_id }
        }
        PointerPutResponse::Stale { address, state_id } => wire::PointerPutResponse::Stale { address, state_id },
        PointerPutResponse::PaymentRequired { message } => wire::PointerPutResponse::PaymentRequired { message },
        PointerPutResponse::Error(error) => wire::PointerPutResponse::Error(view_error(error)),
    }
}

fn view_pointer_get(response: &PointerGetResponse) -> wire::PointerGetResponse<'_> {
    match response {
        PointerGetResponse::Success { record } => wire::PointerGetResponse::Success { record: &record.0 },
        PointerGetResponse::NotFound { address } => wire::PointerGetResponse::NotFound { address },
        PointerGetResponse::Error(error) => wire::PointerGetResponse::Error(view_error(error)),
    }
}

fn view_error(error: &ProtocolError) -> wire::ProtocolError<'_> {
    match *error {
        ProtocolError::SerializationFailed(ref text) => wire::ProtocolError::SerializationFailed(text),
        ProtocolError::DeserializationFailed(ref text) => wire::ProtocolError::DeserializationFailed(text),
        ProtocolError::MessageTooLarge { size, max_size } => {
            wire::ProtocolError::MessageTooLarge { size: size as u64, max_size: max_size as u64 }
        }
        ProtocolError::ChunkTooLarge { size, max_size } => {
            wire::ProtocolError::ChunkTooLarge { size: size as u64, max_size: max_size as u64 }
        }
        ProtocolError::AddressMismatch { ref expected, ref actual } => {
            wire::ProtocolError::AddressMismatch { expected, actual }
        }
        ProtocolError::StorageFailed(ref text) => wire::ProtocolError::StorageFailed(text),
        ProtocolError::PaymentFailed(ref text) => wire::ProtocolError::PaymentFailed(text),
        ProtocolError::QuoteFailed(ref text) => wire::ProtocolError::QuoteFailed(text),
        ProtocolError::Internal(ref text) => wire::ProtocolError::Internal(text),
        ProtocolError::ClientUpdateRequired { client_settlement_version, min_settlement_version } => {
            wire::ProtocolError::ClientUpdateRequired { client_settlement_version, min_settlement_version }
        }
        ProtocolError::StorerUpdateRequired { client_settlement_version, node_settlement_version } => {
            wire::ProtocolError::StorerUpdateRequired { client_settlement_version, node_settlement_version }
        }
    }
}
