//! The limit on peers from one IP address (`--ip-colocation-limit`): one more that comes is refused, those that are here stay.
//!
//! nwaku disconnects the oldest instead, which lets whoever opens connections throw out those who are served.

use std::collections::HashMap;
use std::convert::Infallible;
use std::fmt;
use std::net::IpAddr;
use std::task::{Context, Poll};

use libp2p::core::Endpoint;
use libp2p::core::transport::PortUse;
use libp2p::multiaddr::Protocol;
use libp2p::swarm::{
    ConnectionDenied, ConnectionId, FromSwarm, NetworkBehaviour, THandler, THandlerInEvent, ToSwarm, dummy,
};
use libp2p::{Multiaddr, PeerId};

use crate::counters;

/// See the module.
pub(crate) struct Behaviour {
    limit: usize,
    exempt: Vec<IpAddr>,
    /// Connections of each peer, by address.
    peers: HashMap<IpAddr, HashMap<PeerId, usize>>,
}

/// Why a connection was refused.
#[derive(Debug)]
struct TooManyPeers {
    ip: IpAddr,
    limit: usize,
}

impl fmt::Display for TooManyPeers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} peers from {} are connected already", self.limit, self.ip)
    }
}

impl std::error::Error for TooManyPeers {}

impl Behaviour {
    /// At most `limit` peers from each address, but any number from those that are `exempt`. 0 is no limit.
    pub(crate) fn new(limit: usize, exempt: Vec<IpAddr>) -> Self {
        Self { limit, exempt, peers: HashMap::new() }
    }

    fn is_full(&self, ip: &IpAddr, peer: &PeerId) -> bool {
        let has_limit = self.limit > 0 && !self.exempt.contains(ip);
        has_limit && self.peers.get(ip).is_some_and(|peers| peers.len() >= self.limit && !peers.contains_key(peer))
    }

    fn add(&mut self, ip: IpAddr, peer: PeerId) {
        *self.peers.entry(ip).or_default().entry(peer).or_default() += 1;
    }

    fn remove(&mut self, ip: IpAddr, peer: &PeerId) {
        let Some(peers) = self.peers.get_mut(&ip) else { return };
        if let Some(connections) = peers.get_mut(peer) {
            *connections -= 1;
            if *connections == 0 {
                peers.remove(peer);
            }
        }
        if peers.is_empty() {
            self.peers.remove(&ip);
        }
    }
}

/// The IP address that a multiaddress begins with.
pub(crate) fn ip_of(address: &Multiaddr) -> Option<IpAddr> {
    match address.iter().next()? {
        Protocol::Ip4(ip) => Some(ip.into()),
        Protocol::Ip6(ip) => Some(ip.to_canonical()),
        _ => None,
    }
}

impl NetworkBehaviour for Behaviour {
    type ConnectionHandler = dummy::ConnectionHandler;
    type ToSwarm = Infallible;

    fn handle_established_inbound_connection(
        &mut self,
        _: ConnectionId,
        peer: PeerId,
        _: &Multiaddr,
        remote: &Multiaddr,
    ) -> Result<THandler<Self>, ConnectionDenied> {
        match ip_of(remote) {
            Some(ip) if self.is_full(&ip, &peer) => {
                counters::COLOCATION_REFUSALS.add(1);
                Err(ConnectionDenied::new(TooManyPeers { ip, limit: self.limit }))
            }
            _ => Ok(dummy::ConnectionHandler),
        }
    }

    fn handle_established_outbound_connection(
        &mut self,
        _: ConnectionId,
        _: PeerId,
        _: &Multiaddr,
        _: Endpoint,
        _: PortUse,
    ) -> Result<THandler<Self>, ConnectionDenied> {
        // Whom this node dials it wants.
        Ok(dummy::ConnectionHandler)
    }

    fn on_swarm_event(&mut self, event: FromSwarm<'_>) {
        match event {
            FromSwarm::ConnectionEstablished(established) => {
                if let Some(ip) = ip_of(established.endpoint.get_remote_address()) {
                    self.add(ip, established.peer_id);
                }
            }
            FromSwarm::ConnectionClosed(closed) => {
                if let Some(ip) = ip_of(closed.endpoint.get_remote_address()) {
                    self.remove(ip, &closed.peer_id);
                }
            }
            _ => {}
        }
    }

    fn on_connection_handler_event(&mut self, _: PeerId, _: ConnectionId, event: Infallible) {
        match event {}
    }

    fn poll(&mut self, _: &mut Context<'_>) -> Poll<ToSwarm<Infallible, THandlerInEvent<Self>>> {
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    const IP: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
    const OTHER: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2));

    #[test]
    fn peers_of_an_address_are_counted_once_each() {
        let mut colocation = Behaviour::new(2, Vec::new());
        let peers = [PeerId::random(), PeerId::random(), PeerId::random()];
        colocation.add(IP, peers[0]);
        colocation.add(IP, peers[0]);
        assert!(!colocation.is_full(&IP, &peers[1]));
        colocation.add(IP, peers[1]);
        assert!(colocation.is_full(&IP, &peers[2]) && !colocation.is_full(&OTHER, &peers[2]));
        assert!(!colocation.is_full(&IP, &peers[0]), "who is here may come again");
        colocation.remove(IP, &peers[0]);
        assert!(colocation.is_full(&IP, &peers[2]), "one connection of it is left");
        colocation.remove(IP, &peers[0]);
        assert!(!colocation.is_full(&IP, &peers[2]));
        colocation.remove(IP, &peers[1]);
        assert!(colocation.peers.is_empty());
    }

    #[test]
    fn zero_is_no_limit_and_some_addresses_have_none() {
        for mut colocation in [Behaviour::new(0, Vec::new()), Behaviour::new(1, vec![IP])] {
            (0..9).for_each(|_| colocation.add(IP, PeerId::random()));
            assert!(!colocation.is_full(&IP, &PeerId::random()));
        }
    }

    #[test]
    fn the_address_of_a_connection() {
        let ip = |text: &str| ip_of(&text.parse().expect("a multiaddress"));
        assert_eq!(ip("/ip4/192.0.2.1/tcp/1/ws"), Some(IP));
        assert_eq!(ip("/ip6/::ffff:192.0.2.1/tcp/1"), Some(IP), "the same address in other clothes");
        assert_eq!(ip("/dns4/a/tcp/1"), None);
    }
}
