//! What a client asks of a service node.

use super::{CONTENT_TOPICS_MAX, REQUEST_BYTES_MAX};
use crate::error::ServiceError;
use crate::proto::{Value, Walk};
use crate::waku::fields::{check_len, put_bytes, put_varint, text};

mod number {
    pub const REQUEST_ID: u32 = 1;
    pub const FILTER_SUBSCRIBE_TYPE: u32 = 2;
    pub const PUBSUB_TOPIC: u32 = 10;
    pub const CONTENT_TOPICS: u32 = 11;
}

/// What is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FilterSubscribeType {
    /// Whether there is a subscription, which lives on. An absent field means this.
    #[default]
    SubscriberPing,
    /// Push messages of the named topics from now on.
    Subscribe,
    /// Push those of the named topics no longer.
    Unsubscribe,
    /// Push nothing any more.
    UnsubscribeAll,
}

impl FilterSubscribeType {
    fn of(value: u64) -> Result<Self, ServiceError> {
        match value {
            0 => Ok(Self::SubscriberPing),
            1 => Ok(Self::Subscribe),
            2 => Ok(Self::Unsubscribe),
            3 => Ok(Self::UnsubscribeAll),
            _ => Err(ServiceError::ValueTooLarge { field: "filter_subscribe_type" }),
        }
    }

    /// Its name in metrics, as nwaku writes it.
    pub fn label(self) -> &'static str {
        match self {
            Self::SubscriberPing => "SUBSCRIBER_PING",
            Self::Subscribe => "SUBSCRIBE",
            Self::Unsubscribe => "UNSUBSCRIBE",
            Self::UnsubscribeAll => "UNSUBSCRIBE_ALL",
        }
    }
}

/// A request of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterSubscribeRequest<'a> {
    /// The client's own name for it, which the response repeats.
    pub request_id: &'a str,
    /// What is asked.
    pub kind: FilterSubscribeType,
    /// The pubsub topic, if one is named.
    pub pubsub_topic: Option<&'a str>,
    /// The content topics. Of more than [`CONTENT_TOPICS_MAX`] one more is kept, by which a server knows.
    pub content_topics: Vec<&'a str>,
}

impl<'a> FilterSubscribeRequest<'a> {
    /// Appends the request to `out`, without a length prefix.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_bytes(number::REQUEST_ID, self.request_id.as_bytes(), out);
        put_varint(number::FILTER_SUBSCRIBE_TYPE, self.kind as u64, out);
        if let Some(topic) = self.pubsub_topic {
            put_bytes(number::PUBSUB_TOPIC, topic.as_bytes(), out);
        }
        for topic in &self.content_topics {
            put_bytes(number::CONTENT_TOPICS, topic.as_bytes(), out);
        }
    }

    /// Reads a request without its length prefix.
    ///
    /// # Errors
    /// [`ServiceError`]: over [`REQUEST_BYTES_MAX`] bytes, no request id, a kind that is not defined, a text that is not UTF-8, or broken
    /// protobuf.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, ServiceError> {
        check_len(bytes, REQUEST_BYTES_MAX)?;
        let (mut request_id, mut pubsub_topic, mut content_topics) = (None, None, Vec::new());
        let mut kind = FilterSubscribeType::default();
        let mut walk = Walk::new(bytes);
        while let Some(field) = walk.next_field()? {
            match (field.number, field.value) {
                (number::REQUEST_ID, Value::Bytes(span)) => request_id = Some(text(bytes, span, "request_id")?),
                (number::FILTER_SUBSCRIBE_TYPE, Value::Varint(value)) => kind = FilterSubscribeType::of(value)?,
                (number::PUBSUB_TOPIC, Value::Bytes(span)) => pubsub_topic = Some(text(bytes, span, "pubsub_topic")?),
                (number::CONTENT_TOPICS, Value::Bytes(span)) if content_topics.len() <= CONTENT_TOPICS_MAX => {
                    content_topics.push(text(bytes, span, "content_topics")?);
                }
                _ => {}
            }
        }
        let request_id = request_id.ok_or(ServiceError::Missing { field: "request_id" })?;
        Ok(Self { request_id, kind, pubsub_topic, content_topics })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::WireError;

    #[test]
    fn what_is_no_request() {
        let missing = ServiceError::Missing { field: "request_id" };
        let no_kind = ServiceError::ValueTooLarge { field: "filter_subscribe_type" };
        let no_text = |field| ServiceError::NotUtf8 { field };
        for (bytes, error) in [
            (&b""[..], missing),
            (&[0x10, 1], missing),
            (&[0x08, 1], missing),
            (&[0x0a, 1, b'r', 0x10, 4], no_kind),
            (&[0x0a, 1, 0xff], no_text("request_id")),
            (&[0x0a, 0, 0x52, 1, 0xff], no_text("pubsub_topic")),
            (&[0x0a, 0, 0x5a, 1, 0xff], no_text("content_topics")),
            (&[0x0a], ServiceError::Wire(WireError::Truncated { offset: 0 })),
            (&[0x0b, 0], ServiceError::Wire(WireError::Group { offset: 0 })),
        ] {
            assert_eq!(FilterSubscribeRequest::decode(bytes), Err(error), "{bytes:02x?}");
        }
        let bytes = REQUEST_BYTES_MAX + 1;
        let too_long = ServiceError::TooLong { bytes, bytes_max: REQUEST_BYTES_MAX };
        assert_eq!(FilterSubscribeRequest::decode(&vec![0; bytes]), Err(too_long));
    }

    #[test]
    fn an_absent_kind_is_a_ping_and_unknown_fields_are_passed_over() {
        let request = FilterSubscribeRequest::decode(&[0x0a, 1, b'r', 0x7a, 1, 0, 0x98, 6, 1]).expect("a request");
        assert_eq!((request.request_id, request.kind), ("r", FilterSubscribeType::SubscriberPing));
        assert_eq!((request.pubsub_topic, request.content_topics.len()), (None, 0));
    }

    #[test]
    fn of_too_many_content_topics_one_too_many_is_kept() {
        let content_topics = vec!["/a/1/b/proto"; 5 * CONTENT_TOPICS_MAX];
        let kind = FilterSubscribeType::Subscribe;
        let request = FilterSubscribeRequest { request_id: "r", kind, pubsub_topic: Some("t"), content_topics };
        let mut bytes = Vec::new();
        request.encode(&mut bytes);
        let read = FilterSubscribeRequest::decode(&bytes).expect("it is short enough");
        assert_eq!(read.content_topics.len(), CONTENT_TOPICS_MAX + 1);
    }
}
