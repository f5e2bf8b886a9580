//! The filter routes: subscribe at a filter node, and take what it pushed.
//!
//! As with nwaku, every answer but the messages is a JSON object of the request's id and a text, whatever the status.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post, put};
use futures::future::BoxFuture;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use super::Api;
use super::backend::CachedMessage;
use super::body;
use super::error::{NotSubscribed, Refusal};
use super::message::Outgoing;
use super::table::{Answer, Method, Operation, Route, in_json, in_text};
use super::text;

/// The largest request, in bytes of JSON: a thousand content topics.
const REQUEST_BYTES_MAX: usize = 256 * 1024;

/// How long the filter node may take, as with nwaku.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(5);

/// The id of a request that cannot be read.
const REQUEST_ID_UNREAD: &str = "unknown";

/// What the filter routes need of the node behind them: filter's client side (12/WAKU2-FILTER).
///
/// A future may be dropped before it ends; what it began then goes on.
pub trait FilterClient: Send + Sync {
    /// Subscribes to content topics, on the pubsub topic given or on those that they shard to, for as long as the node runs: with the
    /// filter node that is there now, and with another when it is lost.
    fn subscribe(
        &self,
        pubsub_topic: Option<String>,
        content_topics: Vec<String>,
    ) -> BoxFuture<'static, Result<(), FilterRefusal>>;

    /// Ends such subscriptions.
    fn unsubscribe(
        &self,
        pubsub_topic: Option<String>,
        content_topics: Vec<String>,
    ) -> BoxFuture<'static, Result<(), FilterRefusal>>;

    /// Ends all of them.
    fn unsubscribe_all(&self) -> BoxFuture<'static, Result<(), FilterRefusal>>;

    /// Asks the filter node whether this node is subscribed.
    fn ping(&self) -> BoxFuture<'static, Result<(), FilterRefusal>>;

    /// Takes the messages of a content topic out of the cache, oldest first, of one pubsub topic or of all.
    ///
    /// # Errors
    /// [`NotSubscribed`].
    fn take(&self, pubsub_topic: Option<&str>, content_topic: &str) -> Result<Vec<CachedMessage>, NotSubscribed>;
}

/// Why the filter node, or this one, did not do what was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilterRefusal {
    /// The status of the HTTP answer.
    pub status: u16,
    /// The reason: the filter node's own text, or `KIND: reason` as nwaku words it.
    pub text: String,
}

impl FilterRefusal {
    /// The request is wrong in itself.
    pub fn bad_request(reason: impl std::fmt::Display) -> Self {
        Self { status: 400, text: format!("BAD_REQUEST: {reason}") }
    }

