//! A pushed message. It is written around the message where it lies: header, the slot's bytes, trailer.

use bytes::{BufMut, BytesMut};

use super::PUSH_BYTES_MAX;
use crate::Span;
use crate::error::{EncodeError, ServiceError};
use crate::proto::{Value, Walk};
use crate::varint;
use crate::waku::fields::{check_len, head_len, text};

mod number {
    pub const WAKU_MESSAGE: u32 = 1;
    pub const PUBSUB_TOPIC: u32 = 2;
}

const WAKU_MESSAGE_KEY: u8 = (number::WAKU_MESSAGE << 3 | 2) as u8;
const PUBSUB_TOPIC_KEY: u8 = (number::PUBSUB_TOPIC << 3 | 2) as u8;

/// Bytes of the longest header, its length prefix included: two lengths of up to 32 bits and a key.
pub const PUSH_HEADER_BYTES_MAX: usize = 11;

/// What stands in front of the message in a push. It depends on lengths alone, so that one header serves every subscriber.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PushHeader {
    bytes: [u8; PUSH_HEADER_BYTES_MAX],
    len: u8,
}

impl PushHeader {
    /// The header for an encoded WakuMessage of `message_bytes` bytes on `pubsub_topic`, to be followed by the message and
    /// [`push_trailer`].
    ///
    /// # Errors
    /// [`EncodeError::TooLong`] if the push would be over [`PUSH_BYTES_MAX`], which no peer reads.
    pub fn new(pubsub_topic: &str, message_bytes: usize) -> Result<Self, EncodeError> {
        let topic_bytes = head_len(number::PUBSUB_TOPIC, pubsub_topic.len()).saturating_add(pubsub_topic.len());
        let push_bytes =
            head_len(number::WAKU_MESSAGE, message_bytes).saturating_add(message_bytes).saturating_add(topic_bytes);
        if push_bytes > PUSH_BYTES_MAX {
            return Err(EncodeError::TooLong { bytes: push_bytes, bytes_max: PUSH_BYTES_MAX });
        }
        let mut header = Self { bytes: [0; PUSH_HEADER_BYTES_MAX], len: 0 };
        header.push(push_bytes as u64);
        header.push(u64::from(WAKU_MESSAGE_KEY));
        header.push(message_bytes as u64);
        Ok(header)
    }

    fn push(&mut self, value: u64) {
        let rest = self.bytes.get_mut(usize::from(self.len)..).unwrap_or_default();
        let written = varint::encode(value, rest);
        self.len += written.expect("two 32-bit varints and a key fit the header") as u8;
    }

    /// The header with the push's length prefix, as it goes on a stream.
    pub fn framed(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or_default()
    }
}

/// Appends what stands behind the message: the pubsub topic. It is the same for every message of a topic.
pub fn push_trailer(pubsub_topic: &str, out: &mut BytesMut) {
    let mut length = [0; varint::VARINT_BYTES_MAX];
    let written = varint::encode(pubsub_topic.len() as u64, &mut length).expect("ten bytes hold any varint");
    out.put_u8(PUBSUB_TOPIC_KEY);
    out.put_slice(&length[..written]);
    out.put_slice(pubsub_topic.as_bytes());
}

/// A push as it was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessagePush<'a> {
    /// Where the encoded WakuMessage lies, which is not looked into.
    pub message: Span,
    /// The pubsub topic.
    pub pubsub_topic: &'a str,
}

impl<'a> MessagePush<'a> {
    /// Reads a push without its length prefix.
    ///
    /// # Errors
    /// [`ServiceError`]: over [`PUSH_BYTES_MAX`] bytes, message or topic missing, a topic that is not UTF-8, or broken protobuf.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, ServiceError> {
        check_len(bytes, PUSH_BYTES_MAX)?;
        let (mut message, mut pubsub_topic) = (None, None);
        let mut walk = Walk::new(bytes);
        while let Some(field) = walk.next_field()? {
            match (field.number, field.value) {
                (number::WAKU_MESSAGE, Value::Bytes(span)) => message = Some(span),
                (number::PUBSUB_TOPIC, Value::Bytes(span)) => pubsub_topic = Some(text(bytes, span, "pubsub_topic")?),
                _ => {}
            }
        }
        Ok(Self {
            message: message.ok_or(ServiceError::Missing { field: "waku_message" })?,
            pubsub_topic: pubsub_topic.ok_or(ServiceError::Missing { field: "pubsub_topic" })?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_push() {
        for (bytes, error) in [
            (&[0x0a, 1, b'm'][..], ServiceError::Missing { field: "pubsub_topic" }),
            (&[0x12, 1, b't'], ServiceError::Missing { field: "waku_message" }),
            (&[0x0a, 0, 0x12, 1, 0xff], ServiceError::NotUtf8 { field: "pubsub_topic" }),
        ] {
            assert_eq!(MessagePush::decode(bytes), Err(error), "{bytes:02x?}");
        }
        let bytes = PUSH_BYTES_MAX + 1;
        let too_long = ServiceError::TooLong { bytes, bytes_max: PUSH_BYTES_MAX };
        assert_eq!(MessagePush::decode(&vec![0; bytes]), Err(too_long));
    }

    #[test]
    fn header_message_and_trailer_are_one_frame_up_to_the_limit() {
        let topic = "/waku/2/rs/1/0";
        let mut trailer = BytesMut::new();
        push_trailer(topic, &mut trailer);
        // Keys and lengths around the longest message: 1 + 3, and 1 + 1 + the topic's 14.
        let largest = PUSH_BYTES_MAX - 20;
        for bytes in [0, 1, 127, 128, 153_600, largest] {
            let message: Vec<u8> = (0..bytes).map(|at| at as u8).collect();
            let header = PushHeader::new(topic, bytes).expect("short enough");
            let wire = [header.framed(), &message, &trailer].concat();
            let body = varint::decode_frame(&wire, PUSH_BYTES_MAX as u32).expect("a frame").expect("all of it");
            assert_eq!(body.end(), wire.len());
            let push = MessagePush::decode(body.of(&wire)).expect("a push");
            assert_eq!((push.message.of(body.of(&wire)), push.pubsub_topic), (&message[..], topic));
        }
        let bytes = PUSH_BYTES_MAX + 1;
        assert_eq!(PushHeader::new(topic, largest + 1), Err(EncodeError::TooLong { bytes, bytes_max: PUSH_BYTES_MAX }));
        assert!(PushHeader::new(topic, usize::MAX).is_err());
    }
}
