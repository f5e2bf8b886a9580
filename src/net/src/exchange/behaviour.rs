//! The exchange in the swarm: it only follows which connections there are.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::task::{Context, Poll};

use libp2p::core::Endpoint;
use libp2p::core::transport::PortUse;
use libp2p::swarm::{
    ConnectionDenied, ConnectionId, FromSwarm, NetworkBehaviour, NotifyHandler, THandler, THandlerInEvent, ToSwarm,
};
use libp2p::{Multiaddr, PeerId};
use tokio::sync::mpsc;

use super::Exchange;
use super::connection::{Connection, ORDERS_MAX, Order};

/// See the module.
pub(crate) struct Behaviour {
    exchange: Exchange,
    /// For connections that are new.
    orders: VecDeque<(PeerId, ConnectionId, mpsc::Receiver<Order>)>,
}

impl Behaviour {
    pub(crate) fn new(exchange: Exchange) -> Self {
        Self { exchange, orders: VecDeque::new() }
    }
}

impl NetworkBehaviour for Behaviour {
    type ConnectionHandler = Connection;
    type ToSwarm = Infallible;

    fn handle_established_inbound_connection(
        &mut self,
        _: ConnectionId,
        peer: PeerId,
        _: &Multiaddr,
        _: &Multiaddr,
    ) -> Result<THandler<Self>, ConnectionDenied> {
        Ok(Connection::new(self.exchange.shared.clone(), peer))
    }

    fn handle_established_outbound_connection(
        &mut self,
        _: ConnectionId,
        peer: PeerId,
        _: &Multiaddr,
        _: Endpoint,
        _: PortUse,
    ) -> Result<THandler<Self>, ConnectionDenied> {
        Ok(Connection::new(self.exchange.shared.clone(), peer))
    }

    fn on_swarm_event(&mut self, event: FromSwarm<'_>) {
        match event {
            // Not earlier: another behaviour may still deny the connection, and then nobody tells that it has gone.
            FromSwarm::ConnectionEstablished(established) => {
                let (orders, queue) = mpsc::channel(ORDERS_MAX);
                let (peer, connection) = (established.peer_id, established.connection_id);
                self.exchange.shared.connections().add(peer, connection, orders);
                self.orders.push_back((peer, connection, queue));
            }
            FromSwarm::ConnectionClosed(closed) => {
                self.exchange.shared.connections().remove(closed.peer_id, closed.connection_id);
            }
            _ => {}
        }
    }

    fn on_connection_handler_event(&mut self, _: PeerId, _: ConnectionId, event: Infallible) {
        match event {}
    }

    fn poll(&mut self, _: &mut Context<'_>) -> Poll<ToSwarm<Infallible, THandlerInEvent<Self>>> {
        let Some((peer_id, connection, event)) = self.orders.pop_front() else { return Poll::Pending };
        Poll::Ready(ToSwarm::NotifyHandler { peer_id, handler: NotifyHandler::One(connection), event })
    }
}
