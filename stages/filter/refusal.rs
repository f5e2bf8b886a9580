//! Why a filter request was refused, in nwaku's words.

use levada_wire::waku::filter::{CONTENT_TOPICS_MAX, status};

use super::TOPIC_BYTES_MAX;

/// Why a request was refused. The text is that of the response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// To subscribe or unsubscribe, a pubsub topic and at least one content topic must be named.
    #[error("BAD_REQUEST: pubsubTopic and contentTopics must be specified")]
    Incomplete,
    /// More than [`CONTENT_TOPICS_MAX`] content topics at once.
    #[error("BAD_REQUEST: exceeds maximum content topics: {CONTENT_TOPICS_MAX}")]
    TooManyTopics,
    /// A topic of more than [`TOPIC_BYTES_MAX`] bytes, which nwaku would take.
    #[error("BAD_REQUEST: exceeds maximum topic length: {TOPIC_BYTES_MAX}")]
    TopicTooLong,
    /// The peer is not subscribed, or nobody is to one of the criteria that it unsubscribes from.
    #[error("NOT_FOUND: peer has no subscriptions")]
    NoSubscription,
    /// The peer would have too many criteria.
    #[error("SERVICE_UNAVAILABLE: peer has reached maximum number of filter criteria")]
    PeerFull,
    /// There are as many subscribers as may be.
    #[error("SERVICE_UNAVAILABLE: node has reached maximum number of subscriptions: {subscribers_max}")]
    NodeFull {
        /// The limit.
        subscribers_max: usize,
    },
    /// The criteria of all subscribers take all the memory that they may.
    #[error("SERVICE_UNAVAILABLE: node has reached maximum number of filter criteria")]
    CriteriaFull,
}

impl Refusal {
    /// The status code of the response.
    pub fn status(self) -> u32 {
        match self {
            Self::Incomplete | Self::TooManyTopics | Self::TopicTooLong => status::BAD_REQUEST,
            Self::NoSubscription => status::NOT_FOUND,
            Self::PeerFull | Self::NodeFull { .. } | Self::CriteriaFull => status::SERVICE_UNAVAILABLE,
        }
    }
}
