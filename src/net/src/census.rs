//! Who is known and connected, and what the router thinks of them: for operators, never for the path of messages.

use std::collections::BTreeMap;
use std::error::Error;

use levada_engine::Counter;
use levada_wire::waku::{filter, lightpush, peer_exchange, store};
use libp2p::multiaddr::Protocol;
use libp2p::swarm::dial_opts::{DialOpts, PeerCondition};
use libp2p::swarm::{ConnectionId, DialError};
use libp2p::{Multiaddr, PeerId};
use tokio::sync::oneshot;

use crate::peers::Direction;
use crate::relay::{self, Relay};
use crate::service::Service;
use crate::{counters, metadata};

/// The protocols by which peers are counted.
pub const PROTOCOLS: [&str; 8] = [
    relay::PROTOCOL,
    filter::SUBSCRIBE_PROTOCOL,
    filter::PUSH_PROTOCOL,
    store::PROTOCOL,
    lightpush::PROTOCOL_V3,
    lightpush::PROTOCOL_V2,
    peer_exchange::PROTOCOL,
    metadata::PROTOCOL,
];

/// How a peer became known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Origin {
    /// It came by itself, was remembered from the last run, or an operator named it at run time.
    #[default]
    Unknown,
    /// By configuration.
    Static,
    /// By Discovery v5.
    Discv5,
    /// Another peer told of it.
    PeerExchange,
    /// By a list in the DNS.
    Dns,
}

/// Dials by [`Origin`].
static DIALS: [Counter; Origin::ALL.len()] = [const { Counter::new() }; Origin::ALL.len()];

impl Origin {
    /// Every origin.
    pub const ALL: [Self; 5] = [Self::Unknown, Self::Static, Self::Discv5, Self::PeerExchange, Self::Dns];

    /// Dials so far of peers that became known so.
    pub fn dials_total(self) -> u64 {
        DIALS[self as usize].value()
    }

    pub(crate) fn count_dial(self) {
        DIALS[self as usize].add(1);
    }

    /// nwaku's word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "UnknownOrigin",
            Self::Static => "Static",
            Self::Discv5 => "Discv5",
            Self::PeerExchange => "PeerExchange",
            Self::Dns => "Dns",
        }
    }
}

/// Whether a peer can be reached, as far as this node has tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reach {
    /// It was never tried.
    NotConnected,
    /// The last dial failed.
    CannotConnect,
    /// It was here before.
    CanConnect,
    /// It is here.
    Connected,
}

impl Reach {
    /// Every state.
    pub const ALL: [Self; 4] = [Self::Connected, Self::NotConnected, Self::CannotConnect, Self::CanConnect];

    /// nwaku's word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotConnected => "NotConnected",
            Self::CannotConnect => "CannotConnect",
            Self::CanConnect => "CanConnect",
            Self::Connected => "Connected",
        }
    }
}

/// One peer.
#[derive(Debug, Clone, PartialEq)]
pub struct PeerRecord {
    /// Its identity.
    pub peer_id: PeerId,
    /// Where it can be reached, without `/p2p/…`; the best first.
    pub addresses: Vec<Multiaddr>,
    /// What identify said; empty until then.
    pub agent: String,
    /// What identify said; empty until then.
    pub protocols: Vec<String>,
    /// The shards of this node's cluster that it says it serves (66/WAKU2-METADATA), ascending.
    pub shards: Vec<u16>,
    /// Whether it can be reached.
    pub reach: Reach,
    /// Who dialled, if it is connected.
    pub direction: Option<Direction>,
    /// How it became known.
    pub origin: Origin,
    /// The relay's score of it, if the relay knows it.
    pub score: Option<f64>,
}

/// The peers of one joined topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicPeers {
    /// The pubsub topic.
    pub topic: String,
    /// Connected peers that have subscribed to it.
    pub subscribers: Vec<PeerId>,
    /// Those of them in the mesh.
    pub mesh: Vec<PeerId>,
}

/// Everybody who is known, as of now.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Census {
    /// Connected peers first, each part in the order of identities.
    pub peers: Vec<PeerRecord>,
    /// The joined topics, by name.
    pub topics: Vec<TopicPeers>,
    /// What the router has counted since its start, by name; empty without relay.
    pub router: Vec<(&'static str, u64)>,
}

/// Why a peer was not connected to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The dial failed.
    #[error("the dial failed: {0}")]
    Dial(String),
    /// It took too long.
    #[error("there was no connection within {seconds} s")]
    TimedOut {
        /// The limit.
        seconds: u64,
    },
    /// The network task has ended.
    #[error("the network has stopped")]
    Stopped,
}

