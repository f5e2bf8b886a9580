//! One connection per peer.
//!
//! Two nodes that dial each other at the same moment get two connections, and if each refused the other's they would end up with none.
//! So a second one is let in. If both are still there after a while, which leaves the peer time for a rule of its own, one is closed, and
//! two nodes with this rule choose the same one: it stays what the peer with the lesser id has dialled. Of two that one side has dialled
//! the newer stays, because whoever dials again has lost the first.

use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use libp2p::core::Endpoint;
use libp2p::core::transport::PortUse;
use libp2p::swarm::behaviour::ConnectionEstablished;
use libp2p::swarm::{
    CloseConnection, ConnectionClosed, ConnectionDenied, ConnectionId, FromSwarm, NetworkBehaviour, THandler,
    THandlerInEvent, THandlerOutEvent, ToSwarm, dummy,
};
use libp2p::{Multiaddr, PeerId};
use tokio::time::{Instant, Sleep, sleep_until};

/// How long two connections of one peer may last beside each other.
const BOTH_FOR: Duration = Duration::from_secs(5);

/// A connection of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Known {
    connection: ConnectionId,
    /// Whether this node dialled.
    is_ours: bool,
}

/// Closes what is one too many.
///
/// Memory: an entry for each connection, which the connection limits bound.
#[derive(Debug)]
pub(crate) struct Single {
    local: PeerId,
    /// In the order in which they came.
    connections: HashMap<PeerId, Vec<Known>>,
    /// Peers with more than one, and when to look again.
    due: VecDeque<(Instant, PeerId)>,
    timer: Option<Pin<Box<Sleep>>>,
}

impl Single {
    pub(crate) fn new(local: PeerId) -> Self {
        Self { local, connections: HashMap::new(), due: VecDeque::new(), timer: None }
    }

    fn opened(&mut self, peer: PeerId, known: Known) {
        let connections = self.connections.entry(peer).or_default();
        connections.push(known);
        if connections.len() > 1 {
            self.due.push_back((Instant::now() + BOTH_FOR, peer));
        }
    }

    fn closed(&mut self, peer: PeerId, connection: ConnectionId) {
        if let Some(connections) = self.connections.get_mut(&peer) {
            connections.retain(|known| known.connection != connection);
            if connections.is_empty() {
                self.connections.remove(&peer);
            }
        }
    }

    /// Which connection of the peer must go, if there is more than one.
    fn superfluous(&self, peer: &PeerId) -> Option<ConnectionId> {
        let [first, .., last] = self.connections.get(peer)?.as_slice() else { return None };
        let stays_ours = self.local < *peer;
        let goes = if first.is_ours != last.is_ours && first.is_ours == stays_ours { last } else { first };
        Some(goes.connection)
    }

    /// Waits for the next peer that is due.
    fn poll_due(&mut self, cx: &mut Context<'_>) -> Poll<PeerId> {
        let Some((at, peer)) = self.due.front().copied() else { return Poll::Pending };
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(at)));
        ready!(timer.as_mut().poll(cx));
        self.timer = None;
        self.due.pop_front();
        Poll::Ready(peer)
    }
}

impl NetworkBehaviour for Single {
    type ConnectionHandler = dummy::ConnectionHandler;
    type ToSwarm = Infallible;

    fn handle_established_inbound_connection(
        &mut self,
        _: ConnectionId,
        _: PeerId,
        _: &Multiaddr,
        _: &Multiaddr,
    ) -> Result<THandler<Self>, ConnectionDenied> {
        Ok(dummy::ConnectionHandler)
    }

    fn handle_established_outbound_connection(
        &mut self,
        _: ConnectionId,
        _: PeerId,
        _: &Multiaddr,
        _: Endpoint,
        _: PortUse,
    ) -> Result<THandler<Self>, ConnectionDenied> {
        Ok(dummy::ConnectionHandler)
    }

    fn on_swarm_event(&mut self, event: FromSwarm<'_>) {
        match event {
            FromSwarm::ConnectionEstablished(ConnectionEstablished { peer_id, connection_id, endpoint, .. }) => {
                self.opened(peer_id, Known { connection: connection_id, is_ours: endpoint.is_dialer() });
            }
            FromSwarm::ConnectionClosed(ConnectionClosed { peer_id, connection_id, .. }) => {
                self.closed(peer_id, connection_id);
            }
            _ => {}
        }
    }

    fn on_connection_handler_event(&mut self, _: PeerId, _: ConnectionId, event: THandlerOutEvent<Self>) {
        match event {}
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<ToSwarm<Infallible, THandlerInEvent<Self>>> {
        loop {
            let peer_id = ready!(self.poll_due(cx));
            if let Some(connection) = self.superfluous(&peer_id) {
                tracing::debug!(peer = %peer_id, "closed one of two connections");
                return Poll::Ready(ToSwarm::CloseConnection { peer_id, connection: CloseConnection::One(connection) });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NodeKey;

    /// Two ids in order.
    fn ids() -> [PeerId; 2] {
        let mut ids = [(); 2].map(|()| NodeKey::generate().peer_id());
        ids.sort_unstable();
        ids
    }

    fn connection(number: usize) -> ConnectionId {
        ConnectionId::new_unchecked(number)
    }

    #[test]
    fn both_sides_close_the_same_of_two_that_crossed() {
        let [lesser, greater] = ids();
        for first_is_of_lesser in [true, false] {
            let close_at = |local: PeerId, peer: PeerId| {
                let mut single = Single::new(local);
                for (number, is_of_lesser) in [(1, first_is_of_lesser), (2, !first_is_of_lesser)] {
                    let is_ours = is_of_lesser == (local == lesser);
                    single.connections.entry(peer).or_default().push(Known { connection: connection(number), is_ours });
                }
                single.superfluous(&peer)
            };
            let of_greater = connection(if first_is_of_lesser { 2 } else { 1 });
            assert_eq!(close_at(lesser, greater), Some(of_greater));
            assert_eq!(close_at(greater, lesser), Some(of_greater));
        }
    }

    #[test]
    fn of_two_from_one_side_the_older_goes_unless_one_has_gone_by_itself() {
        let [local, peer] = ids();
        let mut single = Single::new(local);
        let known = |number| Known { connection: connection(number), is_ours: false };
        single.opened(peer, known(1));
        assert_eq!((single.superfluous(&peer), single.due.len()), (None, 0));
        single.opened(peer, known(2));
        assert_eq!((single.superfluous(&peer), single.due.len()), (Some(connection(1)), 1));
        single.closed(peer, connection(1));
        assert_eq!(single.superfluous(&peer), None);
        single.closed(peer, connection(2));
        assert!(single.connections.is_empty());
    }
}
