//! Nodes on loopback, for the tests beside.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(dead_code, reason = "each test file uses its part")]

pub mod raw;

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use levada_engine::{Arena, ArenaConfig, Held};
use levada_net::{
    Exchange, Inbound, Multiaddr, NetConfig, NetError, NetHandle, NetTask, NodeKey, PeerHandle, PeerId, PublishError,
    Refused, Verdict, start,
};
use levada_wire::waku::{TopicTable, WakuRecord};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

pub const TOPIC: &str = "/waku/2/rs/1/0";

/// Everything a test waits for comes long before this, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(90);

/// A message as a test looks at it.
#[derive(Debug)]
pub struct Message {
    pub topic: String,
    pub data: Vec<u8>,
    pub id: [u8; 32],
    pub peer: PeerHandle,
    pub slot: Held<WakuRecord>,
}

/// Takes messages while there is room, and counts how often there was none.
pub struct Inbox {
    arena: Arc<Arena<WakuRecord>>,
    topics: Arc<TopicTable>,
    messages: UnboundedSender<Held<WakuRecord>>,
    room: Arc<AtomicUsize>,
    refusals: Arc<AtomicUsize>,
}

impl Inbox {
    pub fn new(room: usize, arena_bytes: usize) -> (Self, UnboundedReceiver<Held<WakuRecord>>) {
        let (messages, receiver) = unbounded_channel();
        let arena = Arena::new(&ArenaConfig::with_budget(arena_bytes, 150 * 1_024)).unwrap();
        let room = Arc::new(AtomicUsize::new(room));
        (Self { arena, topics: Arc::default(), messages, room, refusals: Arc::default() }, receiver)
    }
}

impl Inbound for Inbox {
    fn arena(&self) -> &Arc<Arena<WakuRecord>> {
        &self.arena
    }

    fn topic(&self, name: &str) -> Option<u32> {
        self.topics.intern(name).ok()
    }

    fn offer(&self, message: Held<WakuRecord>) -> Result<(), Refused> {
        if self.room.fetch_update(Relaxed, Relaxed, |room| room.checked_sub(1)).is_err() {
            self.refusals.fetch_add(1, Relaxed);
            return Err(Refused::Full(message));
        }
        self.messages.send(message).map_err(|_| Refused::Dropped)
    }
}

pub struct Node {
    pub handle: NetHandle,
    pub inbox: UnboundedReceiver<Held<WakuRecord>>,
    pub arena: Arc<Arena<WakuRecord>>,
    topics: Arc<TopicTable>,
    room: Arc<AtomicUsize>,
    refusals: Arc<AtomicUsize>,
    pub task: JoinHandle<()>,
}

/// Loopback, ports of the system's choice, cluster 1, shard 0.
pub fn config() -> NetConfig {
    let mut config = NetConfig::new(NodeKey::generate());
    config.listen_address = Ipv4Addr::LOCALHOST.into();
    config.tcp_port = 0;
    config.websocket_port = Some(0);
    config.cluster_id = 1;
    config
}

/// The default configuration with one static peer.
pub fn dialling(peer: &Multiaddr) -> NetConfig {
    NetConfig { static_peers: vec![peer.clone()], ..config() }
}

/// The largest message of [`TOPIC`].
pub const LARGEST_BYTES: usize = 153_576;

impl Node {
    pub async fn start(config: NetConfig) -> Self {
        Self::start_with_room(config, 1_024).await
    }

    /// A node whose inbox holds `room` messages.
    pub async fn start_with_room(config: NetConfig, room: usize) -> Self {
        Self::start_with(config, room, 128 * 1_024 * 1_024).await
    }

    /// A node with rust-libp2p's relay router.
    pub async fn start_stock(config: NetConfig) -> Self {
        Self::start_by(config, 1_024, 128 * 1_024 * 1_024, |config, sink| levada_stock::start(config, sink).boxed())
            .await
    }

    pub async fn start_with(config: NetConfig, room: usize, arena_bytes: usize) -> Self {
        Self::start_by(config, room, arena_bytes, |config, sink| start(config, sink).boxed()).await
    }

    async fn start_by(
        config: NetConfig,
        room: usize,
        arena_bytes: usize,
        start: impl FnOnce(NetConfig, Arc<Inbox>) -> BoxFuture<'static, Result<(NetHandle, NetTask), NetError>>,
    ) -> Self {
        let relay = config.relay;
        let (sink, inbox) = Inbox::new(room, arena_bytes);
        let (arena, topics) = (sink.arena.clone(), sink.topics.clone());
        let (room, refusals) = (sink.room.clone(), sink.refusals.clone());
        let (handle, task) = start(config, Arc::new(sink)).await.unwrap();
        let task = tokio::spawn(task);
        if relay {
            assert_eq!(handle.subscribe(TOPIC).await, Ok(true));
        }
        Self { handle, inbox, arena, topics, room, refusals, task }
    }

    pub fn id(&self) -> PeerId {
        self.handle.peer_id()
    }

    pub fn exchange(&self) -> &Exchange {
        self.handle.exchange()
    }

    pub fn tcp(&self) -> Multiaddr {
        self.address(false)
    }

    pub fn websocket(&self) -> Multiaddr {
        self.address(true)
    }

    fn address(&self, websocket: bool) -> Multiaddr {
        let is_wanted = |address: &Multiaddr| address.to_string().contains("/ws") == websocket;
        self.handle.listen_addresses().into_iter().find(is_wanted).unwrap()
    }

    /// Waits until a message has found no room.
    pub async fn stalled(&self) {
        until(async || self.refusals.load(Relaxed) > 0).await;
    }

    /// Waits until `peers` peers are in the mesh.
    pub async fn meshed(&self, peers: usize) {
        // No event tells of a change of the mesh.
        until(async || self.handle.mesh_sizes().await == [(TOPIC.to_owned(), peers)]).await;
    }

    pub async fn publish(&self, data: &'static [u8]) -> Result<usize, PublishError> {
        within(self.handle.publish(TOPIC, Bytes::from_static(data), None)).await
    }

    /// The next message, whose place in the inbox is free again.
    pub async fn receive(&mut self) -> Message {
        let message = self.take().await;
        self.room.fetch_add(1, Relaxed);
        message
    }

    /// The next message, whose place in the inbox stays taken.
    pub async fn take(&mut self) -> Message {
        let slot = within(self.inbox.recv()).await.unwrap();
        let record = slot.record();
        let topic = self.topics.name(record.topic).unwrap().to_owned();
        Message { topic, data: slot.payload().to_vec(), id: record.id, peer: PeerHandle(record.peer), slot }
    }

    pub async fn judge(&self, message: Message, verdict: Verdict) {
        self.handle.report(message.slot, verdict).await.unwrap();
    }
}

pub async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.expect("it came in time")
}

/// A port that the system gives to nobody by itself; `index` is 0 to 3.
pub fn fixed_port(index: u16) -> u16 {
    20_000 + u16::try_from(std::process::id() % 3_000).unwrap() * 4 + index
}

/// Asks again and again until it is so.
pub async fn until(mut so: impl AsyncFnMut() -> bool) {
    within(async {
        while !so().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}
