//! The relay routes: subscribe to topics, publish messages, and take what the REST cache kept.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post};
use levada_wire::hash::Hex;
use levada_wire::waku::topics::{ContentTopic, PubsubTopic};
use tokio::time::timeout;

use super::Api;
use super::backend::{PublishMessage, Topic};
use super::body::{self, BodyError};
use super::error::{NotSubscribed, PublishError, Refusal, TopicError};
use super::message::{self, Outgoing};
use super::table::{Answer, Method, Operation, Route, in_json, in_text};
use super::text;

/// The largest list of topics in a request, in bytes of JSON.
const TOPICS_BYTES_MAX: usize = 64 * 1024;

/// How long a publish may take inside the node before its client is told that it timed out.
const PUBLISH_TIME_MAX: Duration = Duration::from_secs(5);

/// What subscribing and unsubscribing give.
const CHANGED: &[Answer] = &[
    in_text(200, "OK."),
    in_text(400, "The body is no list of topics, or the network does not have some of them, which the text lists."),
    in_text(408, "The body did not arrive in time."),
    in_text(413, "The list is too large."),
    in_text(503, "The node is shutting down."),
];

/// What publishing gives.
const PUBLISHED: &[Answer] = &[
    in_text(200, "OK. The message is stored, if it is to be, and sent to whoever is there, which may be nobody."),
    in_text(400, "The message is not valid, or the node is not subscribed to its topic."),
    in_text(408, "The body did not arrive in time."),
    in_text(413, "The message is larger than --max-msg-size."),
    in_text(500, "It is not known within 5 s what became of the message."),
    in_text(503, "The node is busy or shutting down."),
];

/// What the cache gives.
const TAKEN: &[Answer] = &[
    in_json(200, "Messages", "The messages since the last request, oldest first; they leave the cache."),
    in_text(400, "The topic is not UTF-8 when percent-decoded."),
    in_text(404, "Nobody has subscribed to the topic."),
];

pub(super) const ROUTES: &[Route] = &[
    Route {
        path: "/relay/v1/subscriptions",
        operations: &[
            Operation {
                method: Method::Post,
                summary: "Subscribes to pubsub topics, to all or to none.",
                mount: || post(subscribe),
                body: Some("Topics"),
                answers: CHANGED,
                ..Operation::PLAIN
            },
            Operation {
                method: Method::Delete,
                summary: "Ends subscriptions to pubsub topics.",
                mount: || delete(unsubscribe),
                body: Some("Topics"),
                answers: CHANGED,
                ..Operation::PLAIN
            },
        ],
    },
    Route {
        path: "/relay/v1/messages/{pubsubTopic}",
        operations: &[
            Operation {
                summary: "Takes the messages of a pubsub topic out of the cache.",
                mount: || get(take),
                answers: TAKEN,
                drains: true,
                ..Operation::PLAIN
            },
            Operation {
                method: Method::Post,
                summary: "Publishes a message on a pubsub topic.",
                mount: || post(publish),
                body: Some("Message"),
                answers: PUBLISHED,
                ..Operation::PLAIN
            },
        ],
    },
    Route {
        path: "/relay/v1/auto/subscriptions",
        operations: &[
            Operation {
                method: Method::Post,
                summary: "Subscribes to content topics, whose shards are found by autosharding.",
                mount: || post(auto_subscribe),
                body: Some("Topics"),
                answers: CHANGED,
                ..Operation::PLAIN
            },
            Operation {
                method: Method::Delete,
                summary: "Ends subscriptions to content topics.",
                mount: || delete(auto_unsubscribe),
                body: Some("Topics"),
                answers: CHANGED,
                ..Operation::PLAIN
            },
        ],
    },
    Route {
        path: "/relay/v1/auto/messages",
        operations: &[Operation {
            method: Method::Post,
            summary: "Publishes a message on the shard of its content topic.",
            mount: || post(auto_publish),
            body: Some("Message"),
            answers: PUBLISHED,
            ..Operation::PLAIN
        }],
    },
    Route {
        path: "/relay/v1/auto/messages/{contentTopic}",
        operations: &[Operation {
            summary: "Takes the messages of a content topic out of the cache.",
            mount: || get(auto_take),
            answers: TAKEN,
            drains: true,
            ..Operation::PLAIN
        }],
    },
];

type Shared = State<Arc<Api>>;
type TopicPath = Result<Path<String>, PathRejection>;

/// POST /relay/v1/subscriptions
async fn subscribe(State(api): Shared, body: Body) -> Result<&'static str, Refusal> {
    let topics = topics(&api, body, "pubsub", pubsub).await?;
    api.backend.subscribe(&topics).await.map_err(|error| refuse_topics("pubsub", error))?;
    Ok("OK")
}

/// DELETE /relay/v1/subscriptions
async fn unsubscribe(State(api): Shared, body: Body) -> Result<&'static str, Refusal> {
    let topics = topics(&api, body, "pubsub", pubsub).await?;
    api.backend.unsubscribe(&topics).await.map_err(|error| refuse_topics("pubsub", error))?;
    Ok("OK")
}

/// POST /relay/v1/auto/subscriptions
async fn auto_subscribe(State(api): Shared, body: Body) -> Result<&'static str, Refusal> {
    let topics = topics(&api, body, "content", content).await?;
    api.backend.subscribe(&topics).await.map_err(|error| refuse_topics("content", error))?;
    Ok("OK")
}

