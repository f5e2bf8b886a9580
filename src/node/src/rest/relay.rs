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
use levada_wire::hash::Hex;
use levada_wire::waku::topics::{ContentTopic, PubsubTopic};
use tokio::time::timeout;

use super::Api;
use super::backend::{PublishMessage, Topic};
use super::body::{self, BodyError};
use super::error::{NotSubscribed, PublishError, Refusal, TopicError};
use super::message::{self, Outgoing};
use super::text;

/// The largest list of topics in a request, in bytes of JSON.
const TOPICS_BYTES_MAX: usize = 64 * 1024;

/// How long a publish may take inside the node before its client is told that it timed out.
const PUBLISH_TIME_MAX: Duration = Duration::from_secs(5);

type Shared = State<Arc<Api>>;
type TopicPath = Result<Path<String>, PathRejection>;

/// POST /relay/v1/subscriptions
pub(super) async fn subscribe(State(api): Shared, body: Body) -> Result<&'static str, Refusal> {
    let topics = topics(&api, body, "pubsub", pubsub).await?;
    api.backend.subscribe(&topics).await.map_err(|error| refuse_topics("pubsub", error))?;
    Ok("OK")
}

/// DELETE /relay/v1/subscriptions
pub(super) async fn unsubscribe(State(api): Shared, body: Body) -> Result<&'static str, Refusal> {
    let topics = topics(&api, body, "pubsub", pubsub).await?;
    api.backend.unsubscribe(&topics).await.map_err(|error| refuse_topics("pubsub", error))?;
    Ok("OK")
}

/// POST /relay/v1/auto/subscriptions
pub(super) async fn auto_subscribe(State(api): Shared, body: Body) -> Result<&'static str, Refusal> {
    let topics = topics(&api, body, "content", content).await?;
    api.backend.subscribe(&topics).await.map_err(|error| refuse_topics("content", error))?;
    Ok("OK")
}

/// DELETE /relay/v1/auto/subscriptions
pub(super) async fn auto_unsubscribe(State(api): Shared, body: Body) -> Result<&'static str, Refusal> {
    let topics = topics(&api, body, "content", content).await?;
    api.backend.unsubscribe(&topics).await.map_err(|error| refuse_topics("content", error))?;
    Ok("OK")
}

/// POST /relay/v1/messages/{pubsubTopic}
pub(super) async fn publish(State(api): Shared, topic: TopicPath, body: Body) -> Result<&'static str, Refusal> {
    let name = path(topic)?;
    let message = incoming(&api, body).await?;
    // A name that no node can subscribe to is answered as one that this node has not subscribed to.
    let topic = PubsubTopic::parse(&name)
        .map_err(|_| PublishError::NotSubscribed { topic: text::shortened(&name).into_owned() })?;
    publish_on(&api, topic, message).await
}

/// POST /relay/v1/auto/messages
pub(super) async fn auto_publish(State(api): Shared, body: Body) -> Result<&'static str, Refusal> {
    let message = incoming(&api, body).await?;
    let topic = api.backend.autoshard(&message.content_topic).map_err(|error| refuse_topics("content", error))?;
    publish_on(&api, topic, message).await
}

/// GET /relay/v1/messages/{pubsubTopic}
pub(super) async fn take(State(api): Shared, topic: TopicPath) -> Result<Response, Refusal> {
    take_of(&api, &path(topic)?, pubsub)
}

/// GET /relay/v1/auto/messages/{contentTopic}
pub(super) async fn auto_take(State(api): Shared, topic: TopicPath) -> Result<Response, Refusal> {
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
