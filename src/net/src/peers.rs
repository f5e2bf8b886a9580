//! The connected peers, and the small handles under which the rest of the node knows them.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use libp2p::core::ConnectedPoint;
use libp2p::multiaddr::Protocol;
use libp2p::{Multiaddr, PeerId, StreamProtocol};

use crate::census::{PeerRecord, Reach};
use crate::relay_share::is_relay;

/// Peers that have left and whose handles still mean them, so that a late verdict reaches the right score.
const DEPARTED_MAX: usize = 4_096;
/// Addresses kept per peer.
const ADDRESSES_MAX: usize = 16;
/// Pings in a row that a peer may miss before its connection counts as dead.
const PINGS_MISSED_MAX: u8 = 3;

/// A peer, in four bytes. The same peer keeps its handle while it is connected and for the next 4 096 departures; a handle is never
/// given to another peer before 2³² others were.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PeerHandle(pub u32);

/// Which side dialled the first connection that is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// The peer dialled us.
    In,
    /// We dialled the peer.
    Out,
}

/// A connected peer, as of now.
#[derive(Debug, Clone)]
pub struct PeerInfo {
    /// The handle that messages of this peer carry.
    pub handle: PeerHandle,
    /// The peer's identity.
    pub peer_id: PeerId,
    /// The remote address of the connection, then those that the peer says it listens on.
    pub addresses: Vec<Multiaddr>,
    /// The agent string; empty until identify is through.
    pub agent: String,
    /// The protocols that the peer says it supports; empty until identify is through.
    pub protocols: Vec<String>,
    /// Who dialled.
    pub direction: Direction,
    /// For how long the peer has been connected.
    pub connected_for: Duration,
}

struct Peer {
    peer_id: PeerId,
    /// Present while the peer is connected.
    connection: Option<Connection>,
}

struct Connection {
    direction: Direction,
    since: Instant,
    remote: Multiaddr,
    listens: Vec<Multiaddr>,
    agent: String,
    protocols: Vec<StreamProtocol>,
    /// What it told of itself by metadata.
    shards: Vec<u16>,
    pings_missed: u8,
}

impl Connection {
    fn is_incoming_relay(&self) -> bool {
        self.direction == Direction::In && is_relay(&self.protocols)
    }
}

/// All peers that have a handle.
#[derive(Default)]
pub(crate) struct Peers {
    by_handle: HashMap<u32, Peer>,
    by_id: HashMap<PeerId, u32>,
    departed: VecDeque<u32>,
    connected: usize,
    next: u32,
}

impl Peers {
    /// The first connection of a peer.
    pub(crate) fn arrive(&mut self, peer_id: PeerId, endpoint: &ConnectedPoint) {
        let handle = self.handle_of(peer_id);
        let connection = Connection {
            direction: if endpoint.is_dialer() { Direction::Out } else { Direction::In },
            since: Instant::now(),
            remote: endpoint.get_remote_address().clone(),
            listens: Vec::new(),
            agent: String::new(),
            protocols: Vec::new(),
            shards: Vec::new(),
            pings_missed: 0,
        };
        let peer = self.by_handle.entry(handle.0).or_insert(Peer { peer_id, connection: None });
        if peer.connection.replace(connection).is_none() {
            self.connected += 1;
        }
        self.departed.retain(|gone| *gone != handle.0);
    }

    /// What identify told about a connected peer.
    pub(crate) fn identified(&mut self, peer_id: &PeerId, info: libp2p::identify::Info) {
        if let Some(connection) = self.connection(peer_id) {
            connection.agent = info.agent_version;
            connection.protocols = info.protocols;
            connection.listens = info.listen_addrs;
            connection.listens.truncate(ADDRESSES_MAX);
        }
    }

    /// What metadata told about the shards of a connected peer.
    pub(crate) fn serves(&mut self, peer_id: &PeerId, shards: Vec<u16>) {
        if let Some(connection) = self.connection(peer_id) {
            connection.shards = shards;
        }
    }

