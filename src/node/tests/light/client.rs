//! A node without relay, archive and listeners that others reach: the client side of every protocol.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use levada_engine::{Arena, ArenaConfig, Held};
use levada_net::{Exchange, Inbound, Multiaddr, NetConfig, NetHandle, NodeKey, PeerId, Refused};
use levada_wire::waku::WakuRecord;
use levada_wire::waku::message::Message;

use crate::support::node::Node;

/// Everything a test waits for comes long before this, also on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(40);

/// A client without relay is sent no message.
struct Nothing(Arc<Arena<WakuRecord>>);

impl Inbound for Nothing {
    fn arena(&self) -> &Arc<Arena<WakuRecord>> {
        &self.0
    }

    fn topic(&self, _: &str) -> Option<u32> {
        None
    }

    fn offer(&self, _: Held<WakuRecord>) -> Result<(), Refused> {
        Err(Refused::Dropped)
    }
}

/// A client that is connected to one node.
pub struct Client {
    pub net: NetHandle,
    pub peer: PeerId,
}

impl Client {
    /// A client of `node`, once it knows what the node serves.
    pub async fn of(node: &Node) -> Self {
        Self::dial(node.after("listening on ")[0]).await
    }

    /// A client of the node at `address`, which ends in its peer id.
    pub async fn dial(address: &str) -> Self {
        let address: Multiaddr = address.parse().unwrap();
        let config = NetConfig { static_peers: vec![address.clone()], ..config() };
        let net = start(config).await;
        let peer = address.to_string().rsplit('/').next().unwrap().parse().unwrap();
        until(async || net.exchange().is_connected(&peer)).await;
        Self { net, peer }
    }

    pub fn exchange(&self) -> &Exchange {
        self.net.exchange()
    }
}

/// Loopback, no relay, cluster 0.
pub fn config() -> NetConfig {
    let mut config = NetConfig::new(NodeKey::generate());
    config.listen_address = Ipv4Addr::LOCALHOST.into();
    (config.tcp_port, config.websocket_port, config.relay) = (0, None, false);
    config
}

/// A network that runs until its last handle is dropped.
pub async fn start(config: NetConfig) -> NetHandle {
    let arena = Arena::new(&ArenaConfig::with_budget(16 << 20, 1 << 10)).unwrap();
    let (net, task) = levada_net::start(config, Arc::new(Nothing(arena))).await.unwrap();
    tokio::spawn(task);
    net
}

/// Asks again and again until it is so.
pub async fn until(mut so: impl AsyncFnMut() -> bool) {
    let asking = async {
        while !so().await {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, asking).await.expect("it came in time");
}

/// The encoding of a message.
pub fn encoded(message: &Message<'_>) -> Vec<u8> {
    let mut data = vec![0; message.encoded_len()];
    message.encode_into(&mut data).unwrap();
    data
}