    /// It cannot be done now.
    pub fn unavailable(reason: impl std::fmt::Display) -> Self {
        Self { status: 503, text: format!("SERVICE_UNAVAILABLE: {reason}") }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Criteria {
    request_id: String,
    content_filters: Vec<String>,
    pubsub_topic: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct All {
    request_id: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Told<'a> {
    request_id: &'a str,
    status_desc: &'a str,
}

/// What the filter node, or this one, answers.
const TOLD: &[Answer] = &[
    in_json(200, "FilterAnswer", "OK."),
    in_json(400, "FilterAnswer", "The request is wrong; the text says what about it."),
    in_json(404, "FilterAnswer", "The filter node knows no such subscription."),
    in_text(408, "The body did not arrive in time."),
    in_text(413, "The request is too large."),
    in_json(429, "FilterAnswer", "The filter node has had too many requests."),
    in_json(500, "FilterAnswer", "The filter node's answer is none."),
    in_json(503, "FilterAnswer", "No filter node is there, it is full, or it did not answer in time."),
    in_json(504, "FilterAnswer", "The filter node could not be reached."),
];

/// What a ping gives, which has no body.
const PINGED: &[Answer] = &[
    in_json(200, "FilterAnswer", "There is a subscription."),
    in_text(400, "The request id is not UTF-8 when percent-decoded."),
    in_json(404, "FilterAnswer", "The filter node knows no subscription."),
    in_json(429, "FilterAnswer", "The filter node has had too many requests."),
    in_json(500, "FilterAnswer", "The filter node's answer is none."),
    in_json(503, "FilterAnswer", "No filter node is there, or it did not answer in time."),
    in_json(504, "FilterAnswer", "The filter node could not be reached."),
];

/// What the cache gives.
const TAKEN: &[Answer] = &[
    in_json(200, "Messages", "The messages since the last request, oldest first; they leave the cache."),
    in_text(400, "Nobody has subscribed to the topic."),
];

pub(super) const ROUTES: &[Route] = &[
    Route {
        path: "/filter/v2/subscriptions",
        operations: &[
            Operation {
                method: Method::Post,
                summary: "Has a filter node push the messages of content topics to this one, and keeps that up.",
                mount: || post(subscribe),
                body: Some("FilterRequest"),
                answers: TOLD,
                ..Operation::PLAIN
            },
            Operation {
                method: Method::Put,
                summary: "Adds content topics; the same as POST.",
                mount: || put(subscribe),
                body: Some("FilterRequest"),
                answers: TOLD,
                ..Operation::PLAIN
            },
            Operation {
                method: Method::Delete,
                summary: "Ends the subscriptions to content topics.",
                mount: || delete(unsubscribe),
                body: Some("FilterRequest"),
                answers: TOLD,
                ..Operation::PLAIN
            },
        ],
    },
    Route {
        path: "/filter/v2/subscriptions/all",
        operations: &[Operation {
            method: Method::Delete,
            summary: "Ends all subscriptions.",
            mount: || delete(unsubscribe_all),
            body: Some("FilterAllRequest"),
            answers: TOLD,
            ..Operation::PLAIN
        }],
    },
    Route {
        path: "/filter/v2/subscriptions/{requestId}",
        operations: &[Operation {
            summary: "Asks the filter node whether this one is subscribed.",
            mount: || get(ping),
            answers: PINGED,
            ..Operation::PLAIN
        }],
    },
    Route {
        path: "/filter/v2/messages/{contentTopic}",
        operations: &[Operation {
            summary: "Takes the messages of a content topic out of the cache.",
            mount: || get(take),
            answers: TAKEN,
            drains: true,
            ..Operation::PLAIN
        }],
    },
    Route {
        path: "/filter/v2/messages/{pubsubTopic}/{contentTopic}",
        operations: &[Operation {
            summary: "Takes the messages of a content topic on one pubsub topic out of the cache.",
            mount: || get(take_on),
            answers: TAKEN,
            drains: true,
            ..Operation::PLAIN
        }],
    },
];

type Shared = State<Arc<Api>>;

/// POST, PUT /filter/v2/subscriptions
pub(super) async fn subscribe(State(api): Shared, body: Body) -> Response {
    let Criteria { request_id, content_filters, pubsub_topic } = match request::<Criteria>(&api, body).await {
        Ok(criteria) => criteria,
        Err(refusal) => return refusal,
    };
    let asked = api.backend.filter().subscribe(pubsub_topic, content_filters);
    answer(&request_id, in_time(asked, "Subscription request timed out").await)
}

/// DELETE /filter/v2/subscriptions
pub(super) async fn unsubscribe(State(api): Shared, body: Body) -> Response {
    let Criteria { request_id, content_filters, pubsub_topic } = match request::<Criteria>(&api, body).await {
        Ok(criteria) => criteria,
        Err(refusal) => return refusal,
    };
    let asked = api.backend.filter().unsubscribe(pubsub_topic, content_filters);
    answer(&request_id, in_time(asked, "Failed to unsubscribe from contentFilters due to timeout!").await)
}

/// DELETE /filter/v2/subscriptions/all
pub(super) async fn unsubscribe_all(State(api): Shared, body: Body) -> Response {
    let All { request_id } = match request::<All>(&api, body).await {
        Ok(all) => all,
        Err(refusal) => return refusal,
    };
    let asked = api.backend.filter().unsubscribe_all();
    answer(&request_id, in_time(asked, "Failed to unsubscribe from all contentFilters due to timeout!").await)
}

/// GET /filter/v2/subscriptions/{requestId}
pub(super) async fn ping(State(api): Shared, path: Result<Path<String>, PathRejection>) -> Result<Response, Refusal> {
    let Path(request_id) = path.map_err(|_| Refusal::bad_request("the request id in the path is not UTF-8"))?;
    let asked = api.backend.filter().ping();
    Ok(answer(&request_id, in_time(asked, "Ping timed out").await))
}

/// GET /filter/v2/messages/{contentTopic}
pub(super) async fn take(State(api): Shared, path: Result<Path<String>, PathRejection>) -> Result<Response, Refusal> {
    let Path(content_topic) = path.map_err(|_| wrong_path())?;
    messages(&api, None, &content_topic)
}

/// GET /filter/v2/messages/{pubsubTopic}/{contentTopic}
pub(super) async fn take_on(
    State(api): Shared,
    path: Result<Path<(String, String)>, PathRejection>,
) -> Result<Response, Refusal> {
    let Path((pubsub_topic, content_topic)) = path.map_err(|_| wrong_path())?;
    messages(&api, Some(&pubsub_topic), &content_topic)
}

fn wrong_path() -> Refusal {
    Refusal::bad_request("the topic in the path is not UTF-8 when percent-decoded")
}

fn messages(api: &Api, pubsub_topic: Option<&str>, content_topic: &str) -> Result<Response, Refusal> {
    let taken = api.backend.filter().take(pubsub_topic, content_topic);
    let messages = taken.map_err(|NotSubscribed| {
        Refusal::bad_request(format!("Not subscribed to topic: {}", text::shortened(content_topic)))
    })?;
    Ok(Json(messages.iter().map(Outgoing::from).collect::<Vec<_>>()).into_response())
}

async fn request<T: DeserializeOwned>(api: &Api, body: Body) -> Result<T, Response> {
    let bytes = body::read(body, REQUEST_BYTES_MAX, api.options.limits.body_time_max).await;
    let bytes = bytes.map_err(|error| Refusal::from(error).into_response())?;
    body::object(&bytes).map_err(|cause| {
        let reason = format!("Failed to decode request: {cause}");
        answer(REQUEST_ID_UNREAD, Err(FilterRefusal::bad_request(reason)))
    })
}

async fn in_time(asked: BoxFuture<'static, Result<(), FilterRefusal>>, late: &str) -> Result<(), FilterRefusal> {
    timeout(ANSWER_TIME_MAX, asked).await.unwrap_or_else(|_| Err(FilterRefusal::unavailable(late)))
}

fn answer(request_id: &str, outcome: Result<(), FilterRefusal>) -> Response {
    let (status, text) = match outcome {
        Ok(()) => (StatusCode::OK, "OK".to_owned()),
        Err(refusal) => {
            (StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), refusal.text)
        }
    };
    (status, Json(Told { request_id, status_desc: &text })).into_response()
}
