//! StoreQueryRequest.

use super::{CONTENT_TOPICS_MAX, MESSAGE_HASHES_MAX, REQUEST_BYTES_MAX, number};
use crate::error::ServiceError;
use crate::hash::Digest;
use crate::proto::{Value, Walk};
use crate::waku::fields::{check_len, digest, push, put_bytes, put_varint, text};
use crate::waku::message::{unzigzag, zigzag};

/// A query, borrowed from the bytes it was read from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreRequest<'a> {
    /// Chosen by the asker, and told again in the answer.
    pub request_id: &'a str,
    /// Whether messages are wanted, or their hashes only.
    pub include_data: bool,
    /// Only messages of this pubsub topic.
    pub pubsub_topic: Option<&'a str>,
    /// Only messages with one of these content topics, unless empty.
    pub content_topics: Vec<&'a str>,
    /// Only messages at or after this time, nanoseconds since the epoch.
    pub time_start: Option<i64>,
    /// Only messages at or before this time, nanoseconds since the epoch.
    pub time_end: Option<i64>,
    /// Only messages with one of these hashes, unless empty.
    pub message_hashes: Vec<Digest>,
    /// Continue behind this message.
    pub cursor: Option<Digest>,
    /// Whether to walk from the oldest message to the newest. nwaku takes an absent field for true; js-waku leaves it out to walk
    /// backward, and is answered forward by nwaku.
    pub forward: Option<bool>,
    /// Messages per page.
    pub limit: Option<u64>,
}

