//! Fields of every length near a limit or near a change of their encoding, in both directions.

use levada_wire::autonomi::{
    ChunkBody, ChunkDecodeError, ChunkMessage, GetResponse, HEADER_BYTES_MAX, MESSAGE_BYTES_MAX, PutRequest, decode,
    put_trailer, span_of,
};
use proptest::option;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::compare::{compare, encoded, lent};
use crate::generate::{KINDS, message};
use crate::mirror;
use crate::random::SplitMix;
use crate::view::view;

const ADDRESS: [u8; 32] = [0xa5; 32];

/// Lengths around which a varint grows, and around a node's limit of a chunk.
fn content_lens() -> impl Iterator<Item = usize> {
    [0, 128, 16_384, 2_097_152, 4_190_208, 4_194_304].into_iter().flat_map(|edge: usize| {
        let around = edge.saturating_sub(2)..=edge + 2;
        around.collect::<Vec<_>>()
    })
}

/// The same for payment proofs: the varint's lengths and a node's limits.
const PROOF_LENS: [usize; 17] =
    [0, 1, 2, 31, 32, 33, 126, 127, 128, 129, 16_382, 16_383, 16_384, 16_385, 524_287, 524_288, 524_289];

fn put<'a>(request_id: u64, content: &'a [u8], payment_proof: Option<&'a [u8]>) -> ChunkMessage<'a> {
    let body = ChunkBody::PutRequest(PutRequest { address: &ADDRESS, content, payment_proof });
    ChunkMessage { request_id, body }
}

/// Joins the parts of a put by hand, as the format's table says, without either encoder.
fn put_by_hand(request_id: &[u8], content: &[u8], payment_proof: Option<&[u8]>) -> Vec<u8> {
    let mut bytes = [request_id, &[0], &ADDRESS, &leb128(content.len()), content].concat();
    bytes.push(u8::from(payment_proof.is_some()));
    if let Some(proof) = payment_proof {
        bytes.extend(leb128(proof.len()));
        bytes.extend(proof);
    }
    bytes
}

