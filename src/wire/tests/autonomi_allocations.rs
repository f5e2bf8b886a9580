//! Decoding and encoding chunk messages allocates nothing. Alone in its file: other tests allocate.

use std::alloc::System;
use std::hint::black_box;

use levada_engine::heap::{CountingAllocator, allocations_total};
use levada_wire::autonomi::{
    ChunkBody, ChunkDecodeError, ChunkMessage, GetResponse, MerkleCandidateQuoteRequest, ProtocolError, PutRequest,
    PutResponse, QuoteResponse, decode,
};

#[global_allocator]
static HEAP: CountingAllocator<System> = CountingAllocator(System);

/// The fewest allocations of a hundred attempts: the test harness allocates in threads of its own, but not in all of them.
fn allocations<T>(mut attempt: impl FnMut() -> T) -> Option<u64> {
    let attempts = (0..100).map(|_| {
        let before = allocations_total();
        let _ = black_box(attempt());
        allocations_total() - before
    });
    attempts.min()
}

#[test]
fn neither_direction_allocates() {
    let (address, long, short) = ([1; 32], vec![2; 4 << 20], vec![3; 40_000]);
    let merkle_request = MerkleCandidateQuoteRequest {
        address: &address,
        data_type: 0,
        data_size: u64::MAX,
        merkle_payment_timestamp: u64::MAX,
    };
    let bodies = [
        ChunkBody::PutRequest(PutRequest { address: &address, content: &long, payment_proof: Some(&short) }),
        ChunkBody::GetResponse(GetResponse::Success { address: &address, content: &long }),
        ChunkBody::QuoteResponse(QuoteResponse::Success {
            quote: &short,
            already_stored: true,
            commitment: Some(&short),
        }),
        ChunkBody::PutResponse(PutResponse::Error(ProtocolError::StorageFailed("disk full"))),
        ChunkBody::MerkleCandidateQuoteRequestV2 { request: merkle_request, settlement_version: 1 },
    ];
    for body in bodies {
        let message = ChunkMessage { request_id: u64::MAX, body };
        let mut out = vec![0; message.encoded_len()];
        let needed = out.len();
        assert_eq!(allocations(|| message.parts()), Some(0));
        assert_eq!(allocations(|| message.encode_into(&mut out)), Some(0));
        assert_eq!(decode(&out), Ok(message));
        assert_eq!(allocations(|| decode(&out).is_ok()), Some(0));
        let cut = &out[..needed - 1];
        assert!(decode(cut).is_err());
        assert_eq!(allocations(|| decode(cut).is_ok()), Some(0));
    }
}

/// A length that no buffer holds is refused before anything is reserved for it.
#[test]
fn an_announced_length_reserves_nothing() {
    let mut bytes = vec![1, 0];
    bytes.extend([7; 32]);
    bytes.extend([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0, 0, 0]);
    assert_eq!(decode(&bytes), Err(ChunkDecodeError::Truncated { offset: 34 }));
    assert_eq!(allocations(|| decode(&bytes).is_err()), Some(0));
}