    /// A ping was answered or missed. `true` if that makes three misses in a row.
    pub(crate) fn ping(&mut self, peer_id: &PeerId, missed: bool) -> bool {
        let Some(connection) = self.connection(peer_id) else { return false };
        connection.pings_missed = if missed { connection.pings_missed.saturating_add(1) } else { 0 };
        connection.pings_missed >= PINGS_MISSED_MAX
    }

    fn connection(&mut self, peer_id: &PeerId) -> Option<&mut Connection> {
        let handle = self.by_id.get(peer_id)?;
        self.by_handle.get_mut(handle)?.connection.as_mut()
    }

    /// The last connection of a peer has closed. Gives how long the peer was connected.
    pub(crate) fn depart(&mut self, peer_id: &PeerId) -> Option<Duration> {
        let handle = *self.by_id.get(peer_id)?;
        let connection = self.by_handle.get_mut(&handle)?.connection.take()?;
        self.connected -= 1;
        self.departed.push_back(handle);
        if self.departed.len() > DEPARTED_MAX
            && let Some(gone) = self.departed.pop_front()
            && let Some(peer) = self.by_handle.remove(&gone)
        {
            self.by_id.remove(&peer.peer_id);
        }
        Some(connection.since.elapsed())
    }

    /// The handle of a peer, new if it has none.
    pub(crate) fn handle_of(&mut self, peer_id: PeerId) -> PeerHandle {
        if let Some(handle) = self.by_id.get(&peer_id) {
            return PeerHandle(*handle);
        }
        while self.by_handle.contains_key(&self.next) {
            self.next = self.next.wrapping_add(1);
        }
        let handle = self.next;
        self.next = self.next.wrapping_add(1);
        self.by_handle.insert(handle, Peer { peer_id, connection: None });
        self.by_id.insert(peer_id, handle);
        PeerHandle(handle)
    }

    /// The peer of a handle, if it is still known.
    pub(crate) fn peer_id(&self, handle: PeerHandle) -> Option<PeerId> {
        self.by_handle.get(&handle.0).map(|peer| peer.peer_id)
    }

    /// Peers connected now.
    pub(crate) fn connected(&self) -> usize {
        self.connected
    }

    /// Whether a peer is connected now.
    pub(crate) fn is_connected(&self, peer_id: &PeerId) -> bool {
        self.by_id
            .get(peer_id)
            .and_then(|handle| self.by_handle.get(handle))
            .is_some_and(|peer| peer.connection.is_some())
    }

    /// The address of the connection to a peer.
    pub(crate) fn remote_of(&self, peer_id: &PeerId) -> Option<&Multiaddr> {
        let peer = self.by_handle.get(self.by_id.get(peer_id)?)?;
        peer.connection.as_ref().map(|connection| &connection.remote)
    }

    /// Whether a peer takes part in relay and has dialled this node.
    pub(crate) fn is_incoming_relay(&self, peer_id: &PeerId) -> bool {
        let peer = self.by_id.get(peer_id).and_then(|handle| self.by_handle.get(handle));
        peer.and_then(|peer| peer.connection.as_ref()).is_some_and(Connection::is_incoming_relay)
    }

    /// How many such peers there are.
    pub(crate) fn incoming_relay(&self) -> usize {
        let connections = self.by_handle.values().filter_map(|peer| peer.connection.as_ref());
        connections.filter(|connection| connection.is_incoming_relay()).count()
    }

    /// A peer that is being disconnected serves nothing any more.
    pub(crate) fn dismiss(&mut self, peer_id: &PeerId) {
        if let Some(connection) = self.connection(peer_id) {
            connection.protocols.clear();
        }
    }

    /// Connected peers that this node dialled.
    pub(crate) fn outgoing(&self) -> usize {
        let connections = self.by_handle.values().filter_map(|peer| peer.connection.as_ref());
        connections.filter(|connection| connection.direction == Direction::Out).count()
    }