/// Why a dial failed, in one line: what went wrong at the bottom of it, each thing once.
pub(crate) fn reason_of(error: &DialError) -> String {
    let DialError::Transport(attempts) = error else { return bottom_of(error) };
    let mut reasons: Vec<String> = attempts.iter().map(|(_, cause)| bottom_of(cause)).collect();
    reasons.dedup();
    reasons.join("; ")
}

/// The last of the causes that an error names.
fn bottom_of(error: &(dyn Error + 'static)) -> String {
    let mut bottom = error;
    while let Some(cause) = bottom.source() {
        bottom = cause;
    }
    bottom.to_string().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Who waits for a connection.
pub(crate) type Connecting = oneshot::Sender<Result<PeerId, ConnectError>>;

impl PeerRecord {
    /// A peer that is not here, of which nothing is known yet.
    pub(crate) fn away(peer_id: PeerId, reach: Reach) -> Self {
        Self {
            peer_id,
            addresses: Vec::new(),
            agent: String::new(),
            protocols: Vec::new(),
            shards: Vec::new(),
            reach,
            direction: None,
            origin: Origin::Unknown,
            score: None,
        }
    }

    fn add_address(&mut self, address: Multiaddr) {
        if !self.addresses.contains(&address) {
            self.addresses.push(address);
        }
    }
}

impl<R: Relay> Service<R> {
    pub(crate) fn census(&self) -> Census {
        let relay = self.swarm.behaviour().relay.as_ref();
        let mut all: BTreeMap<PeerId, PeerRecord> =
            self.lookout.known.records().map(|record| (record.peer_id, record)).collect();
        for (id, address) in self.config.static_peers.iter().filter_map(named) {
            let record = all.entry(id).or_insert_with(|| PeerRecord::away(id, Reach::NotConnected));
            record.origin = Origin::Static;
            record.add_address(address);
        }
        for mut here in self.peers.records() {
            if let Some(known) = all.remove(&here.peer_id) {
                here.origin = known.origin;
                known.addresses.into_iter().for_each(|address| here.add_address(address));
            }
            here.score = relay.and_then(|relay| relay.score(&here.peer_id));
            all.insert(here.peer_id, here);
        }
        let mut peers: Vec<PeerRecord> = all.into_values().collect();
        // A stable sort: each part stays in the order of identities.
        peers.sort_by_key(|peer| peer.reach != Reach::Connected);
        let topics = relay.map(Relay::topic_peers).unwrap_or_default();
        Census { peers, topics, router: relay.map(Relay::counters).unwrap_or_default() }
    }

    /// Connects to a peer that the address names, or tells at once that it is here.
    pub(crate) fn connect(&mut self, address: &Multiaddr, reply: Connecting) {
        let expected = named(address).map(|(id, _)| id);
        if let Some(id) = expected.filter(|id| self.peers.is_connected(id)) {
            // Who asked may have gone away, here and below.
            let _ = reply.send(Ok(id));
            return;
        }
        let Some(id) = expected else {
            let _ = reply.send(Err(ConnectError::Dial("the address names no peer by /p2p/…".to_owned())));
            return;
        };
        let opts = DialOpts::peer_id(id).addresses(vec![address.clone()]).condition(PeerCondition::Disconnected);
        let opts = opts.allocate_new_port().build();
        let connection = opts.connection_id();
        Origin::Unknown.count_dial();
        if let Err(error) = self.swarm.dial(opts) {
            counters::DIALS_FAILED.add(1);
            let _ = reply.send(Err(ConnectError::Dial(reason_of(&error))));
            return;
        }
        self.learn(std::slice::from_ref(address), Origin::Unknown);
        self.connecting.retain(|_, reply| !reply.is_closed());
        self.connecting.insert(connection, reply);
    }

    /// Tells who waited for a dial what became of it.
    pub(crate) fn connected(&mut self, connection: ConnectionId, outcome: Result<PeerId, ConnectError>) {
        if let Some(reply) = self.connecting.remove(&connection) {
            let _ = reply.send(outcome);
        }
    }
}

/// The peer that an address names, and the rest of it.
fn named(address: &Multiaddr) -> Option<(PeerId, Multiaddr)> {
    let mut bare = address.clone();
    match bare.pop() {
        Some(Protocol::P2p(id)) => Some((id, bare)),
        _ => None,
    }
}
