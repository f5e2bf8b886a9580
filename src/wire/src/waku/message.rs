//! WakuMessage (14/WAKU2-MESSAGE): one walk over the received bytes that yields where each field lies.
//!
//! The rules are nwaku's, because a message that nwaku rejects costs the peer that forwards it its score: payload and
//! content topic must be present though they may be empty, the last of repeated fields wins, a known field with another
//! wire type is passed over like an unknown one, and a group fails the message.

use levada_engine::Counter;

use crate::error::DecodeError;
use crate::proto::{Value, Walk};
use crate::waku::Span;

/// Walks over a WakuMessage, failed ones included.
pub static DECODES: Counter = Counter::new();
/// Bytes of the messages walked over.
pub static DECODED_BYTES: Counter = Counter::new();

/// Walks that ended in an error.
pub static DECODE_FAILURES: Counter = Counter::new();

/// Limit of the meta attribute in bytes.
pub const META_BYTES_MAX: usize = 64;

pub(crate) const PAYLOAD: u32 = 1;
pub(crate) const CONTENT_TOPIC: u32 = 2;
pub(crate) const VERSION: u32 = 3;
pub(crate) const TIMESTAMP: u32 = 10;
pub(crate) const META: u32 = 11;
pub(crate) const PROOF: u32 = 21;
pub(crate) const EPHEMERAL: u32 = 31;

/// Which optional fields a message carried. An absent field reads as its default everywhere else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Present {
    /// Field 3.
    pub version: bool,
    /// Field 10.
    pub timestamp: bool,
    /// Field 11.
    pub meta: bool,
    /// Field 21.
    pub proof: bool,
    /// Field 31.
    pub ephemeral: bool,
}

/// A decoded message: scalar fields by value, the others as spans of the bytes that [`decode`] was given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MessageSpans {
    /// Field 1, application bytes; may be empty.
    pub payload: Span,
    /// Field 2, checked to be UTF-8; may be empty.
    pub content_topic: Span,
    /// Field 11, at most [`META_BYTES_MAX`] bytes.
    pub meta: Span,
    /// Field 21, the opaque rate-limit proof.
    pub proof: Span,
    /// Field 10, nanoseconds since the epoch as the sender claims; 0 if absent.
    pub timestamp: i64,
    /// Field 3; 0 if absent.
    pub version: u32,
    /// Field 31: the message is not to be archived.
    pub ephemeral: bool,
    /// Which optional fields were on the wire.
    pub present: Present,
}

impl MessageSpans {
    /// The message's fields as slices of `data`, the bytes it was decoded from. With other bytes the fields are
    /// meaningless, and empty where they would not fit; it never panics.
    pub fn view<'a>(&self, data: &'a [u8]) -> Message<'a> {
        Message {
            payload: self.payload.of(data),
            content_topic: std::str::from_utf8(self.content_topic.of(data)).unwrap_or_default(),
            version: self.version,
            timestamp: self.timestamp,
            meta: self.meta.of(data),
            proof: self.proof.of(data),
            ephemeral: self.ephemeral,
        }
    }
}

/// A WakuMessage by its fields, to be encoded or read (14/WAKU2-MESSAGE).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Message<'a> {
    /// Application bytes.
    pub payload: &'a [u8],
    /// The content topic, by which applications filter.
    pub content_topic: &'a str,
    /// Payload encryption version, 0 or 1 by 26/WAKU2-PAYLOAD.
    pub version: u32,
    /// Nanoseconds since the epoch.
    pub timestamp: i64,
    /// Application attributes, at most [`META_BYTES_MAX`] bytes.
    pub meta: &'a [u8],
    /// The opaque rate-limit proof (17/WAKU2-RLN-RELAY).
    pub proof: &'a [u8],
    /// The message is not to be archived.
    pub ephemeral: bool,
}

