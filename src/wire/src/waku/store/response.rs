//! StoreQueryResponse and the entries in it.

use super::{ENTRIES_MAX, number};
use crate::error::ServiceError;
use crate::hash::Digest;
use crate::proto::{Value, Walk};
use crate::waku::fields::{
    bytes_len, check_len, digest, head_len, narrow, push, put_bytes, put_head, put_varint, text, varint_len,
};
use crate::waku::message::{self, Message};

/// What stands first in an answer. All three fields are written always: nwaku's client demands them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResponseStatus<'a> {
    /// That of the query; see the specification for errors that come before it was read.
    pub request_id: &'a str,
    /// One of [`super::status`].
    pub status_code: u32,
    /// Why, or `OK`.
    pub status_desc: &'a str,
}

impl ResponseStatus<'_> {
    /// Bytes that [`put`](Self::put) appends.
    pub fn encoded_len(&self) -> usize {
        bytes_len(number::REQUEST_ID, self.request_id.len())
            + varint_len(number::STATUS_CODE, self.status_code.into())
            + bytes_len(number::STATUS_DESC, self.status_desc.len())
    }

    /// Appends the fields.
    pub fn put(&self, out: &mut Vec<u8>) {
        put_bytes(number::REQUEST_ID, self.request_id.as_bytes(), out);
        put_varint(number::STATUS_CODE, self.status_code.into(), out);
        put_bytes(number::STATUS_DESC, self.status_desc.as_bytes(), out);
    }
}

/// Bytes that [`put_cursor`] appends.
pub fn cursor_len() -> usize {
    bytes_len(number::PAGINATION_CURSOR, size_of::<Digest>())
}

/// Appends the cursor of the next page: the last field of an answer.
pub fn put_cursor(cursor: &Digest, out: &mut Vec<u8>) {
    put_bytes(number::PAGINATION_CURSOR, cursor, out);
}

/// An entry of an answer to be written: the hash, and message and pubsub topic if they were asked for.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// The deterministic message hash.
    pub hash: &'a Digest,
    /// Both or neither, as the specification wants it.
    pub body: Option<(Message<'a>, &'a str)>,
}

impl Entry<'_> {
    fn inner_len(&self) -> usize {
        let body = self.body.as_ref().map_or(0, |(message, topic)| {
            bytes_len(number::ENTRY_MESSAGE, message.encoded_len()) + bytes_len(number::ENTRY_PUBSUB_TOPIC, topic.len())
        });
        bytes_len(number::ENTRY_HASH, size_of::<Digest>()) + body
    }

    /// Bytes of the whole field: what both methods below append, and the payload.
    pub fn encoded_len(&self) -> usize {
        bytes_len(number::MESSAGES, self.inner_len())
    }

    /// Appends all that stands before the payload, or the whole entry if it has no body.
    pub fn put_before_payload(&self, out: &mut Vec<u8>) {
        put_head(number::MESSAGES, self.inner_len(), out);
        put_bytes(number::ENTRY_HASH, self.hash, out);
        if let Some((message, _)) = &self.body {
            put_head(number::ENTRY_MESSAGE, message.encoded_len(), out);
            message.put_before_payload(out);
        }
    }

    /// Appends all that stands behind the payload.
    pub fn put_behind_payload(&self, out: &mut Vec<u8>) {
        if let Some((message, topic)) = &self.body {
            message.put_behind_payload(out);
            put_bytes(number::ENTRY_PUBSUB_TOPIC, topic.as_bytes(), out);
        }
    }
}

impl Message<'_> {
    fn put_before_payload(&self, out: &mut Vec<u8>) {
        put_head(message::PAYLOAD, self.payload.len(), out);
    }

    fn put_behind_payload(&self, out: &mut Vec<u8>) {
        debug_assert_eq!(head_len(message::PAYLOAD, 0), 2, "the payload is the first field");
        put_bytes(message::CONTENT_TOPIC, self.content_topic.as_bytes(), out);
        put_varint(message::VERSION, self.version.into(), out);
        put_varint(message::TIMESTAMP, message::zigzag(self.timestamp), out);
        put_bytes(message::META, self.meta, out);
        put_bytes(message::PROOF, self.proof, out);
        put_varint(message::EPHEMERAL, self.ephemeral.into(), out);
    }
}

/// An answer, borrowed from the bytes it was read from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreResponse<'a> {
    /// That of the query.
    pub request_id: &'a str,
    /// One of [`super::status`].
    pub status_code: u32,
    /// Why; empty if the node does not say.
    pub status_desc: &'a str,
    /// The page, ascending by time and hash.
    pub messages: Vec<ReadEntry<'a>>,
    /// The cursor of the next page, if there is one.
    pub cursor: Option<Digest>,
}

/// An entry of an answer that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadEntry<'a> {
    /// The deterministic message hash, as the node says.
    pub hash: Digest,
    /// The encoded WakuMessage and its pubsub topic; absent unless both are there.
    pub body: Option<(&'a [u8], &'a str)>,
}

