//! How the node and each of its protocols are, in nwaku's words.

use levada_net::{Census, RELAY_PROTOCOL, Reach};
use levada_wire::waku::{filter, lightpush, peer_exchange, store};

use super::services;
use crate::config::Config;
use crate::rest::{ConnectionStatus, HealthState, ProtocolHealth};

/// What this version does not have.
const ABSENT: [&str; 3] = ["Rln Relay", "Rendezvous", "Mix"];

/// gossipsub's lower bound of a mesh (11/WAKU2-RELAY): with as many peers a message reaches the network.
const HEALTHY_PEERS: usize = 4;

const NO_RELAY_PEERS: &str = "Node has no relay peers to fullfill push requests";

/// The protocols of a node that starts.
pub fn starting(config: &Config) -> Vec<ProtocolHealth> {
    let (served, census) = (services::mounted(config), Census::default());
    let parts = Parts { relay: config.relay, store: config.store, resuming: false, served: &served, census: &census };
    all_in(HealthState::Initializing, parts.protocols())
}

/// The same protocols, of which all that are mounted are in one state.
pub fn all_in(state: HealthState, mut protocols: Vec<ProtocolHealth>) -> Vec<ProtocolHealth> {
    for protocol in protocols.iter_mut().filter(|protocol| protocol.state != HealthState::NotMounted) {
        (protocol.state, protocol.description) = (state, None);
    }
    protocols
}

/// What the node is asked about.
pub struct Parts<'a> {
    /// Whether relay is on.
    pub relay: bool,
    /// Whether there is an archive.
    pub store: bool,
    /// Whether the archive is still being given what it missed.
    pub resuming: bool,
    /// The protocols that are served.
    pub served: &'a [&'a str],
    /// Who is connected.
    pub census: &'a Census,
}

impl Parts<'_> {
    /// The state of every protocol that nwaku knows, mounted or not; a protocol without relay peers is not ready where it needs some, and
    /// a client is ready while somebody, be it this node, serves it.
    pub fn protocols(&self) -> Vec<ProtocolHealth> {
        let relay = match (self.relay, self.connected(RELAY_PROTOCOL)) {
            (false, _) => unmounted("Relay"),
            (true, false) => not_ready("Relay", "No connected peers"),
            (true, true) => ready("Relay"),
        };
        let relays = relay.state == HealthState::Ready;
        let by_relay = |name, protocol, why| match (self.serves(protocol), relays) {
            (false, _) => unmounted(name),
            (true, false) => not_ready(name, why),
            (true, true) => ready(name),
        };
        let lightpush = by_relay("Lightpush", lightpush::PROTOCOL_V3, NO_RELAY_PEERS);
        let legacy = by_relay("Legacy Lightpush", lightpush::PROTOCOL_V2, NO_RELAY_PEERS);
        let filter_why = "Relay is not ready, filter will not be able to sort out messages";
        let filter = by_relay("Filter", filter::SUBSCRIBE_PROTOCOL, filter_why);
        let store = match (self.store, self.resuming) {
            (false, _) => unmounted("Store"),
            (true, true) => synchronizing("Store", "Missed messages are still being fetched from another archive"),
            (true, false) => ready("Store"),
        };
        let px = if self.serves(peer_exchange::PROTOCOL) { ready("Peer Exchange") } else { unmounted("Peer Exchange") };
        let client = |name, own: bool, protocol, why| {
            if own || self.connected(protocol) { ready(name) } else { not_ready(name, why) }
        };
        let no_lightpush = "No Lightpush service peer available yet";
        let own = |service: &ProtocolHealth| service.state == HealthState::Ready;
        let clients = [
            client("Lightpush Client", own(&lightpush), lightpush::PROTOCOL_V3, no_lightpush),
            client("Legacy Lightpush Client", own(&legacy), lightpush::PROTOCOL_V2, no_lightpush),
            client(
                "Store Client",
                self.store,
                store::PROTOCOL,
                "No Store service peer available yet, neither Store service set up for the node",
            ),
            client("Filter Client", false, filter::SUBSCRIBE_PROTOCOL, "No Filter service peer available yet"),
        ];
        let services = [relay, lightpush, legacy, filter, store, px].into_iter();
        services.chain(ABSENT.map(unmounted)).chain(clients).collect()
    }

    /// How well the node is joined to others.
    pub fn connection(&self) -> ConnectionStatus {
        match self.here().count() {
            0 => ConnectionStatus::Disconnected,
            peers if peers < HEALTHY_PEERS => ConnectionStatus::PartiallyConnected,
            _ => ConnectionStatus::Connected,
        }
    }

    fn serves(&self, protocol: &str) -> bool {
        self.served.contains(&protocol)
    }

    fn here(&self) -> impl Iterator<Item = &levada_net::PeerRecord> {
        self.census.peers.iter().filter(|peer| peer.reach == Reach::Connected)
    }

    fn connected(&self, protocol: &str) -> bool {
        self.here().any(|peer| peer.protocols.iter().any(|served| served == protocol))
    }
}

fn ready(name: &'static str) -> ProtocolHealth {
    ProtocolHealth { name, state: HealthState::Ready, description: None }
}

fn unmounted(name: &'static str) -> ProtocolHealth {
    ProtocolHealth { name, state: HealthState::NotMounted, description: None }
}

/// It serves what it has.
fn synchronizing(name: &'static str, why: &str) -> ProtocolHealth {
    ProtocolHealth { name, state: HealthState::Synchronizing, description: Some(why.to_owned()) }
}

fn not_ready(name: &'static str, why: &str) -> ProtocolHealth {
    ProtocolHealth { name, state: HealthState::NotReady, description: Some(why.to_owned()) }
}