impl<'a> StoreRequest<'a> {
    /// Reads a query without its length prefix. The last of repeated single fields counts; unknown fields are passed over.
    ///
    /// # Errors
    /// [`ServiceError`]: no request id, more than [`REQUEST_BYTES_MAX`] bytes, [`CONTENT_TOPICS_MAX`] topics or
    /// [`MESSAGE_HASHES_MAX`] hashes, a hash or cursor that has not 32 bytes, text that is none, or broken protobuf.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, ServiceError> {
        check_len(bytes, REQUEST_BYTES_MAX)?;
        let mut request = Self::default();
        let mut request_id = None;
        let mut walk = Walk::new(bytes);
        while let Some(field) = walk.next_field()? {
            match (field.number, field.value) {
                (number::REQUEST_ID, Value::Bytes(span)) => request_id = Some(text(bytes, span, "request_id")?),
                (number::INCLUDE_DATA, Value::Varint(value)) => request.include_data = value != 0,
                (number::PUBSUB_TOPIC, Value::Bytes(span)) => {
                    request.pubsub_topic = Some(text(bytes, span, "pubsub_topic")?);
                }
                (number::CONTENT_TOPICS, Value::Bytes(span)) => {
                    let topic = text(bytes, span, "content_topics")?;
                    push(&mut request.content_topics, topic, "content topics", CONTENT_TOPICS_MAX)?;
                }
                (number::TIME_START, Value::Varint(value)) => request.time_start = Some(unzigzag(value)),
                (number::TIME_END, Value::Varint(value)) => request.time_end = Some(unzigzag(value)),
                (number::MESSAGE_HASHES, Value::Bytes(span)) => {
                    let hash = digest(bytes, span, "message_hashes")?;
                    push(&mut request.message_hashes, hash, "message hashes", MESSAGE_HASHES_MAX)?;
                }
                (number::PAGINATION_CURSOR, Value::Bytes(span)) => {
                    request.cursor = Some(digest(bytes, span, "pagination_cursor")?);
                }
                (number::PAGINATION_FORWARD, Value::Varint(value)) => request.forward = Some(value != 0),
                (number::PAGINATION_LIMIT, Value::Varint(value)) => request.limit = Some(value),
                _ => {}
            }
        }
        request.request_id = request_id.ok_or(ServiceError::Missing { field: "request_id" })?;
        Ok(request)
    }

    /// Appends the query to `out`, without a length prefix. A direction is always written if there is one, also backward: nwaku
    /// walks forward without it.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_bytes(number::REQUEST_ID, self.request_id.as_bytes(), out);
        put_varint(number::INCLUDE_DATA, u64::from(self.include_data), out);
        if let Some(topic) = self.pubsub_topic {
            put_bytes(number::PUBSUB_TOPIC, topic.as_bytes(), out);
        }
        self.content_topics.iter().for_each(|topic| put_bytes(number::CONTENT_TOPICS, topic.as_bytes(), out));
        for (field, time) in [(number::TIME_START, self.time_start), (number::TIME_END, self.time_end)] {
            if let Some(time) = time {
                put_varint(field, zigzag(time), out);
            }
        }
        self.message_hashes.iter().for_each(|hash| put_bytes(number::MESSAGE_HASHES, hash, out));
        if let Some(cursor) = &self.cursor {
            put_bytes(number::PAGINATION_CURSOR, cursor, out);
        }
        if let Some(forward) = self.forward {
            put_varint(number::PAGINATION_FORWARD, u64::from(forward), out);
        }
        if let Some(limit) = self.limit {
            put_varint(number::PAGINATION_LIMIT, limit, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CONTENT_TOPICS_MAX, MESSAGE_HASHES_MAX, REQUEST_BYTES_MAX, StoreRequest};
    use crate::error::ServiceError;

    fn encoded(request: &StoreRequest<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        request.encode(&mut out);
        out
    }

    #[test]
    fn every_field_round_trips() {
        let full = StoreRequest {
            request_id: "id",
            include_data: true,
            pubsub_topic: Some(""),
            content_topics: vec!["/a/1/b/c", ""],
            time_start: Some(i64::MIN),
            time_end: Some(i64::MAX),
            message_hashes: vec![[1; 32], [0; 32]],
            cursor: Some([0; 32]),
            forward: Some(false),
            limit: Some(u64::MAX),
        };
        for request in [full, StoreRequest::default(), StoreRequest { forward: Some(true), ..StoreRequest::default() }]
        {
            assert_eq!(StoreRequest::decode(&encoded(&request)), Ok(request));
        }
    }

    #[test]
    fn an_absent_direction_is_not_a_backward_one() {
        assert_eq!(StoreRequest::decode(&[0x0a, 0]).map(|request| request.forward), Ok(None));
        assert_eq!(StoreRequest::decode(&[0x0a, 0, 0xa0, 0x03, 0]).map(|request| request.forward), Ok(Some(false)));
    }

    #[test]
    fn limits_at_their_edges() {
        let with = |topics: usize, hashes: usize| StoreRequest {
            content_topics: vec!["t"; topics],
            message_hashes: vec![[7; 32]; hashes],
            ..StoreRequest::default()
        };
        let fits = encoded(&with(CONTENT_TOPICS_MAX, MESSAGE_HASHES_MAX));
        assert!(StoreRequest::decode(&fits).is_ok());
        let topics = ServiceError::TooMany { entries: "content topics", count_max: CONTENT_TOPICS_MAX };
        assert_eq!(StoreRequest::decode(&encoded(&with(CONTENT_TOPICS_MAX + 1, 0))), Err(topics));
        let hashes = ServiceError::TooMany { entries: "message hashes", count_max: MESSAGE_HASHES_MAX };
        assert_eq!(StoreRequest::decode(&encoded(&with(0, MESSAGE_HASHES_MAX + 1))), Err(hashes));
        let long = "x".repeat(REQUEST_BYTES_MAX);
        let long = encoded(&StoreRequest { request_id: &long, ..StoreRequest::default() });
        assert!(matches!(StoreRequest::decode(&long), Err(ServiceError::TooLong { .. })));
    }

    #[test]
    fn what_is_no_query() {
        assert_eq!(StoreRequest::decode(&[]), Err(ServiceError::Missing { field: "request_id" }));
        assert_eq!(StoreRequest::decode(&[0x0a, 1, 0xff]), Err(ServiceError::NotUtf8 { field: "request_id" }));
        let cursor = [&[0x0a, 0, 0x9a, 0x03, 31][..], &[1; 31]].concat();
        let short = ServiceError::HashLength { field: "pagination_cursor", bytes: 31 };
        assert_eq!(StoreRequest::decode(&cursor), Err(short));
        let hash = [&[0x0a, 0, 0xa2, 0x01, 33][..], &[1; 33]].concat();
        assert_eq!(StoreRequest::decode(&hash), Err(ServiceError::HashLength { field: "message_hashes", bytes: 33 }));
        assert!(matches!(StoreRequest::decode(&[0x0a, 5, 0]), Err(ServiceError::Wire(_))));
    }
}
