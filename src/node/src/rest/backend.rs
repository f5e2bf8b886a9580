//! What the REST API needs of the node behind it: one trait, and the values that cross it.

use futures::future::BoxFuture;
use levada_archive::{Page, Query};
use levada_net::{Census, Multiaddr};
use levada_stages::unix_ns;
use levada_wire::waku::message::Message;
use levada_wire::waku::topics::PubsubTopic;

use super::error::{NotSubscribed, PublishError, PushError, QueryError, TopicError};
use super::filter::FilterClient;
use crate::config::LogLevel;

/// The node as the REST API sees it.
///
/// Every method may be called from many requests at once. A future may be dropped before it ends, when its client goes
/// away or its time is over; the call must then have happened wholly or not at all.
pub trait Backend: Send + Sync + 'static {
    /// Publishes `message` on `pubsub_topic` (11/WAKU2-RELAY) as if it had been received: stamped, validated, archived,
    /// and sent to the mesh. It succeeds also when no peer was there to take it.
    ///
    /// # Errors
    /// See [`PublishError`]; each variant becomes one HTTP answer.
    fn publish(
        &self,
        pubsub_topic: PubsubTopic,
        message: PublishMessage,
    ) -> BoxFuture<'_, Result<Published, PublishError>>;

    /// Subscribes to all of `topics`, or to none of them. Subscribing twice is no error.
    ///
    /// # Errors
    /// [`TopicError::Invalid`] lists every topic that this node's network does not have.
    fn subscribe<'a>(&'a self, topics: &'a [Topic]) -> BoxFuture<'a, Result<(), TopicError>>;

    /// Ends the subscriptions to all of `topics`, or to none of them. Ending one that does not exist is no error.
    ///
    /// # Errors
    /// As [`Backend::subscribe`].
    fn unsubscribe<'a>(&'a self, topics: &'a [Topic]) -> BoxFuture<'a, Result<(), TopicError>>;

    /// Takes the cached messages of `topic` out of the REST cache, oldest first.
    ///
    /// # Errors
    /// [`NotSubscribed`] when no subscription covers `topic`.
    fn take_messages(&self, topic: &Topic) -> Result<Vec<CachedMessage>, NotSubscribed>;

    /// The pubsub topic of a content topic by autosharding (51/WAKU2-RELAY-SHARDING).
    ///
    /// # Errors
    /// [`TopicError::Invalid`] when the content topic does not parse; [`TopicError::Unavailable`] on a network with
    /// static sharding.
    fn autoshard(&self, content_topic: &str) -> Result<PubsubTopic, TopicError>;

    /// Answers `query` from the node's own archive (13/WAKU2-STORE).
    ///
    /// # Errors
    /// See [`QueryError`]; each variant becomes one HTTP answer.
    fn query(&self, query: Query) -> BoxFuture<'_, Result<Page, QueryError>>;

    /// Answers `query` from the archive of the store node at `peer`, which is connected to first.
    ///
    /// # Errors
    /// See [`QueryError`].
    fn query_peer(&self, peer: Multiaddr, query: Query) -> BoxFuture<'_, Result<Page, QueryError>>;

    /// Has a lightpush service (19/WAKU2-LIGHTPUSH) publish `message`; gives to how many relay peers it went, which version 2 does not
    /// tell: 0 then. Without a topic it is found by the content topic.
    ///
    /// # Errors
    /// See [`PushError`].
    fn push(
        &self,
        version: LightpushVersion,
        pubsub_topic: Option<String>,
        message: PublishMessage,
    ) -> BoxFuture<'_, Result<u32, PushError>>;

    /// Filter's client side (12/WAKU2-FILTER).
    fn filter(&self) -> &dyn FilterClient;

    /// The health of the node and of each protocol, now.
    fn health(&self) -> BoxFuture<'_, Health>;

    /// What operators may do, if they may (`--rest-admin`).
    fn admin(&self) -> Option<&dyn Admin>;

    /// Where the node listens and how it names itself.
    fn info(&self) -> Info;
}

/// The node as its operators see it.
pub trait Admin: Send + Sync {
    /// Who is known and connected.
    fn census(&self) -> BoxFuture<'_, Census>;

    /// Whether the node relays.
    fn relays(&self) -> bool;

    /// Connects to a peer, which `address` names.
    ///
    /// # Errors
    /// Why there is no connection, in half a sentence.
    fn connect(&self, address: Multiaddr) -> BoxFuture<'_, Result<(), String>>;

    /// Who has subscribed by filter, and to what; `None` if filter is not served.
    fn filter_subscriptions(&self) -> Option<Vec<FilterSubscriber>>;

    /// Logs as much as `level` says from now on.
    ///
    /// # Errors
    /// Why it does not, in one sentence.
    fn set_log_level(&self, level: LogLevel) -> Result<(), String>;
}

/// A filter subscriber.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilterSubscriber {
    /// Its identity.
    pub peer_id: String,
    /// Pairs of a pubsub topic and a content topic.
    pub criteria: Vec<(String, String)>,
}

