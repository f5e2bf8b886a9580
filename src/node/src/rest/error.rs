//! What can go wrong: at the start of a server, at the backend, and in a request.

use std::io;
use std::net::SocketAddr;

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use levada_archive::ArchiveError;
use thiserror::Error;

/// Why an HTTP server of the node (REST or metrics) did not start.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The address cannot be listened on.
    #[error("the {service} server cannot listen on {address}, {source}: {} ({flag})", advice(.source.kind()))]
    Bind {
        /// Which server: `REST` or `metrics`.
        service: &'static str,
        /// The address and port asked for.
        address: SocketAddr,
        /// The flags that set them.
        flag: &'static str,
        /// What the operating system said.
        source: io::Error,
    },
}

/// What the user can do about a failed bind.
fn advice(kind: io::ErrorKind) -> &'static str {
    match kind {
        io::ErrorKind::AddrInUse => "stop the program that has the port or choose another",
        io::ErrorKind::AddrNotAvailable => "choose an address that an interface of this machine has",
        io::ErrorKind::PermissionDenied => "choose a port above 1023 or grant the right to bind it",
        _ => "choose another address or port",
    }
}

/// Why a message was not published.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PublishError {
    /// The node takes no part in the pubsub topic.
    #[error("Node not subscribed to topic: {topic}")]
    NotSubscribed {
        /// The topic as the client gave it.
        topic: String,
    },
    /// The encoded message is larger than the node relays.
    #[error("Message size exceeded maximum of {limit_bytes} bytes")]
    TooLarge {
        /// The largest encoded message, in bytes (`--max-msg-size`).
        limit_bytes: usize,
    },
    /// A validator refused the message; the text is the validator's.
    #[error("{0}")]
    Invalid(String),
    /// The node did not finish in time; whether the message left is not known.
    #[error("timedout")]
    Timeout,
    /// The queue into the node is full.
    #[error("the node is busy, try again later")]
    Busy,
    /// No buffer of the size that the message needs is free.
    #[error("all message buffers are in use, try again later")]
    ArenaFull,
    /// The node is draining before its exit.
    #[error("the node is shutting down")]
    ShuttingDown,
}

/// Why a lightpush service did not publish a message.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PushError {
    /// There is none.
    #[error(
        "No suitable service peer & none discovered; start the node with --lightpushnode=ADDRESS, or with relay to serve itself"
    )]
    NoService,
    /// It did not answer in time.
    #[error("Push request timed out")]
    TimedOut,
    /// It cannot be reached, or understood; the text says why.
    #[error("{0}")]
    Failed(String),
    /// It refused.
    #[error("{text}")]
    Refused {
        /// Its status, one of 19/WAKU2-LIGHTPUSH; version 2 of the protocol has none, and it is 500.
        code: u32,
        /// Its reason.
        text: String,
    },
}

/// Why topics were not subscribed to, left, or mapped to a shard.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TopicError {
    /// Some topics do not parse, or this node's network does not have them.
    #[error("{}", .topics.join(", "))]
    Invalid {
        /// The offending topics, as the client gave them.
        topics: Vec<String>,
    },
    /// The node cannot do this at all; the text says why and what would change that.
    #[error("{0}")]
    Unavailable(String),
    /// The node is draining before its exit.
    #[error("the node is shutting down")]
    ShuttingDown,
}

/// No subscription covers the topic that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("not subscribed")]
pub struct NotSubscribed;

/// Why a store query was not answered.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum QueryError {
    /// The query itself is at fault, for example its cursor names no message; the text says which part.
    #[error("{0}")]
    Invalid(String),
    /// The node keeps no archive (`--store=false`), and knows no peer that serves one.
    #[error(
        "No suitable service peer & none discovered; this node keeps no archive, start it with --store=true or --storenode, or name a \
         store node by peerAddr"
    )]
    NotMounted,
    /// The archive failed; the text is the archive's.
    #[error("{0}")]
    Archive(String),
    /// A store node cannot be reached, or understood; the text says why.
    #[error("{0}")]
    Peer(String),
    /// A store node has not answered in time.
    #[error("No history response received (timeout)")]
    NoAnswer,
    /// A store node refused.
    #[error("the store node refuses with status {code}: {text}")]
    Refused {
        /// Its status, one of 13/WAKU2-STORE.
        code: u32,
        /// Its reason.
        text: String,
    },
    /// A store node has had too many requests.
    #[error("Request rate limit reached")]
    TooManyRequests,
    /// The archive is busy, its database is away, or the node is draining.
    #[error("the archive is busy, try again later")]
    Busy,
}

impl From<ArchiveError> for QueryError {
    fn from(error: ArchiveError) -> Self {
        match error {
            ArchiveError::CursorNotFound
            | ArchiveError::TooManyHashes { .. }
            | ArchiveError::TooManyContentTopics { .. }
            | ArchiveError::TopicTooLong { .. } => Self::Invalid(error.to_string()),
            ArchiveError::Busy { .. } | ArchiveError::Database { .. } => Self::Busy,
            _ => Self::Archive(error.to_string()),
        }
    }
}

/// An HTTP answer that refuses a request: a status and one sentence, as text/plain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    status: StatusCode,
    text: String,
}

impl Refusal {
    /// A refusal with `status` that says `text`.
    pub(super) fn new(status: StatusCode, text: impl Into<String>) -> Self {
        Self { status, text: text.into() }
    }

    pub(super) fn status(&self) -> StatusCode {
        self.status
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// A refusal of a request that is wrong in itself.
    pub(super) fn bad_request(text: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, text)
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        (self.status, self.text).into_response()
    }
}

impl From<PublishError> for Refusal {
    fn from(error: PublishError) -> Self {
        let status = match error {
            PublishError::NotSubscribed { .. } | PublishError::TooLarge { .. } | PublishError::Invalid(_) => {
                StatusCode::BAD_REQUEST
            }
            // 500 and the one word are what clients of this API match on; 504 would be the plainer choice.
            PublishError::Timeout => StatusCode::INTERNAL_SERVER_ERROR,
            PublishError::Busy | PublishError::ArenaFull | PublishError::ShuttingDown => {
                StatusCode::SERVICE_UNAVAILABLE
            }
        };
        Self::new(status, format!("Failed to publish: {error}"))
    }
}

impl From<QueryError> for Refusal {
    fn from(error: QueryError) -> Self {
        let status = match error {
            QueryError::Invalid(_) => StatusCode::BAD_REQUEST,
            QueryError::NotMounted => StatusCode::PRECONDITION_FAILED,
            QueryError::TooManyRequests => StatusCode::TOO_MANY_REQUESTS,
            QueryError::Archive(_) | QueryError::Peer(_) | QueryError::NoAnswer | QueryError::Refused { .. } => {
                StatusCode::INTERNAL_SERVER_ERROR
            }
            QueryError::Busy => StatusCode::SERVICE_UNAVAILABLE,
        };
        Self::new(status, format!("Failed to query the store: {error}"))
    }
}
