//! Why a message was not published, as each version says it.

use std::borrow::Cow;

use levada_wire::waku::lightpush::status;

/// What version 2 says of everything that goes wrong behind the validators.
const NOT_PUBLISHED: &str = "not_published_to_any_peer";

/// Why a message was not published.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PushFailure {
    /// The pubsub topic is empty.
    #[error("topic must not be empty")]
    EmptyTopic,
    /// There is no pubsub topic, and the network has static sharding.
    #[error("Pubsub topic must be specified when static sharding is enabled")]
    TopicMissing,
    /// There is no pubsub topic, and the content topic does not give one.
    #[error("Invalid content-topic: {0}")]
    ContentTopic(String),
    /// The node does not take part in the pubsub topic.
    #[error("this node does not relay the pubsub topic")]
    UnsupportedTopic,
    /// The message is no WakuMessage, or a validator refused it.
    #[error("{0}")]
    Invalid(String),
    /// The message is larger than `--max-msg-size`.
    #[error("Message size exceeded maximum of {bytes_max} bytes")]
    TooLarge {
        /// The limit.
        bytes_max: usize,
    },
    /// The message was published or relayed before.
    #[error("Dropping already-seen message")]
    Duplicate,
    /// No connected peer relays the topic.
    #[error("No peers for topic, skipping publish")]
    NoPeers,
    /// The node has no relay, is full, or goes down.
    #[error("{0}")]
    Unavailable(String),
}

impl PushFailure {
    /// The status of version 3.
    pub fn status_code(&self) -> u32 {
        match self {
            Self::EmptyTopic => status::BAD_REQUEST,
            Self::TopicMissing | Self::ContentTopic(_) | Self::Invalid(_) | Self::TooLarge { .. } | Self::Duplicate => {
                status::INVALID_MESSAGE
            }
            Self::UnsupportedTopic => status::UNSUPPORTED_PUBSUB_TOPIC,
            Self::NoPeers => status::NO_PEERS_TO_RELAY,
            Self::Unavailable(_) => status::SERVICE_NOT_AVAILABLE,
        }
    }

    /// The text of version 2. What a validator says is told; all that comes behind is one text, by which clients know to try another
    /// node.
    pub fn info(&self) -> Cow<'static, str> {
        match self {
            Self::Duplicate | Self::NoPeers | Self::UnsupportedTopic | Self::EmptyTopic => NOT_PUBLISHED.into(),
            other => other.to_string().into(),
        }
    }
}
