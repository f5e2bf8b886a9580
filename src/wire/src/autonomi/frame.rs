//! The outer frame: a chunk message with who sends it and their signature. On the network every message is in one.
//!
//! | field | type | |
//! |---|---|---|
//! | protocol | `text` | [`PROTOCOL`] |
//! | data | `bytes` | the chunk message |
//! | from | `text` | who sends, 64 hexadecimal digits: BLAKE3 of the public key |
//! | timestamp | `u64` | when, in seconds since the epoch |
//! | user agent | `text` | |
//! | public key | `bytes` | ML-DSA-65, 1 952 bytes |
//! | signature | `bytes` | ML-DSA-65 over all fields before the public key, as they are encoded; 3 309 bytes |
//!
//! What is signed is the front of the frame, so that it is verified in place. No recipient is named: one frame and one
//! signature serve all. Source: saorsa-core 0.29.2.

use bytes::BufMut;

use super::error::ChunkDecodeError;
use super::limits::{FRAME_BYTES_MAX, PROTOCOL};
use super::reader::Reader;
use crate::varint::{self, VARINT_BYTES_MAX};

/// A frame by its fields, which borrow from whatever holds the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OuterFrame<'a> {
    /// The chunk message.
    pub data: &'a [u8],
    /// Who says they send it.
    pub from: &'a str,
    /// When, in seconds since the epoch.
    pub timestamp: u64,
    /// The sender's program.
    pub user_agent: &'a str,
    /// The key to verify with.
    pub public_key: &'a [u8],
    /// The signature over [`signed`](Self::signed).
    pub signature: &'a [u8],
    /// The front of the frame that is signed.
    pub signed: &'a [u8],
}

/// Whether `front`, all of a message or what it begins with, begins an outer frame of this protocol. No chunk message can:
/// its second number would be a variant that does not exist.
pub fn is_framed(front: &[u8]) -> bool {
    front
        .split_first()
        .is_some_and(|(len, rest)| usize::from(*len) == PROTOCOL.len() && rest.starts_with(PROTOCOL.as_bytes()))
}

/// Finds the fields of the outer frame `bytes` without copying or allocating. The signature is not verified.
///
/// # Errors
/// A [`ChunkDecodeError`] if `bytes` is over [`FRAME_BYTES_MAX`] bytes, is of another protocol, or a field is cut off or not
/// what it should be.
pub fn decode_frame(bytes: &[u8]) -> Result<OuterFrame<'_>, ChunkDecodeError> {
    if bytes.len() > FRAME_BYTES_MAX {
        return Err(ChunkDecodeError::FrameTooLong { bytes: bytes.len() });
    }
    let mut reader = Reader::new(bytes);
    if reader.text()? != PROTOCOL {
        return Err(ChunkDecodeError::Protocol);
    }
    let (data, from, timestamp, user_agent) = (reader.bytes()?, reader.text()?, reader.u64()?, reader.text()?);
    let signed = bytes.get(..reader.offset() as usize).unwrap_or_default();
    let (public_key, signature) = (reader.bytes()?, reader.bytes()?);
    Ok(OuterFrame { data, from, timestamp, user_agent, public_key, signature, signed })
}

/// Appends what stands in front of a chunk message of `data_bytes`.
pub fn frame_head(data_bytes: usize, out: &mut impl BufMut) {
    put_bytes(PROTOCOL.as_bytes(), out);
    put_number(data_bytes as u64, out);
}

/// Appends what stands behind the chunk message up to the end of what is signed.
pub fn frame_sender(from: &str, timestamp: u64, user_agent: &str, out: &mut impl BufMut) {
    put_bytes(from.as_bytes(), out);
    put_number(timestamp, out);
    put_bytes(user_agent.as_bytes(), out);
}

/// Appends what stands behind that.
pub fn frame_signature(public_key: &[u8], signature: &[u8], out: &mut impl BufMut) {
    put_bytes(public_key, out);
    put_bytes(signature, out);
}

fn put_bytes(bytes: &[u8], out: &mut impl BufMut) {
    put_number(bytes.len() as u64, out);
    out.put_slice(bytes);
}

fn put_number(value: u64, out: &mut impl BufMut) {
    let mut number = [0; VARINT_BYTES_MAX];
    let len = varint::encode(value, &mut number).expect("the longest number fits");
    out.put_slice(&number[..len]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cut_is_an_error_and_the_whole_is_what_was_written() {
        let mut frame = Vec::new();
        frame_head(5, &mut frame);
        frame.extend_from_slice(b"01234");
        frame_sender("ab", 300, "node/1", &mut frame);
        let signed = frame.len();
        frame_signature(&[7; 200], &[8; 300], &mut frame);
        let read = decode_frame(&frame).unwrap();
        assert_eq!((read.data, read.from, read.timestamp, read.user_agent), (&b"01234"[..], "ab", 300, "node/1"));
        assert_eq!((read.public_key, read.signature, read.signed), (&[7; 200][..], &[8; 300][..], &frame[..signed]));
        assert!(is_framed(&frame) && is_framed(&frame[..22]) && !is_framed(&frame[..21]));
        for cut in 0..frame.len() {
            assert!(decode_frame(&frame[..cut]).is_err(), "{cut}");
        }
        frame[3] ^= 1;
        assert_eq!(decode_frame(&frame), Err(ChunkDecodeError::Protocol));
        let long = vec![0; FRAME_BYTES_MAX + 1];
        assert_eq!(decode_frame(&long), Err(ChunkDecodeError::FrameTooLong { bytes: long.len() }));
    }

    #[test]
    fn no_chunk_message_looks_like_a_frame() {
        let mut front = Vec::new();
        frame_head(0, &mut front);
        assert!(matches!(super::super::decode(&front), Err(ChunkDecodeError::Variant { kind: "body", .. })));
    }
}