/// Finds the fields of the WakuMessage `data` in one pass, without copying or allocating, and counts the pass.
///
/// # Errors
/// A [`DecodeError`] if the protobuf is broken, payload or content topic is absent, meta is over [`META_BYTES_MAX`] bytes,
/// the content topic is not UTF-8, version or ephemeral does not fit 32 bits, or `data` is over `u32::MAX` bytes.
pub fn decode(data: &[u8]) -> Result<MessageSpans, DecodeError> {
    DECODES.add(1);
    DECODED_BYTES.add(data.len() as u64);
    let outcome = walk(data);
    if outcome.is_err() {
        DECODE_FAILURES.add(1);
    }
    outcome
}

fn walk(data: &[u8]) -> Result<MessageSpans, DecodeError> {
    check_addressable(data.len())?;
    let mut spans = MessageSpans::default();
    let (mut payload, mut content_topic) = (None, None);
    let mut fields = Walk::new(data);
    while let Some(field) = fields.next_field()? {
        match (field.number, field.value) {
            (PAYLOAD, Value::Bytes(span)) => payload = Some(span),
            (CONTENT_TOPIC, Value::Bytes(span)) => content_topic = Some(span),
            (VERSION, Value::Varint(value)) => {
                spans.version = narrow(value, "version")?;
                spans.present.version = true;
            }
            (TIMESTAMP, Value::Varint(value)) => {
                spans.timestamp = unzigzag(value);
                spans.present.timestamp = true;
            }
            (META, Value::Bytes(span)) => {
                spans.meta = span;
                spans.present.meta = true;
            }
            (PROOF, Value::Bytes(span)) => {
                spans.proof = span;
                spans.present.proof = true;
            }
            (EPHEMERAL, Value::Varint(value)) => {
                spans.ephemeral = narrow(value, "ephemeral")? != 0;
                spans.present.ephemeral = true;
            }
            _ => {}
        }
    }
    spans.payload = payload.ok_or(DecodeError::Missing { field: "payload" })?;
    spans.content_topic = content_topic.ok_or(DecodeError::Missing { field: "content_topic" })?;
    check_values(&spans, data)?;
    Ok(spans)
}

/// The checks that concern the last of repeated fields only, hence made after the walk.
#[inline]
fn check_values(spans: &MessageSpans, data: &[u8]) -> Result<(), DecodeError> {
    if spans.meta.len as usize > META_BYTES_MAX {
        return Err(DecodeError::MetaTooLong { bytes: spans.meta.len });
    }
    let content_topic = spans.content_topic.of(data);
    // Nearly every topic is ASCII, which is found out faster than UTF-8 is validated.
    if !content_topic.is_ascii() && std::str::from_utf8(content_topic).is_err() {
        return Err(DecodeError::ContentTopicNotUtf8 { offset: spans.content_topic.start });
    }
    Ok(())
}

#[inline]
fn check_addressable(bytes: usize) -> Result<(), DecodeError> {
    if u32::try_from(bytes).is_err() { Err(DecodeError::TooLong { bytes }) } else { Ok(()) }
}

/// nwaku reads both 32-bit fields as such and fails the message on a larger number; reading on would forward a message
/// that it rejects.
#[inline]
fn narrow(value: u64, field: &'static str) -> Result<u32, DecodeError> {
    u32::try_from(value).map_err(|_| DecodeError::ValueTooLarge { field })
}

#[inline]
pub(crate) fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

#[inline]
pub(crate) fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

#[cfg(test)]
mod tests {
    use super::{check_addressable, unzigzag, zigzag};
    use crate::error::DecodeError;

    #[test]
    fn zigzag_round_trip() {
        for (value, encoded) in [(0, 0), (-1, 1), (1, 2), (-2, 3), (i64::MAX, u64::MAX - 1), (i64::MIN, u64::MAX)] {
            assert_eq!(zigzag(value), encoded);
            assert_eq!(unzigzag(encoded), value);
        }
    }

    #[test]
    #[cfg(target_pointer_width = "64")]
    fn more_than_a_span_addresses_is_refused() {
        assert_eq!(check_addressable(u32::MAX as usize), Ok(()));
        let bytes = u32::MAX as usize + 1;
        assert_eq!(check_addressable(bytes), Err(DecodeError::TooLong { bytes }));
    }
}
