//! Why a node did not start, and the exit code for each reason (after `sysexits.h`).

use levada_archive::ArchiveError;
use levada_discovery::RecordError;
use levada_discovery::service::ServiceError;
use levada_engine::{ArenaError, TopologyError};
use levada_net::{AddressError, NetError, NodeKeyError};

use crate::config::EXIT_CONFIG;
use crate::rest::ServeError;

/// Something the node needs is not to be had: a port, a file, memory.
const EXIT_UNAVAILABLE: u8 = 69;

/// A start that failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The node key is no key of the curve.
    #[error("--nodekey: {0}")]
    NodeKey(#[from] NodeKeyError),
    /// An address of `--staticnode` cannot be dialled.
    #[error("--staticnode: {0}")]
    StaticNode(#[from] AddressError),
    /// The archive cannot be opened.
    #[error("{0}")]
    Archive(#[from] ArchiveError),
    /// The memory for messages is not to be had.
    #[error("--arena-bytes: {0}")]
    Arena(#[from] ArenaError),
    /// The workers cannot be started.
    #[error("{0}")]
    Topology(#[from] TopologyError),
    /// The network cannot be started.
    #[error("{0}")]
    Net(#[from] NetError),
    /// REST or metrics cannot be served.
    #[error("{0}")]
    Serve(#[from] ServeError),
    /// Discovery v5 cannot be started.
    #[error("{0}")]
    Discovery(#[from] ServiceError),
    /// The node's record, or one of `--discv5-bootstrap-node`.
    #[error("{0}")]
    Record(RecordError),
    /// The configured shards are more than a node can take part in.
    #[error("--shard: {shards} shards are more than the {shards_max} a node can take part in; configure fewer")]
    TooManyShards {
        /// Shards asked for.
        shards: usize,
        /// The limit.
        shards_max: usize,
    },
    /// An address to announce is none.
    #[error("an address to announce cannot be read: {0}; change --ext-multiaddr")]
    Announced(String),
    /// A shard could not be subscribed to.
    #[error("cannot subscribe to {topic}: {reason}")]
    Subscribe {
        /// The pubsub topic.
        topic: String,
        /// Why.
        reason: String,
    },
}

impl StartError {
    /// 78 for a wrong setting, 69 for something that is not to be had now.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Net(NetError::MessageBytes { .. } | NetError::StaticPeer { .. }) => EXIT_CONFIG,
            Self::NodeKey(_) | Self::StaticNode(_) | Self::TooManyShards { .. } => EXIT_CONFIG,
            _ => EXIT_UNAVAILABLE,
        }
    }
}