    /// Every connected peer, for the census; who dialled us is best reached where it says that it listens.
    pub(crate) fn records(&self) -> impl Iterator<Item = PeerRecord> + '_ {
        let here = self.by_handle.values().filter_map(|peer| Some((peer.peer_id, peer.connection.as_ref()?)));
        here.map(|(peer_id, connection)| {
            let bare = |address: &Multiaddr| -> Multiaddr {
                address.iter().filter(|part| !matches!(part, Protocol::P2p(_))).collect()
            };
            let (remote, listens) = (bare(&connection.remote), connection.listens.iter().map(bare));
            let mut addresses: Vec<Multiaddr> = match connection.direction {
                Direction::Out => std::iter::once(remote).chain(listens).collect(),
                Direction::In => listens.chain([remote]).collect(),
            };
            addresses.dedup();
            PeerRecord {
                addresses,
                agent: connection.agent.clone(),
                protocols: connection.protocols.iter().map(ToString::to_string).collect(),
                shards: connection.shards.clone(),
                direction: Some(connection.direction),
                ..PeerRecord::away(peer_id, Reach::Connected)
            }
        })
    }

    /// Every connected peer.
    pub(crate) fn snapshot(&self) -> Vec<PeerInfo> {
        self.by_handle
            .iter()
            .filter_map(|(handle, peer)| Some(peer.info(PeerHandle(*handle), peer.connection.as_ref()?)))
            .collect()
    }
}

impl Peer {
    fn info(&self, handle: PeerHandle, connection: &Connection) -> PeerInfo {
        PeerInfo {
            handle,
            peer_id: self.peer_id,
            addresses: std::iter::once(&connection.remote).chain(&connection.listens).cloned().collect(),
            agent: connection.agent.clone(),
            protocols: connection.protocols.iter().map(ToString::to_string).collect(),
            direction: connection.direction,
            connected_for: connection.since.elapsed(),
        }
    }
}

#[cfg(test)]
mod tests {
    use libp2p::PeerId;
    use libp2p::core::{ConnectedPoint, Endpoint, transport::PortUse};

    use super::{DEPARTED_MAX, Direction, Peers};

    fn endpoint() -> ConnectedPoint {
        let address = "/ip4/127.0.0.1/tcp/1".parse().unwrap();
        ConnectedPoint::Dialer { address, role_override: Endpoint::Dialer, port_use: PortUse::New }
    }

    #[test]
    fn a_peer_keeps_its_handle_over_a_reconnect() {
        let (mut peers, id) = (Peers::default(), PeerId::random());
        peers.arrive(id, &endpoint());
        let handle = peers.handle_of(id);
        assert_eq!(peers.snapshot()[0].direction, Direction::Out);
        assert!(peers.depart(&id).is_some());
        assert_eq!((peers.connected(), peers.peer_id(handle)), (0, Some(id)), "a late verdict still finds the peer");
        assert!(peers.depart(&id).is_none(), "gone once only");
        peers.arrive(id, &endpoint());
        assert_eq!((peers.handle_of(id), peers.connected()), (handle, 1));
    }

    #[test]
    fn the_departed_are_bounded_and_handles_are_not_reused() {
        let (mut peers, first) = (Peers::default(), PeerId::random());
        let stays = PeerId::random();
        peers.arrive(stays, &endpoint());
        peers.arrive(first, &endpoint());
        let handle = peers.handle_of(first);
        peers.depart(&first);
        for _ in 0..DEPARTED_MAX {
            let id = PeerId::random();
            peers.arrive(id, &endpoint());
            peers.depart(&id);
        }
        assert_eq!(peers.peer_id(handle), None);
        assert_eq!(peers.by_handle.len(), DEPARTED_MAX + 1);
        assert_eq!(peers.by_id.len(), DEPARTED_MAX + 1);
        assert_ne!(peers.handle_of(first), handle);
        assert_eq!(peers.connected(), 1);
    }
}
