//! The handlers' limits, the errors' words, counters, and buffers that are too small.

use levada_wire::autonomi::{
    CHUNK_BYTES_MAX, COMMITMENT_BYTES_MAX, ChunkBody, ChunkDecodeError, ChunkMessage, DECODE_FAILURES, DECODES,
    LimitError, PROOF_BYTES_MAX, PROOF_BYTES_MIN, ProtocolError, PutRequest, PutResponse, check_chunk,
    check_commitment, check_proof, decode, span_of,
};
use levada_wire::error::EncodeError;

#[test]
fn limits_are_exact() {
    assert_eq!((CHUNK_BYTES_MAX, PROOF_BYTES_MIN, PROOF_BYTES_MAX), (4_194_304, 32, 524_288));
    assert_eq!(check_chunk(0), Ok(()));
    assert_eq!(check_chunk(4_194_304), Ok(()));
    assert_eq!(check_chunk(4_194_305), Err(LimitError::Chunk { bytes: 4_194_305 }));
    assert_eq!(check_chunk(u64::MAX), Err(LimitError::Chunk { bytes: u64::MAX }));
    let bytes = vec![0; PROOF_BYTES_MAX + 1];
    for (len, fits) in [(0, false), (31, false), (32, true), (PROOF_BYTES_MAX, true), (PROOF_BYTES_MAX + 1, false)] {
        let expected = if fits { Ok(()) } else { Err(LimitError::Proof { bytes: len }) };
        assert_eq!(check_proof(&bytes[..len]), expected);
    }
    assert_eq!(check_commitment(&bytes[..COMMITMENT_BYTES_MAX]), Ok(()));
    assert_eq!(check_commitment(&bytes[..8_193]), Err(LimitError::Commitment { bytes: 8_193 }));
}

/// As in a node, a chunk or a proof over its limit is no reason not to decode the message: the handler answers it.
#[test]
fn the_decoder_leaves_limits_to_the_handlers() {
    let (content, proof) = (vec![5; CHUNK_BYTES_MAX + 1], vec![6; PROOF_BYTES_MAX + 1]);
    let request = PutRequest { address: &[1; 32], content: &content, payment_proof: Some(&proof) };
    let message = ChunkMessage { request_id: 1, body: ChunkBody::PutRequest(request) };
    let mut bytes = vec![0; message.encoded_len()];
    assert_eq!(message.encode_into(&mut bytes), Ok(bytes.len()));
    let Ok(ChunkMessage { body: ChunkBody::PutRequest(put), .. }) = decode(&bytes) else { panic!("a put") };
    assert_eq!(check_chunk(put.content.len() as u64), Err(LimitError::Chunk { bytes: 4_194_305 }));
    assert_eq!(put.payment_proof.map(check_proof), Some(Err(LimitError::Proof { bytes: 524_289 })));
}

#[test]
fn a_buffer_too_small_is_left_alone() {
    let message = ChunkMessage { request_id: 300, body: ChunkBody::GetRequest { address: &[3; 32] } };
    for available_bytes in [0, 1, 34] {
        let mut out = [0xee; 35];
        let short = &mut out[..available_bytes];
        assert_eq!(message.encode_into(short), Err(EncodeError::BufferTooSmall { needed_bytes: 35, available_bytes }));
        assert_eq!(out, [0xee; 35]);
    }
    let mut out = [0xee; 37];
    assert_eq!(message.encode_into(&mut out), Ok(35));
    assert_eq!(out[33..], [3, 3, 0xee, 0xee]);
}

