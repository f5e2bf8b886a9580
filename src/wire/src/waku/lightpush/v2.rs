//! Version 2: PushRpc, which is request and response in one.

use super::RESPONSE_BYTES_MAX;
use crate::error::ServiceError;
use crate::proto::{Value, Walk};
use crate::waku::fields::{bytes_len, check_len, put_bytes, put_head, put_varint, text, varint_len};

mod number {
    pub const REQUEST_ID: u32 = 1;
    pub const REQUEST: u32 = 2;
    pub const RESPONSE: u32 = 3;

    pub const PUBSUB_TOPIC: u32 = 1;
    pub const MESSAGE: u32 = 2;

    pub const IS_SUCCESS: u32 = 1;
    pub const INFO: u32 = 2;
}

/// A request of version 2, borrowed from the bytes it was read from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PushRequest<'a> {
    /// Chosen by the client, and told again in the response.
    pub request_id: &'a str,
    /// The pubsub topic and the encoded WakuMessage; absent if the frame has no request in it.
    pub push: Option<(&'a str, &'a [u8])>,
}

impl<'a> PushRequest<'a> {
    /// Reads a request without its length prefix.
    ///
    /// # Errors
    /// [`ServiceError`]: over `bytes_max` bytes, no request id, a request without topic or message, text that is none, or broken
    /// protobuf.
    pub fn decode(bytes: &'a [u8], bytes_max: usize) -> Result<Self, ServiceError> {
        check_len(bytes, bytes_max)?;
        let (mut request_id, mut push) = (None, None);
        let mut walk = Walk::new(bytes);
        while let Some(field) = walk.next_field()? {
            match (field.number, field.value) {
                (number::REQUEST_ID, Value::Bytes(span)) => request_id = Some(text(bytes, span, "request_id")?),
                (number::REQUEST, Value::Bytes(span)) => push = Some(decode_push(bytes, Walk::within(bytes, span))?),
                _ => {}
            }
        }
        Ok(Self { request_id: request_id.ok_or(ServiceError::Missing { field: "request_id" })?, push })
    }

    /// Appends what stands before the message, which follows as it is and ends the request. Without one that is all.
    pub fn put_before_message(&self, out: &mut Vec<u8>) {
        put_bytes(number::REQUEST_ID, self.request_id.as_bytes(), out);
        if let Some((topic, message)) = self.push {
            let inner = bytes_len(number::PUBSUB_TOPIC, topic.len()) + bytes_len(number::MESSAGE, message.len());
            put_head(number::REQUEST, inner, out);
            put_bytes(number::PUBSUB_TOPIC, topic.as_bytes(), out);
            put_head(number::MESSAGE, message.len(), out);
        }
    }
}

fn decode_push<'a>(bytes: &'a [u8], mut walk: Walk<'a>) -> Result<(&'a str, &'a [u8]), ServiceError> {
    let (mut topic, mut message) = (None, None);
    while let Some(field) = walk.next_field()? {
        match (field.number, field.value) {
            (number::PUBSUB_TOPIC, Value::Bytes(span)) => topic = Some(text(bytes, span, "pubsub_topic")?),
            (number::MESSAGE, Value::Bytes(span)) => message = Some(span.of(bytes)),
            _ => {}
        }
    }
    let topic = topic.ok_or(ServiceError::Missing { field: "pubsub_topic" })?;
    Ok((topic, message.ok_or(ServiceError::Missing { field: "message" })?))
}

/// A response of version 2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PushResponse<'a> {
    /// That of the request; empty if it could not be read.
    pub request_id: &'a str,
    /// What became of it; absent if the frame has no response in it.
    pub result: Option<PushResult<'a>>,
}

/// What became of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PushResult<'a> {
    /// Whether it was published.
    pub is_success: bool,
    /// `OK`, or why not.
    pub info: Option<&'a str>,
}

impl<'a> PushResponse<'a> {
    /// Appends the response to `out`, without a length prefix.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_bytes(number::REQUEST_ID, self.request_id.as_bytes(), out);
        let Some(result) = self.result else { return };
        let info_len = result.info.map_or(0, |info| bytes_len(number::INFO, info.len()));
        put_head(number::RESPONSE, varint_len(number::IS_SUCCESS, 1) + info_len, out);
        put_varint(number::IS_SUCCESS, u64::from(result.is_success), out);
        if let Some(info) = result.info {
            put_bytes(number::INFO, info.as_bytes(), out);
        }
    }

    /// Reads a response without its length prefix.
    ///
    /// # Errors
    /// [`ServiceError`]: over [`RESPONSE_BYTES_MAX`] bytes, text that is none, or broken protobuf.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, ServiceError> {
        check_len(bytes, RESPONSE_BYTES_MAX)?;
        let mut response = Self::default();
        let mut walk = Walk::new(bytes);
        while let Some(field) = walk.next_field()? {
            match (field.number, field.value) {
                (number::REQUEST_ID, Value::Bytes(span)) => response.request_id = text(bytes, span, "request_id")?,
                (number::RESPONSE, Value::Bytes(span)) => {
                    response.result = Some(decode_result(bytes, Walk::within(bytes, span))?)
                }
                _ => {}
            }
        }
        Ok(response)
    }
}

fn decode_result<'a>(bytes: &'a [u8], mut walk: Walk<'a>) -> Result<PushResult<'a>, ServiceError> {
    let mut result = PushResult::default();
    while let Some(field) = walk.next_field()? {
        match (field.number, field.value) {
            (number::IS_SUCCESS, Value::Varint(value)) => result.is_success = value != 0,
            (number::INFO, Value::Bytes(span)) => result.info = Some(text(bytes, span, "info")?),
            _ => {}
        }
    }
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::{PushRequest, PushResponse, PushResult};
    use crate::error::ServiceError;

    #[test]
    fn requests_round_trip() {
        for push in [None, Some(("", &[][..])), Some(("/waku/2/rs/1/4", &[1, 2, 3][..]))] {
            let request = PushRequest { request_id: "id", push };
            let mut out = Vec::new();
            request.put_before_message(&mut out);
            out.extend_from_slice(push.map_or(&[], |(_, message)| message));
            assert_eq!(PushRequest::decode(&out, out.len()), Ok(request));
            assert!(PushRequest::decode(&out, out.len() - 1).is_err());
        }
    }

    #[test]
    fn what_is_no_request() {
        let missing = |field| Err(ServiceError::Missing { field });
        assert_eq!(PushRequest::decode(&[], 9), missing("request_id"));
        assert_eq!(PushRequest::decode(&[0x0a, 0, 0x12, 2, 0x12, 0], 9), missing("pubsub_topic"));
        assert_eq!(PushRequest::decode(&[0x0a, 0, 0x12, 2, 0x0a, 0], 9), missing("message"));
    }

    #[test]
    fn responses_round_trip() {
        for result in [
            None,
            Some(PushResult { is_success: true, info: Some("OK") }),
            Some(PushResult { is_success: false, info: None }),
        ] {
            let response = PushResponse { request_id: "id", result };
            let mut out = Vec::new();
            response.encode(&mut out);
            assert_eq!(PushResponse::decode(&out), Ok(response));
        }
        let info = [0x1a, 3, 0x12, 1, 0xff];
        assert_eq!(PushResponse::decode(&info), Err(ServiceError::NotUtf8 { field: "info" }));
    }
}
