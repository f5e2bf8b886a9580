//! What a service node answers.

use super::RESPONSE_BYTES_MAX;
use crate::error::ServiceError;
use crate::proto::{Value, Walk};
use crate::waku::fields::{check_len, narrow, put_bytes, put_varint, text};

/// The status codes of a response.
pub mod status {
    /// Done.
    pub const OK: u32 = 200;
    /// The request lacks something or asks for too much at once.
    pub const BAD_REQUEST: u32 = 400;
    /// The peer has no such subscription.
    pub const NOT_FOUND: u32 = 404;
    /// The peer asks too often.
    pub const TOO_MANY_REQUESTS: u32 = 429;
    /// The node or the peer has all the subscriptions it may have.
    pub const SERVICE_UNAVAILABLE: u32 = 503;
}

mod number {
    pub const REQUEST_ID: u32 = 1;
    pub const STATUS_CODE: u32 = 10;
    pub const STATUS_DESC: u32 = 11;
}

/// The response to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilterSubscribeResponse<'a> {
    /// The request's.
    pub request_id: &'a str,
    /// One of [`status`].
    pub status_code: u32,
    /// In words, if there are any.
    pub status_desc: Option<&'a str>,
}

impl<'a> FilterSubscribeResponse<'a> {
    /// Whether the request was granted: any code from 200 to 299.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status_code)
    }

    /// Appends the response to `out`, without a length prefix.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_bytes(number::REQUEST_ID, self.request_id.as_bytes(), out);
        put_varint(number::STATUS_CODE, self.status_code.into(), out);
        if let Some(words) = self.status_desc {
            put_bytes(number::STATUS_DESC, words.as_bytes(), out);
        }
    }

    /// Reads a response without its length prefix.
    ///
    /// # Errors
    /// [`ServiceError`]: over [`RESPONSE_BYTES_MAX`] bytes, request id or status code missing, a text that is not UTF-8, or broken
    /// protobuf.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, ServiceError> {
        check_len(bytes, RESPONSE_BYTES_MAX)?;
        let (mut request_id, mut status_code, mut status_desc) = (None, None, None);
        let mut walk = Walk::new(bytes);
        while let Some(field) = walk.next_field()? {
            match (field.number, field.value) {
                (number::REQUEST_ID, Value::Bytes(span)) => request_id = Some(text(bytes, span, "request_id")?),
                (number::STATUS_CODE, Value::Varint(value)) => status_code = Some(narrow(value, "status_code")?),
                (number::STATUS_DESC, Value::Bytes(span)) => status_desc = Some(text(bytes, span, "status_desc")?),
                _ => {}
            }
        }
        Ok(Self {
            request_id: request_id.ok_or(ServiceError::Missing { field: "request_id" })?,
            status_code: status_code.ok_or(ServiceError::Missing { field: "status_code" })?,
            status_desc,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_response() {
        for (bytes, error) in [
            (&[0x0a, 1, b'r'][..], ServiceError::Missing { field: "status_code" }),
            (&[0x50, 1], ServiceError::Missing { field: "request_id" }),
            (&[0x0a, 0, 0x50, 0xff, 0xff, 0xff, 0xff, 0x1f], ServiceError::ValueTooLarge { field: "status_code" }),
            (&[0x0a, 0, 0x5a, 1, 0xff], ServiceError::NotUtf8 { field: "status_desc" }),
        ] {
            assert_eq!(FilterSubscribeResponse::decode(bytes), Err(error), "{bytes:02x?}");
        }
        let bytes = RESPONSE_BYTES_MAX + 1;
        let too_long = ServiceError::TooLong { bytes, bytes_max: RESPONSE_BYTES_MAX };
        assert_eq!(FilterSubscribeResponse::decode(&vec![0; bytes]), Err(too_long));
    }

    #[test]
    fn success_is_any_code_of_the_two_hundreds() {
        let of = |status_code| FilterSubscribeResponse { request_id: "", status_code, status_desc: None };
        let success = [199, 200, 299, 300, 404].map(|code| of(code).is_success());
        assert_eq!(success, [false, true, true, false, false]);
    }
}
