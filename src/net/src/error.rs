//! What can go wrong in the network layer, and what to do about it.

use std::io;

use libp2p::Multiaddr;

/// Why the network could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NetError {
    /// A listener could not be opened: the port is taken, the address is not of this machine, or the user may not use it.
    #[error("cannot listen on {address}: {source}; free the port or choose another one with {flag}")]
    Listen {
        /// The address that was asked for.
        address: Multiaddr,
        /// The flag that changes it.
        flag: &'static str,
        /// What the system answered.
        source: io::Error,
    },
    /// A listener closed before it had an address.
    #[error("the listener for {flag} closed before it was open; choose another address with {flag}")]
    ListenerClosed {
        /// The flag that changes the listener.
        flag: &'static str,
    },
    /// A static peer has an address that cannot be dialled.
    #[error("static peer {address} cannot be dialled: {source} (--staticnode)")]
    StaticPeer {
        /// The address as it was given.
        address: Multiaddr,
        /// What is wrong with it.
        source: AddressError,
    },
    /// The largest message is outside of what the transport can carry.
    #[error("the largest message is {bytes} bytes but must be from {bytes_min} to {bytes_max}; change --max-msg-size")]
    MessageBytes {
        /// The size asked for.
        bytes: usize,
        /// The smallest size that is allowed.
        bytes_min: usize,
        /// The largest size that is allowed.
        bytes_max: usize,
    },
    /// The secure channel could not be set up from the node key.
    #[error("the node key cannot secure connections: {0}; give another one with --nodekey")]
    Noise(#[from] libp2p::noise::Error),
    /// The same, of our own transport.
    #[error("the node key cannot secure connections: {0}; give another one with --nodekey")]
    Transport(#[from] crate::TransportError),
    /// The system refused a thread that connections live on.
    #[error("the system refuses the threads of the network: {0}; ask for fewer with --net-workers")]
    Workers(#[source] io::Error),
    /// The secured WebSocket listener has no key or no certificate.
    #[error(transparent)]
    Tls(#[from] crate::TlsError),
    /// The relay router refused its parameters.
    #[error("the relay router refused its parameters: {reason}")]
    Relay {
        /// What the router said.
        reason: String,
    },
}

/// Why a text is not the address of a peer that this node can dial.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AddressError {
    /// Not a multiaddress at all.
    #[error("{text:?} is not a multiaddress ({reason}); write it like /ip4/192.0.2.1/tcp/60000/p2p/16Uiu2...")]
    Syntax {
        /// The text as it was given.
        text: String,
        /// What the parser said.
        reason: String,
    },
    /// A multiaddress, of a transport that this node does not have.
    #[error(
        "{address} names no supported transport; use /ip4, /ip6 or /dns4 with /tcp, and /ws or /wss if the peer has it"
    )]
    Transport {
        /// The address as it was given.
        address: Multiaddr,
    },
}

/// Why a text is not a node key. No variant holds or prints any part of the secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NodeKeyError {
    /// The text has the wrong length.
    #[error("the node key has {0} characters but must have 64 hexadecimal digits (--nodekey)")]
    Length(usize),
    /// A character is not a hexadecimal digit.
    #[error("the node key has a character that is not a hexadecimal digit at position {0} (--nodekey)")]
    Digit(usize),
    /// The number is zero or not below the order of the curve.
    #[error("the node key is not a valid secp256k1 secret: it is zero or too large (--nodekey)")]
    Range,
}

/// Why a message was not published. None is fatal for the node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PublishError {
    /// No connected peer has subscribed to the topic.
    #[error("no connected peer has subscribed to the topic")]
    NoPeers,
    /// A message with this id was published or received within the last 120 seconds.
    #[error("the message was published or received before")]
    Duplicate,
    /// The message is larger than the network allows.
    #[error("the message has {bytes} bytes but at most {bytes_max} are allowed; make the payload smaller")]
    TooLarge {
        /// The size of the message.
        bytes: usize,
        /// The limit: `--max-msg-size`, or what of it the frame around the message leaves.
        bytes_max: usize,
    },
    /// The send queue of every subscribed peer is full. The message stays in the router's cache and is offered again as gossip, so
    /// a second attempt gives [`PublishError::Duplicate`].
    #[error("the send queue of every subscribed peer is full; publish more slowly")]
    QueueFull,
    /// The node was started without relay.
    #[error("relay is off on this node; start it with --relay=true")]
    RelayOff,
    /// The network task has ended.
    #[error("the network has stopped")]
    Stopped,
}

/// Why a subscription was not made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SubscribeError {
    /// The topic is not a shard of this node's cluster, so no peer could be in it.
    #[error(
        "the pubsub topic {topic:?} is not of cluster {cluster}; write it as /waku/2/rs/{cluster}/0 or change --cluster-id"
    )]
    OtherCluster {
        /// The pubsub topic.
        topic: String,
        /// The cluster of this node.
        cluster: u16,
    },
    /// The router refused the topic.
    #[error("the router refused the topic {topic:?}: {reason}")]
    Refused {
        /// The pubsub topic.
        topic: String,
        /// What the router said.
        reason: String,
    },
    /// The node was started without relay.
    #[error("relay is off on this node; start it with --relay=true")]
    RelayOff,
    /// The network task has ended.
    #[error("the network has stopped")]
    Stopped,
}

/// Why a verdict was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// The network task has ended.
    #[error("the network has stopped")]
    Stopped,
}
