//! The lightpush routes: a message is published by a lightpush service, another node's or this one's.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use super::Api;
use super::backend::{LightpushVersion, PublishMessage};
use super::body::{self, BodyError};
use super::error::{PublishError, PushError, Refusal};
use super::message::{self, Incoming};
use super::table::{Method, Operation, Route, in_json, in_text};

/// How long a service may take, as in nwaku.
const PUSH_TIME_MAX: Duration = Duration::from_secs(5);

/// Room for the pubsub topic and the names around the message, in bytes of JSON.
const REQUEST_BYTES: usize = 1_024;

/// nwaku's status of a message that was refused, which HTTP does not have.
const INVALID_MESSAGE: u32 = 420;

pub(super) const ROUTES: &[Route] = &[
    Route {
        path: "/lightpush/v1/message",
        operations: &[Operation {
            method: Method::Post,
            summary: "Has a lightpush service publish a message, by version 2 of the protocol.",
            mount: || post(push_v1),
            body: Some("PushRequest"),
            answers: &[
                in_text(200, "OK."),
                in_text(400, "The body is no request; the text names the field and the place."),
                in_text(408, "The body did not arrive in time."),
                in_text(413, "The message is larger than --max-msg-size."),
                in_text(429, "The service has had too many requests."),
                in_text(503, "No service is there, or it refused; the text says which and why."),
            ],
            ..Operation::PLAIN
        }],
    },
    Route {
        path: "/lightpush/v3/message",
        operations: &[Operation {
            method: Method::Post,
            summary: "Has a lightpush service publish a message, by version 3 of the protocol.",
            mount: || post(push_v3),
            body: Some("PushRequest"),
            answers: &[
                in_json(200, "PushAnswer", "The number of relay peers it was published to."),
                in_json(400, "PushAnswer", "The body is no request, or the message is not valid."),
                in_json(408, "PushAnswer", "The body did not arrive in time."),
                in_json(413, "PushAnswer", "The message is larger than --max-msg-size."),
                in_json(421, "PushAnswer", "The service does not take part in the pubsub topic."),
                in_json(429, "PushAnswer", "The service has had too many requests."),
                in_json(500, "PushAnswer", "The service failed."),
                in_json(503, "PushAnswer", "No service is there, or it cannot publish now."),
                in_json(504, "PushAnswer", "The service could make no rate-limit proof."),
                in_json(505, "PushAnswer", "The service has no relay peer for the topic."),
            ],
            ..Operation::PLAIN
        }],
    },
];

/// What a client posts. A repeated or unknown field is refused.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PushRequest {
    #[serde(default)]
    pubsub_topic: Option<String>,
    message: Incoming,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PushAnswer {
    #[serde(skip_serializing_if = "Option::is_none")]
    status_desc: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    relay_peer_count: Option<u32>,
}

/// POST /lightpush/v1/message
async fn push_v1(State(api): State<Arc<Api>>, body: Body) -> Result<&'static str, Refusal> {
    let (topic, message) = read(&api, body).await?;
    match push(&api, LightpushVersion::V2, topic, message).await {
        Ok(_) => Ok("OK"),
        Err(PushError::Refused { code: 429, .. }) => {
            Err(Refusal::new(StatusCode::TOO_MANY_REQUESTS, "Request rate limit reached"))
        }
        Err(error @ (PushError::NoService | PushError::TimedOut)) => {
            Err(Refusal::new(StatusCode::SERVICE_UNAVAILABLE, error.to_string()))
        }
        Err(error) => {
            let text = format!("Failed to request a message push: {error}");
            Err(Refusal::new(StatusCode::SERVICE_UNAVAILABLE, text))
        }
    }
}

/// POST /lightpush/v3/message
async fn push_v3(State(api): State<Arc<Api>>, body: Body) -> Response {
    let (topic, message) = match read(&api, body).await {
        Ok(request) => request,
        Err(refusal) => return described(refusal.status(), refusal.text()),
    };
    match push(&api, LightpushVersion::V3, topic, message).await {
        Ok(peers) => Json(PushAnswer { status_desc: None, relay_peer_count: Some(peers) }).into_response(),
        Err(error) => described(status_of(&error), &error.to_string()),
    }
}

fn described(status: StatusCode, text: &str) -> Response {
    (status, Json(PushAnswer { status_desc: Some(text.to_owned()), relay_peer_count: None })).into_response()
}

/// The codes of the protocol are HTTP's, but for one.
fn status_of(error: &PushError) -> StatusCode {
    match error {
        PushError::Refused { code: INVALID_MESSAGE, .. } => StatusCode::BAD_REQUEST,
        PushError::Refused { code, .. } => u16::try_from(*code)
            .ok()
            .and_then(|code| StatusCode::from_u16(code).ok())
            .filter(|status| status.is_client_error() || status.is_server_error())
            .unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
        PushError::NoService | PushError::TimedOut | PushError::Failed(_) => StatusCode::SERVICE_UNAVAILABLE,
    }
}

async fn push(
    api: &Api,
    version: LightpushVersion,
    pubsub_topic: Option<String>,
    message: PublishMessage,
) -> Result<u32, PushError> {
    timeout(PUSH_TIME_MAX, api.backend.push(version, pubsub_topic, message)).await.unwrap_or(Err(PushError::TimedOut))
}

async fn read(api: &Api, body: Body) -> Result<(Option<String>, PublishMessage), Refusal> {
    let limit_bytes = api.options.message_bytes_max;
    let bytes_max = message::body_bytes_max(limit_bytes) + REQUEST_BYTES;
    let bytes = body::read(body, bytes_max, api.options.limits.body_time_max).await.map_err(|error| match error {
        BodyError::TooLarge => {
            Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, PublishError::TooLarge { limit_bytes }.to_string())
        }
        other => other.into(),
    })?;
    let request: PushRequest =
        body::object(&bytes).map_err(|cause| Refusal::bad_request(format!("Invalid push request: {cause}")))?;
    Ok((request.pubsub_topic.filter(|topic| !topic.is_empty()), request.message.0))
}