fn leb128(mut value: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

#[test]
fn puts_of_every_length_near_a_limit() {
    let content: Vec<u8> = (0..4_194_306u32).map(|index| index as u8 ^ (index >> 8) as u8).collect();
    for content_len in content_lens() {
        // Large contents with few proofs: together they try what small ones do.
        let proofs = if content_len > 100_000 { &PROOF_LENS[14..] } else { &PROOF_LENS[..] };
        let proofs = proofs.iter().map(|&len| Some(&content[..len]));
        for payment_proof in proofs.chain([None]) {
            let context = format_args!("content {content_len}, proof {:?}", payment_proof.map(<[u8]>::len)).to_string();
            let message = put(7, &content[..content_len], payment_proof);
            let bytes = put_by_hand(&[7], &content[..content_len], payment_proof);
            assert!(encoded(&message, &context) == bytes, "{context}");
            assert!(decode(&bytes) == Ok(message), "{context}");
        }
    }
}

/// Content and proof are referenced, not copied, and only the header differs between the recipients of one chunk.
#[test]
fn a_put_is_three_parts_of_which_two_are_shared() {
    let (content, proof) = (vec![7; 70_000], vec![9; 40_000]);
    for payment_proof in [None, Some(&proof[..])] {
        let mut trailer = bytes::BytesMut::new();
        put_trailer(payment_proof, &mut trailer);
        for request_id in (0..64).map(|bit| 1 << bit).chain([0, u64::MAX]) {
            let message = put(request_id, &content, payment_proof);
            let parts = message.parts();
            assert!(std::ptr::eq(parts.content(), &content[..]));
            assert!(payment_proof.is_none_or(|proof| std::ptr::eq(parts.trailer(), proof)));
            assert_eq!([parts.joint(), parts.trailer()].concat(), trailer, "{request_id}");
            let sent = [parts.header(), &content, &trailer].concat();
            assert!(sent == encoded(&message, &request_id), "{request_id}");
            assert!(parts.header().len() <= HEADER_BYTES_MAX - 10, "{request_id}");
        }
    }
}

#[test]
fn request_ids_of_every_length_in_every_kind() {
    let edges = (0..64).flat_map(|bit| [(1u64 << bit) - 1, 1 << bit]).chain([u64::MAX]);
    for request_id in edges {
        for kind in 0..KINDS {
            let mut message = message(kind, &mut SplitMix(request_id));
            message.request_id = request_id;
            let context = format!("kind {kind}, request id {request_id}");
            assert_eq!(compare(&mirror::encode(&message), &context), Ok(message), "{context}");
        }
    }
}

/// The longest header and the longest joint fit, in every kind that has numbers.
#[test]
fn the_longest_numbers_fit() {
    for kind in 0..KINDS {
        for seed in 0..200 {
            let mut message = message(kind, &mut SplitMix(seed));
            message.request_id = u64::MAX;
            widen(&mut message);
            let context = format!("kind {kind}, seed {seed}");
            assert_eq!(encoded(&view(&message), &context), mirror::encode(&message), "{context}");
        }
    }
}

fn widen(message: &mut mirror::ChunkMessage) {
    use mirror::{ChunkMessageBody as Body, ChunkPutResponse, ProtocolError};
    match &mut message.body {
        Body::QuoteRequest(request) => (request.data_size, request.data_type) = (u64::MAX, u32::MAX),
        Body::QuoteRequestV2(request) => {
            (request.data_size, request.data_type, request.settlement_version) = (u64::MAX, u32::MAX, u32::MAX);
        }
        Body::MerkleCandidateQuoteRequest(request) => {
            (request.data_size, request.data_type, request.merkle_payment_timestamp) = (u64::MAX, u32::MAX, u64::MAX);
        }
        Body::MerkleCandidateQuoteRequestV2(request) => {
            (request.data_size, request.data_type, request.merkle_payment_timestamp) = (u64::MAX, u32::MAX, u64::MAX);
            request.settlement_version = u32::MAX;
        }
        Body::PutResponse(response) => {
            let error = ProtocolError::ChunkTooLarge { size: usize::MAX, max_size: usize::MAX };
            *response = ChunkPutResponse::Error(error);
        }
        _ => {}
    }
}

/// The four kinds with two long fields, each with all pairs of lengths near a change of their encoding or a limit, and the
/// texts of the kinds with one.
#[test]
fn pairs_of_lengths_in_every_kind_that_has_two() {
    use mirror::{
        ByteString, ChunkMessageBody as Body, ChunkPutRequest, ChunkQuoteResponse, MerkleCandidateQuoteResponse,
        PointerGetResponse, PointerPutRequest, PointerPutResponse, ProtocolError,
    };
    const LENS: [usize; 11] = [0, 1, 126, 127, 128, 129, 8_191, 8_192, 8_193, 16_383, 16_384];
    for (first, second) in LENS.into_iter().flat_map(|first| LENS.map(|second| (first, second))) {
        let (bytes, option) = (vec![1; first], second.checked_sub(1).map(|len| vec![0x80; len]));
        let record = ByteString(bytes.clone());
        let text = "é".repeat(first / 2) + if first % 2 == 0 { "" } else { "t" };
        let put = ChunkPutRequest { address: ADDRESS, content: record.clone(), payment_proof: option.clone() };
        let quote = ChunkQuoteResponse::Success {
            quote: bytes.clone(),
            already_stored: first > second,
            commitment: option.clone(),
        };
        let candidate = MerkleCandidateQuoteResponse::Success { candidate_node: bytes, commitment: option.clone() };
        let bodies = [
            Body::PutRequest(put),
            Body::QuoteResponse(quote),
            Body::MerkleCandidateQuoteResponse(candidate),
            Body::PointerPutRequest(PointerPutRequest { record, payment_proof: option }),
            Body::PointerPutResponse(PointerPutResponse::PaymentRequired { message: text.clone() }),
            Body::PointerGetResponse(PointerGetResponse::Error(ProtocolError::Internal(text))),
        ];
        for body in bodies {
            let message = mirror::ChunkMessage { request_id: 128, body };
            let context = format!("lengths {first} and {second}");
            assert_eq!(compare(&mirror::encode(&message), &context), Ok(message), "{context}");
        }
    }
}

/// A node looks at the length of the whole input first, trailing bytes included, and then at nothing else.
#[test]
fn the_limit_of_a_message_is_exact() {
    for with_proof in [false, true] {
        let proof = with_proof.then_some(&[3; 300][..]);
        let overhead = put_by_hand(&[7], &[0; 2_097_152], proof).len() - 2_097_152;
        let content = vec![1; MESSAGE_BYTES_MAX - overhead + 1];
        for (len, fits) in [(content.len() - 2, true), (content.len() - 1, true), (content.len(), false)] {
            let bytes = put_by_hand(&[7], &content[..len], proof);
            let outcome = decode(&bytes);
            let expected = ChunkDecodeError::TooLong { bytes: MESSAGE_BYTES_MAX + 1 };
            assert!(outcome == if fits { Ok(put(7, &content[..len], proof)) } else { Err(expected) }, "{len}");
            assert_eq!(mirror::decode(&bytes).is_ok(), fits, "{len}");
        }
    }
    let mut padded = mirror::encode(&message(2, &mut SplitMix(0)));
    padded.resize(MESSAGE_BYTES_MAX, 0);
    assert!(compare(&padded, &"a small message with all the bytes behind it").is_ok());
    padded.push(0);
    assert!(compare(&padded, &"one byte more").is_err());
}

/// A large fetched chunk takes the other way through the reference, number by number.
#[test]
fn fetched_chunks_of_the_largest_size() {
    let content: Vec<u8> = (0..4_194_304u32).map(|index| (index % 253) as u8).collect();
    for len in [content.len() - 1, content.len()] {
        let response = GetResponse::Success { address: &ADDRESS, content: &content[..len] };
        let message = ChunkMessage { request_id: 300, body: ChunkBody::GetResponse(response) };
        let bytes = encoded(&message, &len);
        assert!(decode(&bytes) == Ok(message), "{len}");
        let theirs = mirror::decode(&bytes).expect("the reference reads it");
        assert!(view(&theirs) == message && mirror::encode(&theirs) == bytes, "{len}");
    }
}

/// What a message lends lies in the bytes it was decoded from, where its span says.
#[test]
fn fields_are_lent_from_the_input() {
    for seed in 0..2_000 {
        let bytes = mirror::encode(&message(seed as usize % KINDS, &mut SplitMix(seed)));
        let message = decode(&bytes).expect("a message");
        for field in lent(&message) {
            let span = span_of(field, &bytes).expect("a part of the input");
            assert!(std::ptr::eq(span.of(&bytes), field) || field.is_empty(), "seed {seed}");
        }
    }
}

#[test]
fn puts_of_any_length() {
    let bytes = |len_max| prop::collection::vec(any::<u8>(), 0..=len_max);
    let strategy = (any::<u64>(), any::<u32>(), bytes(3_000), option::of(bytes(3_000)));
    let config = Config { cases: 500, failure_persistence: None, ..Config::default() };
    let outcome = TestRunner::new(config).run(&strategy, |(id, shift, content, proof)| {
        let message = put(id >> (shift % 64), &content, proof.as_deref());
        let whole = encoded(&message, &id);
        prop_assert_eq!(decode(&whole), Ok(message));
        prop_assert_eq!(mirror::encode(&mirror::decode(&whole).expect("a message")), whole);
        Ok(())
    });
    outcome.expect("lengths and content do not matter");
}
