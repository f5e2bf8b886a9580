//! Version 3: LightpushRequest and LightPushResponse.

use super::RESPONSE_BYTES_MAX;
use crate::error::ServiceError;
use crate::proto::{Value, Walk};
use crate::waku::fields::{bytes_len, check_len, narrow, put_bytes, put_head, put_varint, text};

mod number {
    pub const REQUEST_ID: u32 = 1;
    pub const PUBSUB_TOPIC: u32 = 20;
    pub const MESSAGE: u32 = 21;

    pub const STATUS_CODE: u32 = 10;
    pub const STATUS_DESC: u32 = 11;
    pub const RELAY_PEER_COUNT: u32 = 12;
}

/// A request of version 3, borrowed from the bytes it was read from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LightpushRequest<'a> {
    /// Chosen by the client, and told again in the response.
    pub request_id: &'a str,
    /// The pubsub topic; absent to have the node find it by the content topic (autosharding).
    pub pubsub_topic: Option<&'a str>,
    /// The encoded WakuMessage.
    pub message: &'a [u8],
}

impl<'a> LightpushRequest<'a> {
    /// Reads a request without its length prefix.
    ///
    /// # Errors
    /// [`ServiceError`]: over `bytes_max` bytes, no request id or message, text that is none, or broken protobuf.
    pub fn decode(bytes: &'a [u8], bytes_max: usize) -> Result<Self, ServiceError> {
        check_len(bytes, bytes_max)?;
        let (mut request_id, mut pubsub_topic, mut message) = (None, None, None);
        let mut walk = Walk::new(bytes);
        while let Some(field) = walk.next_field()? {
            match (field.number, field.value) {
                (number::REQUEST_ID, Value::Bytes(span)) => request_id = Some(text(bytes, span, "request_id")?),
                (number::PUBSUB_TOPIC, Value::Bytes(span)) => pubsub_topic = Some(text(bytes, span, "pubsub_topic")?),
                (number::MESSAGE, Value::Bytes(span)) => message = Some(span.of(bytes)),
                _ => {}
            }
        }
        Ok(Self {
            request_id: request_id.ok_or(ServiceError::Missing { field: "request_id" })?,
            pubsub_topic,
            message: message.ok_or(ServiceError::Missing { field: "message" })?,
        })
    }

    /// Appends what stands before the message, which follows as it is and ends the request.
    pub fn put_before_message(&self, out: &mut Vec<u8>) {
        put_bytes(number::REQUEST_ID, self.request_id.as_bytes(), out);
        if let Some(topic) = self.pubsub_topic {
            put_bytes(number::PUBSUB_TOPIC, topic.as_bytes(), out);
        }
        put_head(number::MESSAGE, self.message.len(), out);
    }

    /// Bytes of the whole request.
    pub fn encoded_len(&self) -> usize {
        bytes_len(number::REQUEST_ID, self.request_id.len())
            + self.pubsub_topic.map_or(0, |topic| bytes_len(number::PUBSUB_TOPIC, topic.len()))
            + bytes_len(number::MESSAGE, self.message.len())
    }
}

/// A response of version 3.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LightpushResponse<'a> {
    /// That of the request, or `N/A` if it could not be read.
    pub request_id: &'a str,
    /// One of [`super::status`].
    pub status_code: u32,
    /// Why it was not published.
    pub status_desc: Option<&'a str>,
    /// To how many peers it went.
    pub relay_peer_count: Option<u32>,
}

impl<'a> LightpushResponse<'a> {
    /// Appends the response to `out`, without a length prefix.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_bytes(number::REQUEST_ID, self.request_id.as_bytes(), out);
        put_varint(number::STATUS_CODE, self.status_code.into(), out);
        if let Some(desc) = self.status_desc {
            put_bytes(number::STATUS_DESC, desc.as_bytes(), out);
        }
        if let Some(count) = self.relay_peer_count {
            put_varint(number::RELAY_PEER_COUNT, count.into(), out);
        }
    }

    /// Reads a response without its length prefix.
    ///
    /// # Errors
    /// [`ServiceError`]: over [`RESPONSE_BYTES_MAX`] bytes, no status code, text that is none, or broken protobuf.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, ServiceError> {
        check_len(bytes, RESPONSE_BYTES_MAX)?;
        let mut response = Self::default();
        let mut status_code = None;
        let mut walk = Walk::new(bytes);
        while let Some(field) = walk.next_field()? {
            match (field.number, field.value) {
                (number::REQUEST_ID, Value::Bytes(span)) => response.request_id = text(bytes, span, "request_id")?,
                (number::STATUS_CODE, Value::Varint(value)) => status_code = Some(narrow(value, "status_code")?),
                (number::STATUS_DESC, Value::Bytes(span)) => {
                    response.status_desc = Some(text(bytes, span, "status_desc")?)
                }
                (number::RELAY_PEER_COUNT, Value::Varint(value)) => {
                    response.relay_peer_count = Some(narrow(value, "relay_peer_count")?);
                }
                _ => {}
            }
        }
        response.status_code = status_code.ok_or(ServiceError::Missing { field: "status_code" })?;
        Ok(response)
    }
}

#[cfg(test)]
mod tests {
    use super::{LightpushRequest, LightpushResponse};
    use crate::error::ServiceError;

    #[test]
    fn requests_round_trip() {
        for pubsub_topic in [None, Some(""), Some("/waku/2/rs/1/4")] {
            let request = LightpushRequest { request_id: "id", pubsub_topic, message: &[1, 2, 3] };
            let mut out = Vec::new();
            request.put_before_message(&mut out);
            out.extend_from_slice(request.message);
            assert_eq!(out.len(), request.encoded_len());
            assert_eq!(LightpushRequest::decode(&out, out.len()), Ok(request));
            assert!(LightpushRequest::decode(&out, out.len() - 1).is_err());
        }
    }

    #[test]
    fn what_is_no_request() {
        let missing = |field| Err(ServiceError::Missing { field });
        assert_eq!(LightpushRequest::decode(&[], 9), missing("request_id"));
        assert_eq!(LightpushRequest::decode(&[0x0a, 0], 9), missing("message"));
        let topic = [0x0a, 0, 0xa2, 0x01, 1, 0xff, 0xaa, 0x01, 0];
        assert_eq!(LightpushRequest::decode(&topic, 9), Err(ServiceError::NotUtf8 { field: "pubsub_topic" }));
    }

    #[test]
    fn responses_round_trip() {
        let full = LightpushResponse {
            request_id: "id",
            status_code: 505,
            status_desc: Some("No peers"),
            relay_peer_count: Some(0),
        };
        for response in [full, LightpushResponse { status_code: 200, ..LightpushResponse::default() }] {
            let mut out = Vec::new();
            response.encode(&mut out);
            assert_eq!(LightpushResponse::decode(&out), Ok(response));
        }
        assert_eq!(LightpushResponse::decode(&[0x0a, 0]), Err(ServiceError::Missing { field: "status_code" }));
    }
}
