//! The part of the connections that is for relay (`--relay-service-ratio`): a relay peer too many that came by itself is disconnected.
//!
//! nwaku disconnects those that came first, which lets whoever opens connections throw out the mesh.

use libp2p::multiaddr::Protocol;
use libp2p::{PeerId, StreamProtocol};

use crate::counters;
use crate::relay::{PROTOCOL, Relay};
use crate::service::Service;

/// Whether a peer with these protocols takes part in relay.
pub(crate) fn is_relay(protocols: &[StreamProtocol]) -> bool {
    protocols.iter().any(|protocol| protocol.as_ref() == PROTOCOL)
}

impl<R: Relay> Service<R> {
    /// Looks at a peer that has just said what it serves.
    pub(crate) fn keep_relay_share(&mut self, peer: &PeerId) {
        let is_over = self.peers.is_incoming_relay(peer)
            && !self.is_static(peer)
            && self.peers.incoming_relay() > self.config.relay_incoming_max;
        // It may have left by itself meanwhile.
        if is_over && self.swarm.disconnect_peer_id(*peer).is_ok() {
            self.peers.dismiss(peer);
            counters::RELAY_SHARE_DISCONNECTS.add(1);
            tracing::debug!(%peer, "disconnected: relay has its part of the connections");
        }
    }

    fn is_static(&self, peer: &PeerId) -> bool {
        let is_of = |part| matches!(part, Protocol::P2p(id) if id == *peer);
        self.config.static_peers.iter().any(|address| address.iter().any(is_of))
    }
}
