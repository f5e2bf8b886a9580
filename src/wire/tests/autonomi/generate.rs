//! Random messages of every kind, with lengths and numbers near the places where their encoding changes.

use crate::mirror::{
    ByteString, ChunkGetRequest, ChunkGetResponse, ChunkMessage, ChunkMessageBody as Body, ChunkPutRequest,
    ChunkPutResponse, ChunkQuoteRequest, ChunkQuoteRequestV2, ChunkQuoteResponse, MerkleCandidateQuoteRequest,
    MerkleCandidateQuoteRequestV2, MerkleCandidateQuoteResponse, PointerGetRequest, PointerGetResponse,
    PointerPutRequest, PointerPutResponse, ProtocolError,
};
use crate::random::SplitMix;

/// Kinds of message.
pub const KINDS: usize = 14;

/// Kinds of error that an answer carries.
pub const ERRORS: usize = 11;

/// A message of the kind with number `kind`.
pub fn message(kind: usize, random: &mut SplitMix) -> ChunkMessage {
    ChunkMessage { request_id: number(random), body: body(kind, random) }
}

fn body(kind: usize, random: &mut SplitMix) -> Body {
    match kind {
        0 => Body::PutRequest(ChunkPutRequest {
            address: address(random),
            content: ByteString(bytes(random)),
            payment_proof: option(random),
        }),
        1 => Body::PutResponse(match random.below(5) {
            0 => ChunkPutResponse::Success { address: address(random) },
            1 => ChunkPutResponse::AlreadyExists { address: address(random) },
            2 => ChunkPutResponse::PaymentRequired { message: text(random) },
            _ => ChunkPutResponse::Error(error(random)),
        }),
        2 => Body::GetRequest(ChunkGetRequest { address: address(random) }),
        3 => Body::GetResponse(match random.below(4) {
            0 => ChunkGetResponse::Success { address: address(random), content: bytes(random) },
            1 => ChunkGetResponse::NotFound { address: address(random) },
            _ => ChunkGetResponse::Error(error(random)),
        }),
        4..=9 => price_body(kind, random),
        10 => Body::PointerPutRequest(PointerPutRequest {
            record: ByteString(bytes(random)),
            payment_proof: option(random),
        }),
        11 => Body::PointerPutResponse(match random.below(6) {
            0 => PointerPutResponse::Success { address: address(random), state_id: address(random) },
            1 => PointerPutResponse::Unchanged { address: address(random), state_id: address(random) },
            2 => PointerPutResponse::Stale { address: address(random), state_id: address(random) },
            3 => PointerPutResponse::PaymentRequired { message: text(random) },
            _ => PointerPutResponse::Error(error(random)),
        }),
        12 => Body::PointerGetRequest(PointerGetRequest { address: address(random) }),
        13 => Body::PointerGetResponse(match random.below(4) {
            0 => PointerGetResponse::Success { record: ByteString(bytes(random)) },
            1 => PointerGetResponse::NotFound { address: address(random) },
            _ => PointerGetResponse::Error(error(random)),
        }),
        _ => unreachable!("there are {KINDS} kinds"),
    }
}

/// The six kinds that ask for a price or answer with one.
fn price_body(kind: usize, random: &mut SplitMix) -> Body {
    let address = address(random);
    let (data_size, data_type, settlement_version) = (number(random), number_32(random), number_32(random));
    let merkle_payment_timestamp = number(random);
    match kind {
        4 => Body::QuoteRequest(ChunkQuoteRequest { address, data_size, data_type }),
        5 => Body::QuoteResponse(match random.below(3) {
            0 => ChunkQuoteResponse::Error(error(random)),
            _ => ChunkQuoteResponse::Success {
                quote: bytes(random),
                already_stored: random.below(2) == 0,
                commitment: option(random),
            },
        }),
        6 => Body::MerkleCandidateQuoteRequest(MerkleCandidateQuoteRequest {
            address,
            data_type,
            data_size,
            merkle_payment_timestamp,
        }),
        7 => Body::MerkleCandidateQuoteResponse(match random.below(3) {
            0 => MerkleCandidateQuoteResponse::Error(error(random)),
            _ => MerkleCandidateQuoteResponse::Success { candidate_node: bytes(random), commitment: option(random) },
        }),
        8 => Body::QuoteRequestV2(ChunkQuoteRequestV2 { address, data_size, data_type, settlement_version }),
        _ => Body::MerkleCandidateQuoteRequestV2(MerkleCandidateQuoteRequestV2 {
            address,
            data_type,
            data_size,
            merkle_payment_timestamp,
            settlement_version,
        }),
    }
}

fn error(random: &mut SplitMix) -> ProtocolError {
    let kind = random.below(ERRORS);
    error_of_kind(kind, random)
}

/// The error with number `kind`.
pub fn error_of_kind(kind: usize, random: &mut SplitMix) -> ProtocolError {
    match kind {
        0 => ProtocolError::SerializationFailed(text(random)),
        1 => ProtocolError::DeserializationFailed(text(random)),
        2 => ProtocolError::MessageTooLarge { size: number(random) as usize, max_size: number(random) as usize },
        3 => ProtocolError::ChunkTooLarge { size: number(random) as usize, max_size: number(random) as usize },
        4 => ProtocolError::AddressMismatch { expected: address(random), actual: address(random) },
        5 => ProtocolError::StorageFailed(text(random)),
        6 => ProtocolError::PaymentFailed(text(random)),
        7 => ProtocolError::QuoteFailed(text(random)),
        8 => ProtocolError::Internal(text(random)),
        9 => ProtocolError::ClientUpdateRequired {
            client_settlement_version: number_32(random),
            min_settlement_version: number_32(random),
        },
        10 => ProtocolError::StorerUpdateRequired {
            client_settlement_version: number_32(random),
            node_settlement_version: number_32(random),
        },
        _ => unreachable!("there are {ERRORS} errors"),
    }
}

/// Numbers of every length alike, a third of them at the edge of a length.
fn number(random: &mut SplitMix) -> u64 {
    let shift = random.below(64);
    match random.below(6) {
        0 => u64::MAX >> shift,
        1 => (u64::MAX >> shift).wrapping_add(1),
        _ => random.next() >> shift,
    }
}

fn number_32(random: &mut SplitMix) -> u32 {
    number(random) as u32 >> random.below(32)
}

fn address(random: &mut SplitMix) -> [u8; 32] {
    let mut address = [0; 32];
    address.chunks_exact_mut(8).for_each(|chunk| chunk.copy_from_slice(&random.next().to_le_bytes()));
    address
}

/// Mostly a few bytes; now and then a length that takes two bytes or three.
fn bytes(random: &mut SplitMix) -> Vec<u8> {
    let len = match random.below(40) {
        0 => 126 + random.below(4),
        1 => 200 + random.below(400),
        2 if random.below(10) == 0 => 16_382 + random.below(4),
        _ => random.below(12),
    };
    (0..len).map(|_| random.next() as u8).collect()
}

fn option(random: &mut SplitMix) -> Option<Vec<u8>> {
    (random.below(3) != 0).then(|| bytes(random))
}

fn text(random: &mut SplitMix) -> String {
    let letters = ['a', ' ', '\0', '\u{7f}', 'é', '\u{7ff}', '€', '\u{ffff}', '\u{10ffff}', '𝄞'];
    (0..random.below(12)).map(|_| letters[random.below(letters.len())]).collect()
}
