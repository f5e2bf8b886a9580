//! The payload of the second and third message of libp2p's Noise handshake: who the peer is, and which muxers it has.
//!
//! Sources: libp2p specifications, `noise/README.md` and `connections/inlined-muxer-negotiation.md`.

use thiserror::Error;

use crate::varint;

/// What the signature over the static key starts with.
pub const SIGNED_PREFIX: &[u8] = b"noise-libp2p-static-key:";

const IDENTITY_KEY: u64 = 1;
const IDENTITY_SIGNATURE: u64 = 2;
const EXTENSIONS: u64 = 4;
const STREAM_MUXERS: u64 = 2;
const LENGTH_DELIMITED: u64 = 2;

/// The payload of a Noise handshake message is no protobuf message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the handshake payload does not parse")]
pub struct PayloadError;

/// A decoded payload; it borrows the decrypted message.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Payload<'a> {
    /// The identity key, a protobuf message of its own.
    pub identity_key: &'a [u8],
    /// By the identity key over [`SIGNED_PREFIX`] and the static key.
    pub signature: &'a [u8],
    /// The extensions message, if there is one. It was walked once, so that it is known to parse.
    extensions: &'a [u8],
}

impl<'a> Payload<'a> {
    /// Reads a payload. Fields that are not known, such as certificate hashes, are stepped over.
    ///
    /// # Errors
    /// [`PayloadError`] if it or its extensions are no protobuf message.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, PayloadError> {
        let mut payload = Self::default();
        let mut rest = bytes;
        while let Some((number, value)) = next_field(&mut rest)? {
            match number {
                IDENTITY_KEY => payload.identity_key = value,
                IDENTITY_SIGNATURE => payload.signature = value,
                EXTENSIONS => payload.extensions = value,
                _ => {}
            }
        }
        let mut rest = payload.extensions;
        while next_field(&mut rest)?.is_some() {}
        Ok(payload)
    }

    /// The muxers that the peer offers, in its order.
    pub fn muxers(&self) -> impl Iterator<Item = &'a [u8]> {
        let mut rest = self.extensions;
        std::iter::from_fn(move || {
            while let Ok(Some((number, value))) = next_field(&mut rest) {
                if number == STREAM_MUXERS {
                    return Some(value);
                }
            }
            None
        })
    }
}

/// Writes a payload.
pub fn encode(identity_key: &[u8], signature: &[u8], muxers: &[&str]) -> Vec<u8> {
    let mut extensions = Vec::new();
    for muxer in muxers {
        put_field(&mut extensions, STREAM_MUXERS, muxer.as_bytes());
    }
    let mut payload = Vec::new();
    put_field(&mut payload, IDENTITY_KEY, identity_key);
    put_field(&mut payload, IDENTITY_SIGNATURE, signature);
    if !extensions.is_empty() {
        put_field(&mut payload, EXTENSIONS, &extensions);
    }
    payload
}

/// Takes the next field off `rest`: its number, and its bytes if it has any.
fn next_field<'a>(rest: &mut &'a [u8]) -> Result<Option<(u64, &'a [u8])>, PayloadError> {
    if rest.is_empty() {
        return Ok(None);
    }
    let key = take_varint(rest)?;
    let bytes = match key & 7 {
        0 => take_varint(rest).map(|_| 0)?,
        1 => 8,
        LENGTH_DELIMITED => take_varint(rest)?,
        5 => 4,
        _ => return Err(PayloadError),
    };
    let bytes = usize::try_from(bytes).map_err(|_| PayloadError)?;
    let (value, after) = rest.split_at_checked(bytes).ok_or(PayloadError)?;
    *rest = after;
    Ok(Some((key >> 3, if key & 7 == LENGTH_DELIMITED { value } else { &[] })))
}

fn take_varint(rest: &mut &[u8]) -> Result<u64, PayloadError> {
    let (value, bytes) = varint::decode(rest).map_err(|_| PayloadError)?;
    *rest = rest.get(bytes..).unwrap_or_default();
    Ok(value)
}

fn put_field(out: &mut Vec<u8>, number: u64, value: &[u8]) {
    put_varint(out, number << 3 | LENGTH_DELIMITED);
    put_varint(out, value.len() as u64);
    out.extend_from_slice(value);
}

fn put_varint(out: &mut Vec<u8>, value: u64) {
    let mut bytes = [0; varint::VARINT_BYTES_MAX];
    let written = varint::encode(value, &mut bytes).unwrap_or_default();
    out.extend_from_slice(&bytes[..written]);
}