#[test]
fn each_refusal_says_where() {
    let address = [0x44; 32];
    let put = |rest: &[u8]| [&[9, 0][..], &address, rest].concat();
    let cases = [
        (vec![], ChunkDecodeError::Truncated { offset: 0 }),
        (vec![0x80; 9], ChunkDecodeError::Truncated { offset: 0 }),
        (vec![0x80; 10], ChunkDecodeError::VarintTooLong { offset: 0, bits: 64 }),
        (vec![9], ChunkDecodeError::Truncated { offset: 1 }),
        (vec![9, 14], ChunkDecodeError::Variant { kind: "body", number: 14, offset: 1 }),
        (vec![9, 0x80, 0x80, 0x80, 0x80], ChunkDecodeError::Truncated { offset: 1 }),
        (vec![9, 0x80, 0x80, 0x80, 0x80, 0x10], ChunkDecodeError::VarintTooLong { offset: 1, bits: 32 }),
        (vec![9, 0x80, 0x80, 0x80, 0x80, 0x80], ChunkDecodeError::VarintTooLong { offset: 1, bits: 32 }),
        (vec![9, 1, 4], ChunkDecodeError::Variant { kind: "put response", number: 4, offset: 2 }),
        (vec![9, 3, 3], ChunkDecodeError::Variant { kind: "get response", number: 3, offset: 2 }),
        (vec![9, 5, 2], ChunkDecodeError::Variant { kind: "quote response", number: 2, offset: 2 }),
        (vec![9, 7, 2], ChunkDecodeError::Variant { kind: "merkle candidate quote response", number: 2, offset: 2 }),
        (vec![9, 11, 5], ChunkDecodeError::Variant { kind: "pointer put response", number: 5, offset: 2 }),
        (vec![9, 13, 3], ChunkDecodeError::Variant { kind: "pointer get response", number: 3, offset: 2 }),
        (vec![9, 1, 3, 11], ChunkDecodeError::Variant { kind: "error", number: 11, offset: 3 }),
        (vec![9, 1, 2, 2, 0xc3, 0x28], ChunkDecodeError::NotUtf8 { offset: 3 }),
        (vec![9, 2, 0], ChunkDecodeError::Truncated { offset: 2 }),
        (vec![9, 5, 0, 0, 2], ChunkDecodeError::Flag { byte: 2, offset: 4 }),
        (put(&[1]), ChunkDecodeError::Truncated { offset: 34 }),
        (put(&[1, 0]), ChunkDecodeError::Truncated { offset: 36 }),
        (put(&[0, 2]), ChunkDecodeError::Option { byte: 2, offset: 35 }),
        (put(&[0, 1, 5, 0]), ChunkDecodeError::Truncated { offset: 36 }),
        (put(&[&[0xff; 9][..], &[1]].concat()), ChunkDecodeError::Truncated { offset: 34 }),
    ];
    for (bytes, expected) in cases {
        assert_eq!(decode(&bytes), Err(expected), "{bytes:02x?}");
        let words = expected.to_string();
        assert!(words.starts_with("chunk message ") && !words.ends_with('.'), "{words}");
    }
}

/// Counters only grow, and other tests of this process decode at the same time.
#[test]
fn walks_and_failures_are_counted() {
    let (decodes, failures) = (DECODES.value(), DECODE_FAILURES.value());
    assert!(decode(&[1, 12]).is_err());
    assert!(DECODES.value() > decodes && DECODE_FAILURES.value() > failures);
}

#[test]
fn a_peers_errors_have_words() {
    let error = ProtocolError::ChunkTooLarge { size: 4_194_305, max_size: 4_194_304 };
    assert_eq!(error.to_string(), "peer refuses a chunk of 4194305 bytes, its limit is 4194304 bytes");
    let bytes = [7, 1, 3, 5, 4, b'f', b'u', b'l', b'l'];
    let Ok(ChunkMessage { body: ChunkBody::PutResponse(PutResponse::Error(error)), .. }) = decode(&bytes) else {
        panic!("an error")
    };
    assert_eq!(error.to_string(), "peer's storage failed: full");
}

#[test]
fn a_span_is_only_of_its_own_bytes() {
    let bytes = [1, 2, 3, 4];
    let other = [1, 2, 3, 4];
    assert_eq!(span_of(&bytes[1..3], &bytes).map(|span| (span.start, span.len)), Some((1, 2)));
    assert_eq!(span_of(&bytes[4..], &bytes).map(|span| (span.start, span.len)), Some((4, 0)));
    assert_eq!(span_of(&bytes[1..3], &bytes[..2]), None);
    assert_eq!(span_of(&bytes[..1], &bytes[1..]), None);
    assert_eq!((span_of(&other, &bytes), span_of(&bytes, &other)), (None, None));
}