/// The version of lightpush that a client asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LightpushVersion {
    /// Version 2, of which REST calls itself v1.
    V2,
    /// Version 3.
    V3,
}

/// A topic that a REST client subscribes to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Topic {
    /// A pubsub topic: its messages are cached whatever their content topic is.
    Pubsub(PubsubTopic),
    /// A content topic, which parses: the node joins its shard by autosharding, and caches the messages of this very
    /// content topic.
    Content(String),
}

/// A message to publish, decoded from JSON: 14/WAKU2-MESSAGE before it has a wire form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishMessage {
    /// The payload; never empty.
    pub payload: Vec<u8>,
    /// The content topic; never empty, not parsed.
    pub content_topic: String,
    /// Which encryption the payload uses; 0 when the client gave none.
    pub version: u32,
    /// Nanoseconds since the epoch; `None` (the client gave 0 or nothing) asks the node to stamp the present time.
    pub timestamp_ns: Option<i64>,
    /// At most [`super::META_BYTES_MAX`] bytes of application metadata; `None` when the client gave none.
    pub meta: Option<Vec<u8>>,
    /// Whether archives must not keep the message.
    pub ephemeral: bool,
    /// The rate limit proof (17/WAKU2-RLN-RELAY), opaque; `None` when the client gave none.
    pub proof: Option<Vec<u8>>,
}

impl PublishMessage {
    /// The message as it is encoded. One without a time gets the present, so that its author knows its hash too.
    pub fn to_message(&self) -> Message<'_> {
        Message {
            payload: &self.payload,
            content_topic: &self.content_topic,
            version: self.version,
            timestamp: self.timestamp_ns.unwrap_or_else(unix_ns),
            meta: self.meta.as_deref().unwrap_or_default(),
            proof: self.proof.as_deref().unwrap_or_default(),
            ephemeral: self.ephemeral,
        }
    }
}

/// What the node knows of a message it has published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Published {
    /// The deterministic message hash (14/WAKU2-MESSAGE), by which the archive finds it.
    pub message_hash: [u8; 32],
}

/// A message that the relay received and the REST cache kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CachedMessage {
    /// The payload, which may be empty.
    pub payload: Vec<u8>,
    /// The content topic.
    pub content_topic: String,
    /// Which encryption the payload uses.
    pub version: u32,
    /// Nanoseconds since the epoch, by the sender's clock.
    pub timestamp_ns: i64,
    /// Application metadata; `None` when the message carries none.
    pub meta: Option<Vec<u8>>,
    /// Whether archives must not keep the message.
    pub ephemeral: bool,
    /// The rate limit proof, opaque; empty when the message carries none.
    pub proof: Vec<u8>,
}

/// Where the node listens and how it names itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Info {
    /// Multiaddresses that end in `/p2p/<peer id>`.
    pub listen_addresses: Vec<String>,
    /// The node record as `enr:…` text, or empty when the node has none.
    pub enr_uri: String,
}

/// The health of the node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// READY once the listeners and the archive are open, whether peers are there or not.
    pub node: HealthState,
    /// How well the node is joined to others.
    pub connection: ConnectionStatus,
    /// One entry per protocol the node knows, mounted or not.
    pub protocols: Vec<ProtocolHealth>,
}

/// The health of one protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProtocolHealth {
    /// The name that operators' dashboards look for: `Relay`, `Store`, `Filter`, `Lightpush`, …
    pub name: &'static str,
    /// Its state.
    pub state: HealthState,
    /// Why it is not ready, in one sentence.
    pub description: Option<String>,
}

/// A state in a health answer; its text is upper-case, as [`HealthState::as_str`] gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HealthState {
    /// Starting.
    Initializing,
    /// Serving, and still catching up with what it missed.
    Synchronizing,
    /// Serving.
    Ready,
    /// Mounted, but something it needs is missing.
    NotReady,
    /// Switched off by configuration, or not part of this node.
    NotMounted,
    /// Draining before the exit.
    ShuttingDown,
    /// Serving, but too slowly.
    EventLoopLagging,
}

impl HealthState {
    /// The text of the state in a health answer.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Initializing => "INITIALIZING",
            Self::Synchronizing => "SYNCHRONIZING",
            Self::Ready => "READY",
            Self::NotReady => "NOT_READY",
            Self::NotMounted => "NOT_MOUNTED",
            Self::ShuttingDown => "SHUTTING_DOWN",
            Self::EventLoopLagging => "EVENT_LOOP_LAGGING",
        }
    }
}

/// How well the node is joined to others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionStatus {
    /// No peer.
    Disconnected,
    /// Peers, but too few for every protocol or shard.
    PartiallyConnected,
    /// Enough peers for every protocol and shard.
    Connected,
}

impl ConnectionStatus {
    /// The text of the status in a health answer.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Disconnected => "Disconnected",
            Self::PartiallyConnected => "PartiallyConnected",
            Self::Connected => "Connected",
        }
    }
}
