//! Reading a request body within bounds of bytes and time.

use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::http::StatusCode;
use futures::StreamExt;
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use super::error::Refusal;
use super::text;

/// How much of a body that is too large is read and dropped, in bytes, before it is refused: a client that is still
/// sending when the answer comes would mostly see a reset connection in place of the answer.
const DISCARD_BYTES_MAX: usize = 1 << 20;

/// Why a body was not read.
#[derive(Debug)]
pub(super) enum BodyError {
    /// It is larger than the bound.
    TooLarge,
    /// It did not arrive in time.
    Late(Duration),
    /// The connection failed, or the transfer encoding is wrong.
    Broken(String),
}

impl From<BodyError> for Refusal {
    fn from(error: BodyError) -> Self {
        match error {
            BodyError::TooLarge => Self::new(StatusCode::PAYLOAD_TOO_LARGE, "the request body is too large"),
            BodyError::Late(bound) => Self::new(
                StatusCode::REQUEST_TIMEOUT,
                format!("the request body did not arrive within {} s, send it again", bound.as_secs_f64()),
            ),
            BodyError::Broken(cause) => Self::bad_request(format!("the request body could not be read: {cause}")),
        }
    }
}

/// Reads a structure from a JSON object; the error is half a sentence. Of an array, serde would take the members for the fields in their
/// order, which no client means.
pub(super) fn object<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    let given = match bytes.trim_ascii_start().first() {
        None => "nothing",
        Some(b'[') => "an array",
        Some(b'"') => "a string",
        Some(b'{') => {
            let read = serde_json::from_slice(bytes);
            return read.map_err(|error| text::shortened(&error.to_string()).into_owned());
        }
        Some(_) => "something else",
    };
    Err(format!("a JSON object is wanted, {given} is given"))
}

/// Reads `body` whole: at most `bytes_max` bytes, within `time_max`.
pub(super) async fn read(body: Body, bytes_max: usize, time_max: Duration) -> Result<Vec<u8>, BodyError> {
    timeout(time_max, collect(body, bytes_max)).await.unwrap_or(Err(BodyError::Late(time_max)))
}

async fn collect(body: Body, bytes_max: usize) -> Result<Vec<u8>, BodyError> {
    // The client states this size; only up to our own bound is it believed.
    let stated = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if stated > bytes_max.saturating_add(DISCARD_BYTES_MAX) {
        return Err(BodyError::TooLarge);
    }
    let mut bytes = Vec::with_capacity(stated.min(bytes_max));
    let mut received: usize = 0;
    let mut frames = body.into_data_stream();
    while let Some(frame) = frames.next().await {
        let frame = frame.map_err(|error| BodyError::Broken(error.to_string()))?;
        received = received.saturating_add(frame.len());
        if received <= bytes_max {
            bytes.extend_from_slice(&frame);
        } else if received > bytes_max.saturating_add(DISCARD_BYTES_MAX) {
            break;
        }
    }
    if received > bytes_max { Err(BodyError::TooLarge) } else { Ok(bytes) }
}
