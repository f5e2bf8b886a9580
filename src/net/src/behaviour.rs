//! The protocols of the node in one behaviour.

use std::sync::Arc;
use std::time::Duration;

use libp2p::connection_limits::{self, ConnectionLimits};
use libp2p::swarm::NetworkBehaviour;
use libp2p::swarm::behaviour::toggle::Toggle;
use libp2p::{identify, ping};

use crate::colocation;
use crate::config::NetConfig;
use crate::exchange;
use crate::metadata;
use crate::relay::Relay;
use crate::single::Single;
use crate::workers::{Placement, Placing};

/// The protocol version of identify, as js-waku and nwaku have it.
const IDENTIFY_VERSION: &str = "ipfs/0.1.0";
/// A ping that is not answered by then is missed.
const PING_TIMEOUT: Duration = Duration::from_secs(20);
/// Longer than any connection lasts.
const NEVER: Duration = Duration::from_secs(100 * 365 * 24 * 3_600);
/// One connection per peer is enough, and this node never dials a peer that it has. But two nodes that dial each other at the same
/// moment get two, and if each refused the other's they would end up with none. [`Single`] closes one later.
const CONNECTIONS_PER_PEER_MAX: u32 = 2;

/// Everything that a connection speaks. The limits come first, so that a refused connection costs nobody else anything.
#[derive(NetworkBehaviour)]
pub(crate) struct Behaviour<R: Relay> {
    limits: connection_limits::Behaviour,
    colocation: colocation::Behaviour,
    identify: identify::Behaviour,
    ping: ping::Behaviour,
    pub(crate) metadata: metadata::Exchange,
    exchange: exchange::Behaviour,
    pub(crate) relay: Toggle<R>,
    single: Single,
    /// Last, as it must be.
    placing: Toggle<Placing>,
}

impl<R: Relay> Behaviour<R> {
    pub(crate) fn new(config: &NetConfig, relay: Option<R>, placement: Option<Arc<Placement>>) -> Self {
        let identify = identify::Config::new(IDENTIFY_VERSION.to_owned(), config.key.keypair().public())
            .with_agent_version(config.agent.clone())
            .with_push_listen_addr_updates(config.announce_listen)
            .with_hide_listen_addrs(!config.announce_listen)
            // Addresses learned here are never dialled, so they need not be kept.
            .with_cache_size(0);
        Self {
            limits: connection_limits::Behaviour::new(limits(config)),
            colocation: colocation::Behaviour::new(config.ip_colocation_limit, config.colocation_whitelist.clone()),
            identify: identify::Behaviour::new(identify),
            ping: ping::Behaviour::new(pings(config)),
            metadata: metadata::build(),
            exchange: exchange::Behaviour::new(config.exchange.clone()),
            relay: relay.into(),
            single: Single::new(config.key.peer_id()),
            placing: placement.map(Placing::new).into(),
        }
    }
}

/// A peer is always answered. Without keep-alive it is asked once only, when it comes.
fn pings(config: &NetConfig) -> ping::Config {
    let pings = ping::Config::new().with_timeout(PING_TIMEOUT);
    if config.keep_alive { pings } else { pings.with_interval(NEVER) }
}

/// Peers that come by themselves leave room for the static ones, up to half of all.
fn limits(config: &NetConfig) -> ConnectionLimits {
    let most = config.max_connections;
    let kept = u32::try_from(config.static_peers.len()).unwrap_or(u32::MAX).min(most / 2);
    ConnectionLimits::default()
        .with_max_established(Some(most))
        .with_max_established_incoming(Some(most - kept))
        .with_max_established_per_peer(Some(CONNECTIONS_PER_PEER_MAX))
        .with_max_pending_incoming(Some(most))
}
