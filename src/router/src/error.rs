//! Why the router refuses a call. No refusal changes its state unless it says so.

/// Parameters that contradict each other.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The degrees of the mesh are not in order.
    #[error("the mesh degrees must be in order: low {low} ≤ target {target} ≤ high {high}")]
    Degrees {
        /// D_lo.
        low: usize,
        /// D.
        target: usize,
        /// D_hi.
        high: usize,
    },
    /// Too many outbound peers are asked for (gossipsub 1.1: below D_lo and at most D/2).
    #[error("{outbound} outbound peers in a mesh are too many; they must be fewer than {low} and at most {half}")]
    Outbound {
        /// D_out.
        outbound: usize,
        /// D_lo.
        low: usize,
        /// D/2.
        half: usize,
    },
    /// More peers are kept by score than a mesh has.
    #[error("{score} peers cannot be kept by score in a mesh of {target}")]
    KeptByScore {
        /// D_score.
        score: usize,
        /// D.
        target: usize,
    },
    /// More windows are announced than kept.
    #[error("{gossip} windows of the message cache are to be announced but {history} are kept")]
    Windows {
        /// Announced.
        gossip: u64,
        /// Kept.
        history: u64,
    },
    /// The thresholds are not in order.
    #[error("the score thresholds must be in order: graylist < publish ≤ gossip < 0 ≤ accept-PX, opportunistic graft")]
    Thresholds,
    /// A factor is outside of 0 to 1.
    #[error("{name} is {value} but must be between 0 and 1")]
    Factor {
        /// Which one.
        name: &'static str,
        /// What it is.
        value: f64,
    },
    /// A weight has the wrong sign.
    #[error("the score weight {name} is {value}, of the wrong sign")]
    Weight {
        /// Which one.
        name: &'static str,
        /// What it is.
        value: f64,
    },
    /// A limit that cannot be zero is zero, or more than the router's indices can count.
    #[error("the limit {name} is {value} but must be from 1 to {value_max}")]
    Limit {
        /// Which one.
        name: &'static str,
        /// What it is.
        value: usize,
        /// The largest.
        value_max: usize,
    },
}

/// Why a peer was not taken in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// There is a connection to this peer already.
    #[error("the peer is connected already")]
    Connected,
    /// The table of peers is full.
    #[error("{peers_max} peers are connected, and more are not allowed")]
    Full {
        /// The limit.
        peers_max: usize,
    },
}

/// Why a topic was not joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JoinError {
    /// The name is too long.
    #[error("the topic's name has {bytes} bytes but at most {bytes_max} are allowed")]
    NameTooLong {
        /// Bytes of the name.
        bytes: usize,
        /// The limit.
        bytes_max: usize,
    },
    /// Too many topics are joined.
    #[error("{joined_max} topics are joined, and more are not allowed; leave one")]
    Full {
        /// The limit.
        joined_max: usize,
    },
}

/// Why a message was not published.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PublishError {
    /// Nobody is there to send it to: no connected peer has subscribed, or each one's score is below the publish threshold.
    #[error("no connected peer has subscribed to the topic")]
    NoPeers,
    /// It was published or received before.
    #[error("the message was published or received before")]
    Duplicate,
    /// The frame around it would be larger than peers read.
    #[error(
        "the message has {bytes} bytes but at most {bytes_max} fit a frame on this topic; make the payload smaller"
    )]
    TooLarge {
        /// Bytes of the message.
        bytes: u32,
        /// The limit for this topic.
        bytes_max: u32,
    },
}