impl<'a> StoreResponse<'a> {
    /// Reads an answer without its length prefix. The messages in it are not decoded.
    ///
    /// # Errors
    /// [`ServiceError`]: no status code, more than `bytes_max` bytes or [`ENTRIES_MAX`] entries, a hash that has not 32 bytes, text
    /// that is none, or broken protobuf.
    pub fn decode(bytes: &'a [u8], bytes_max: usize) -> Result<Self, ServiceError> {
        check_len(bytes, bytes_max)?;
        let mut response = Self::default();
        let mut status_code = None;
        let mut walk = Walk::new(bytes);
        while let Some(field) = walk.next_field()? {
            match (field.number, field.value) {
                (number::REQUEST_ID, Value::Bytes(span)) => response.request_id = text(bytes, span, "request_id")?,
                (number::STATUS_CODE, Value::Varint(value)) => status_code = Some(narrow(value, "status_code")?),
                (number::STATUS_DESC, Value::Bytes(span)) => response.status_desc = text(bytes, span, "status_desc")?,
                (number::MESSAGES, Value::Bytes(span)) => {
                    let entry = ReadEntry::decode(bytes, Walk::within(bytes, span))?;
                    push(&mut response.messages, entry, "messages", ENTRIES_MAX)?;
                }
                (number::PAGINATION_CURSOR, Value::Bytes(span)) => {
                    response.cursor = Some(digest(bytes, span, "pagination_cursor")?);
                }
                _ => {}
            }
        }
        response.status_code = status_code.ok_or(ServiceError::Missing { field: "status_code" })?;
        Ok(response)
    }
}

impl<'a> ReadEntry<'a> {
    fn decode(bytes: &'a [u8], mut walk: Walk<'a>) -> Result<Self, ServiceError> {
        let (mut hash, mut message, mut pubsub_topic) = (None, None, None);
        while let Some(field) = walk.next_field()? {
            match (field.number, field.value) {
                (number::ENTRY_HASH, Value::Bytes(span)) => hash = Some(digest(bytes, span, "message_hash")?),
                (number::ENTRY_MESSAGE, Value::Bytes(span)) => message = Some(span.of(bytes)),
                (number::ENTRY_PUBSUB_TOPIC, Value::Bytes(span)) => {
                    pubsub_topic = Some(text(bytes, span, "pubsub_topic")?)
                }
                _ => {}
            }
        }
        let hash = hash.ok_or(ServiceError::Missing { field: "message_hash" })?;
        Ok(Self { hash, body: message.zip(pubsub_topic) })
    }
}

#[cfg(test)]
mod tests {
    use super::{Entry, ReadEntry, ResponseStatus, StoreResponse, cursor_len, put_cursor};
    use crate::error::ServiceError;
    use crate::waku::message::{Message, decode};

    const STATUS: ResponseStatus<'_> = ResponseStatus { request_id: "id", status_code: 200, status_desc: "OK" };

    #[test]
    fn a_page_around_its_payloads() {
        let message =
            Message { payload: &[9; 300], content_topic: "/a/1/b/c", timestamp: -5, meta: b"m", ..Message::default() };
        let entries =
            [Entry { hash: &[1; 32], body: Some((message, "/waku/2/rs/1/0")) }, Entry { hash: &[2; 32], body: None }];
        let mut out = Vec::new();
        STATUS.put(&mut out);
        assert_eq!(out.len(), STATUS.encoded_len());
        for entry in &entries {
            let start = out.len();
            entry.put_before_payload(&mut out);
            out.extend_from_slice(entry.body.as_ref().map_or(&[], |(message, _)| message.payload));
            entry.put_behind_payload(&mut out);
            assert_eq!(out.len() - start, entry.encoded_len());
        }
        let start = out.len();
        put_cursor(&[2; 32], &mut out);
        assert_eq!(out.len() - start, cursor_len());

        let read = StoreResponse::decode(&out, out.len()).expect("what was written");
        assert_eq!((read.request_id, read.status_code, read.status_desc), ("id", 200, "OK"));
        assert_eq!((read.cursor, read.messages.len()), (Some([2; 32]), 2));
        let (bytes, topic) = read.messages[0].body.expect("a body");
        assert_eq!((decode(bytes).map(|spans| spans.view(bytes)), topic), (Ok(message), "/waku/2/rs/1/0"));
        assert_eq!(read.messages[1], ReadEntry { hash: [2; 32], body: None });
        let too_long = ServiceError::TooLong { bytes: out.len(), bytes_max: out.len() - 1 };
        assert_eq!(StoreResponse::decode(&out, out.len() - 1), Err(too_long));
    }

    #[test]
    fn a_message_without_its_topic_is_no_body() {
        let entry = [&[0x50, 1, 0xa2, 0x01, 38, 0x0a, 32][..], &[3; 32], &[0x12, 2, 0x0a, 0]].concat();
        let read = StoreResponse::decode(&entry, 1_000).expect("an answer");
        assert_eq!(read.messages, [ReadEntry { hash: [3; 32], body: None }]);
    }

    #[test]
    fn what_is_no_answer() {
        assert_eq!(StoreResponse::decode(&[], 10), Err(ServiceError::Missing { field: "status_code" }));
        let without_hash = [0x50, 1, 0xa2, 0x01, 2, 0x12, 0];
        assert_eq!(StoreResponse::decode(&without_hash, 10), Err(ServiceError::Missing { field: "message_hash" }));
        let wide = [0x50, 0xff, 0xff, 0xff, 0xff, 0x7f];
        assert_eq!(StoreResponse::decode(&wide, 10), Err(ServiceError::ValueTooLarge { field: "status_code" }));
        let entry = [&[0xa2, 0x01, 34, 0x0a, 32][..], &[3; 32]].concat();
        let many = ServiceError::TooMany { entries: "messages", count_max: super::ENTRIES_MAX };
        assert_eq!(StoreResponse::decode(&entry.repeat(super::ENTRIES_MAX + 1), usize::MAX), Err(many));
    }
}
