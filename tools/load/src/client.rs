//! A peer of both nodes in this process.

use std::net::Ipv4Addr;
use std::sync::Arc;

use levada_engine::{Arena, ArenaConfig, Held};
use levada_net::{Inbound, Multiaddr, NetConfig, NetHandle, NodeKey, Refused};
use levada_wire::waku::WakuRecord;

use crate::message::TOPIC;
use crate::run::Error;

const ARENA_BYTES: usize = 8 << 20;
const ARENA_SLOTS: usize = 1 << 9;

/// Is shown each message that comes, and keeps none.
pub struct Viewer<V> {
    arena: Arc<Arena<WakuRecord>>,
    view: V,
}

impl<V: Fn(&Held<WakuRecord>) + Send + Sync + 'static> Viewer<V> {
    pub fn new(view: V) -> Result<Arc<Self>, Error> {
        let arena = Arena::new(&ArenaConfig::with_budget(ARENA_BYTES, ARENA_SLOTS))?;
        Ok(Arc::new(Self { arena, view }))
    }
}

impl<V: Fn(&Held<WakuRecord>) + Send + Sync + 'static> Inbound for Viewer<V> {
    fn arena(&self) -> &Arc<Arena<WakuRecord>> {
        &self.arena
    }

    fn topic(&self, name: &str) -> Option<u32> {
        (name == TOPIC).then_some(0)
    }

    fn offer(&self, message: Held<WakuRecord>) -> Result<(), Refused> {
        (self.view)(&message);
        Err(Refused::Dropped)
    }
}

/// Joins the network by the nodes at `addresses`, and stays connected to each.
pub async fn start(addresses: &[Multiaddr], relay: bool, inbound: Arc<dyn Inbound>) -> Result<NetHandle, Error> {
    let mut config = NetConfig::new(NodeKey::generate());
    config.listen_address = Ipv4Addr::LOCALHOST.into();
    (config.tcp_port, config.websocket_port, config.relay) = (0, None, relay);
    config.static_peers = addresses.to_vec();
    // One thread for each of a hundred clients would be all there is to see.
    config.outgoing_wanted = addresses.len();
    let (handle, task) = levada_net::start(config, inbound).await?;
    tokio::spawn(task);
    Ok(handle)
}