/// DELETE /relay/v1/auto/subscriptions
async fn auto_unsubscribe(State(api): Shared, body: Body) -> Result<&'static str, Refusal> {
    let topics = topics(&api, body, "content", content).await?;
    api.backend.unsubscribe(&topics).await.map_err(|error| refuse_topics("content", error))?;
    Ok("OK")
}

/// POST /relay/v1/messages/{pubsubTopic}
async fn publish(State(api): Shared, topic: TopicPath, body: Body) -> Result<&'static str, Refusal> {
    let name = path(topic)?;
    let message = incoming(&api, body).await?;
    // A name that no node can subscribe to is answered as one that this node has not subscribed to.
    let topic = PubsubTopic::parse(&name)
        .map_err(|_| PublishError::NotSubscribed { topic: text::shortened(&name).into_owned() })?;
    publish_on(&api, topic, message).await
}

/// POST /relay/v1/auto/messages
async fn auto_publish(State(api): Shared, body: Body) -> Result<&'static str, Refusal> {
    let message = incoming(&api, body).await?;
    let topic = api.backend.autoshard(&message.content_topic).map_err(|error| refuse_topics("content", error))?;
    publish_on(&api, topic, message).await
}

/// GET /relay/v1/messages/{pubsubTopic}
async fn take(State(api): Shared, topic: TopicPath) -> Result<Response, Refusal> {
    take_of(&api, &path(topic)?, pubsub)
}

/// GET /relay/v1/auto/messages/{contentTopic}
async fn auto_take(State(api): Shared, topic: TopicPath) -> Result<Response, Refusal> {
    take_of(&api, &path(topic)?, content)
}

fn pubsub(name: &str) -> Option<Topic> {
    PubsubTopic::parse(name).ok().map(Topic::Pubsub)
}

fn content(name: &str) -> Option<Topic> {
    ContentTopic::parse(name).ok().map(|_| Topic::Content(name.to_owned()))
}

async fn publish_on(api: &Api, topic: PubsubTopic, message: PublishMessage) -> Result<&'static str, Refusal> {
    let published =
        timeout(PUBLISH_TIME_MAX, api.backend.publish(topic, message)).await.unwrap_or(Err(PublishError::Timeout))?;
    tracing::debug!(%topic, message_hash = %Hex(&published.message_hash), "published for a REST client");
    Ok("OK")
}

fn take_of(api: &Api, name: &str, parse: fn(&str) -> Option<Topic>) -> Result<Response, Refusal> {
    let taken = parse(name).ok_or(NotSubscribed).and_then(|topic| api.backend.take_messages(&topic));
    let messages = taken.map_err(|NotSubscribed| {
        let shown = text::shortened(name);
        Refusal::new(StatusCode::NOT_FOUND, format!("Not subscribed to topic: {shown}"))
    })?;
    Ok(Json(messages.iter().map(Outgoing::from).collect::<Vec<_>>()).into_response())
}

/// The topic in a path, percent-decoded.
fn path(topic: TopicPath) -> Result<String, Refusal> {
    match topic {
        Ok(Path(topic)) => Ok(topic),
        Err(_) => Err(Refusal::bad_request("the topic in the path is not UTF-8 when percent-decoded")),
    }
}

async fn incoming(api: &Api, body: Body) -> Result<PublishMessage, Refusal> {
    let limit_bytes = api.options.message_bytes_max;
    let bytes = body::read(body, message::body_bytes_max(limit_bytes), api.options.limits.body_time_max);
    let bytes = bytes.await.map_err(|error| match error {
        BodyError::TooLarge => {
            let text = format!("Failed to publish: {}", PublishError::TooLarge { limit_bytes });
            Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, text)
        }
        other => other.into(),
    })?;
    message::parse(&bytes).map_err(|cause| Refusal::bad_request(format!("the message body is not valid: {cause}")))
}

/// Reads a JSON array of topics; those that do not parse are refused together, so that a client mends them at once.
async fn topics(api: &Api, body: Body, kind: &str, parse: fn(&str) -> Option<Topic>) -> Result<Vec<Topic>, Refusal> {
    let bytes = body::read(body, TOPICS_BYTES_MAX, api.options.limits.body_time_max).await?;
    let names: Vec<Cow<'_, str>> = serde_json::from_slice(&bytes).map_err(|error| {
        let cause = error.to_string();
        let shown = text::shortened(&cause);
        Refusal::bad_request(format!("the body is not a JSON array of {kind} topics: {shown}"))
    })?;
    let mut topics = Vec::with_capacity(names.len());
    let mut invalid = Vec::new();
    for name in names {
        match parse(&name) {
            Some(topic) => topics.push(topic),
            None => invalid.push(name.into_owned()),
        }
    }
    if invalid.is_empty() { Ok(topics) } else { Err(refuse_topics(kind, TopicError::Invalid { topics: invalid })) }
}

fn refuse_topics(kind: &str, error: TopicError) -> Refusal {
    match error {
        TopicError::Invalid { .. } => {
            let topics = error.to_string();
            Refusal::bad_request(format!("Invalid {kind} topic(s): {}", text::shortened(&topics)))
        }
        TopicError::Unavailable(cause) => Refusal::bad_request(cause),
        TopicError::ShuttingDown => Refusal::new(StatusCode::SERVICE_UNAVAILABLE, error.to_string()),
    }
}
