//! Nodes on loopback, for the tests beside.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(dead_code, reason = "each test file uses its part")]

pub mod raw;

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use bytes::Bytes;
use levada_net::{
    Inbound, InboundMessage, Multiaddr, NetConfig, NetHandle, NodeKey, Offer, PublishError, Verdict, start,
};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::JoinHandle;

pub const TOPIC: &str = "/waku/2/rs/1/0";

/// Everything a test waits for comes long before this, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(90);

/// Takes messages while there is room, and counts how often there was none.
pub struct Inbox {
    messages: Sender<InboundMessage>,
    refusals: Arc<AtomicUsize>,
}

impl Inbox {
    pub fn new(room: usize) -> (Self, Receiver<InboundMessage>) {
        let (messages, receiver) = channel(room);
        (Self { messages, refusals: Arc::default() }, receiver)
    }
}

impl Inbound for Inbox {
    fn offer(&self, message: &InboundMessage) -> Offer {
        match self.messages.try_send(message.clone()) {
            Ok(()) => Offer::Taken,
            Err(TrySendError::Full(_)) => {
                self.refusals.fetch_add(1, Relaxed);
                Offer::Full
            }
            Err(TrySendError::Closed(_)) => Offer::Dropped,
        }
    }
}

pub struct Node {
    pub handle: NetHandle,
    pub inbox: Receiver<InboundMessage>,
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

impl Node {
    pub async fn start(config: NetConfig) -> Self {
        Self::start_with_room(config, 1_024).await
    }

    /// A node whose inbox holds `room` messages.
    pub async fn start_with_room(config: NetConfig, room: usize) -> Self {
        let relay = config.relay;
        let (sink, inbox) = Inbox::new(room);
        let refusals = sink.refusals.clone();
        let (handle, task) = start(config, Arc::new(sink)).await.unwrap();
        let task = tokio::spawn(task);
        if relay {
            assert_eq!(handle.subscribe(TOPIC).await, Ok(true));
        }
        Self { handle, inbox, refusals, task }
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

    pub async fn receive(&mut self) -> InboundMessage {
        within(self.inbox.recv()).await.unwrap()
    }

    pub async fn judge(&self, message: &InboundMessage, verdict: Verdict) {
        self.handle.report(message.id, message.peer, verdict).await.unwrap();
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
