//! One comparison of this crate with the reference, used on every input.

use levada_wire::autonomi::{self as wire, ChunkDecodeError, ChunkMessage, HEADER_BYTES_MAX, decode};

use crate::mirror::{self, Refusal};
use crate::view::view;

/// Asserts that both decide alike on `data`, for the same reason, with the same fields, and encode those to the same bytes.
/// Gives what was decoded, or why not.
pub fn compare(data: &[u8], context: &dyn std::fmt::Display) -> Result<mirror::ChunkMessage, ChunkDecodeError> {
    let ours = decode(data);
    match (ours, mirror::decode(data)) {
        (Ok(ours), Ok(theirs)) => {
            assert_eq!(ours, view(&theirs), "{context}");
            let shortest = encoded(&ours, context);
            assert_eq!(shortest, mirror::encode(&theirs), "{context}");
            assert_eq!(decode(&shortest), Ok(ours), "{context}");
            Ok(theirs)
        }
        (Err(ours), Err(theirs)) => {
            assert_eq!(refusal(ours), theirs, "{context}");
            Err(ours)
        }
        (ours, theirs) => panic!("{context}: this crate {:?}, the reference {:?}", ours.err(), theirs.err()),
    }
}

/// `message` encoded in both ways that this crate has, which must agree with each other and with the lengths told.
pub fn encoded(message: &ChunkMessage<'_>, context: &dyn std::fmt::Display) -> Vec<u8> {
    let parts = message.parts();
    assert!(parts.header().len() <= HEADER_BYTES_MAX, "{context}");
    let joined = parts.slices().concat();
    let mut whole = vec![0xee; joined.len() + 1];
    assert_eq!(message.encode_into(&mut whole), Ok(joined.len()), "{context}");
    assert_eq!(whole.pop(), Some(0xee), "{context}: written beyond the end");
    assert_eq!((parts.encoded_len(), message.encoded_len()), (joined.len(), joined.len()), "{context}");
    assert_eq!(whole, joined, "{context}");
    joined
}

/// The reference's reason for what this crate says.
fn refusal(error: ChunkDecodeError) -> Refusal {
    Refusal::Malformed(match error {
        ChunkDecodeError::TooLong { .. } => return Refusal::TooLarge,
        ChunkDecodeError::Truncated { .. } => postcard::Error::DeserializeUnexpectedEnd,
        ChunkDecodeError::VarintTooLong { .. } => postcard::Error::DeserializeBadVarint,
        ChunkDecodeError::Variant { .. } => postcard::Error::SerdeDeCustom,
        ChunkDecodeError::Option { .. } => postcard::Error::DeserializeBadOption,
        ChunkDecodeError::Flag { .. } => postcard::Error::DeserializeBadBool,
        ChunkDecodeError::NotUtf8 { .. } => postcard::Error::DeserializeBadUtf8,
        error => panic!("{error} has no counterpart"),
    })
}

/// Every slice that a decoded message lends.
pub fn lent<'a>(message: &ChunkMessage<'a>) -> Vec<&'a [u8]> {
    let mut lent = Vec::new();
    match message.body {
        wire::ChunkBody::PutRequest(request) => {
            lent.extend([&request.address[..], request.content]);
            lent.extend(request.payment_proof);
        }
        wire::ChunkBody::GetResponse(wire::GetResponse::Success { address, content }) => {
            lent.extend([&address[..], content]);
        }
        wire::ChunkBody::QuoteResponse(wire::QuoteResponse::Success { quote, commitment, .. }) => {
            lent.push(quote);
            lent.extend(commitment);
        }
        wire::ChunkBody::PointerPutRequest { record, payment_proof } => {
            lent.push(record);
            lent.extend(payment_proof);
        }
        _ => {}
    }
    lent
}
