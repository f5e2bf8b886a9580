//! The part of the exchange in each connection: hands inbound streams to who serves them, and opens outbound ones.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};

use libp2p::swarm::handler::{
    ConnectionEvent, DialUpgradeError, FullyNegotiatedInbound, FullyNegotiatedOutbound, StreamUpgradeError,
};
use libp2p::swarm::{ConnectionHandler, ConnectionHandlerEvent, ConnectionId, SubstreamProtocol};
use libp2p::{PeerId, Stream};
use tokio::sync::{mpsc, oneshot};

use super::Shared;
use super::error::RequestError;
use super::request::OPEN_TIMEOUT;
use super::upgrade::{Inbound, Outbound};

/// Streams that wait to be opened on one connection.
pub(super) const ORDERS_MAX: usize = 64;

/// Streams of one connection whose protocol is being agreed on.
const NEGOTIATING_MAX: usize = 16;

/// A stream that somebody wants.
#[derive(Debug)]
pub(crate) struct Order {
    pub(super) protocol: &'static str,
    pub(super) reply: Reply,
}

/// Who waits for a stream.
pub(crate) type Reply = oneshot::Sender<Result<Stream, RequestError>>;

/// Where streams to each peer are ordered.
#[derive(Debug, Default)]
pub(super) struct Connections(HashMap<PeerId, Vec<(ConnectionId, mpsc::Sender<Order>)>>);

impl Connections {
    pub(super) fn add(&mut self, peer: PeerId, connection: ConnectionId, orders: mpsc::Sender<Order>) {
        self.0.entry(peer).or_default().push((connection, orders));
    }

    pub(super) fn remove(&mut self, peer: PeerId, connection: ConnectionId) {
        let Some(connections) = self.0.get_mut(&peer) else { return };
        connections.retain(|(id, _)| *id != connection);
        if connections.is_empty() {
            self.0.remove(&peer);
        }
    }

    /// The oldest connection: with two, the newer is likely to be the one that goes.
    pub(super) fn orders(&self, peer: &PeerId) -> Option<mpsc::Sender<Order>> {
        self.0.get(peer)?.iter().map(|(_, orders)| orders).find(|orders| !orders.is_closed()).cloned()
    }

    /// The connection that orders go to.
    pub(super) fn oldest(&self, peer: &PeerId) -> Option<ConnectionId> {
        self.0.get(peer)?.iter().find(|(_, orders)| !orders.is_closed()).map(|(id, _)| *id)
    }

    pub(super) fn is_connected(&self, peer: &PeerId) -> bool {
        self.0.contains_key(peer)
    }
}

/// See the module.
pub(crate) struct Connection {
    shared: Arc<Shared>,
    peer: PeerId,
    /// There once the connection counts as established.
    orders: Option<mpsc::Receiver<Order>>,
    negotiating: usize,
}

impl Connection {
    pub(super) fn new(shared: Arc<Shared>, peer: PeerId) -> Self {
        Self { shared, peer, orders: None, negotiating: 0 }
    }
}

impl ConnectionHandler for Connection {
    type FromBehaviour = mpsc::Receiver<Order>;
    type ToBehaviour = Infallible;
    type InboundProtocol = Inbound;
    type OutboundProtocol = Outbound;
    type InboundOpenInfo = ();
    type OutboundOpenInfo = Order;

    fn listen_protocol(&self) -> SubstreamProtocol<Inbound> {
        SubstreamProtocol::new(Inbound(self.shared.served()), ())
    }

    fn on_behaviour_event(&mut self, orders: mpsc::Receiver<Order>) {
        self.orders = Some(orders);
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<ConnectionHandlerEvent<Outbound, Order, Infallible>> {
        let Some(orders) = self.orders.as_mut().filter(|_| self.negotiating < NEGOTIATING_MAX) else {
            return Poll::Pending;
        };
        // The sender's end lives as long as the connection.
        let Poll::Ready(Some(order)) = orders.poll_recv(cx) else { return Poll::Pending };
        self.negotiating += 1;
        let protocol = SubstreamProtocol::new(Outbound(order.protocol), order).with_timeout(OPEN_TIMEOUT);
        Poll::Ready(ConnectionHandlerEvent::OutboundSubstreamRequest { protocol })
    }

    fn on_connection_event(&mut self, event: ConnectionEvent<'_, Inbound, Outbound, (), Order>) {
        match event {
            ConnectionEvent::FullyNegotiatedInbound(FullyNegotiatedInbound { protocol: (stream, served), .. }) => {
                served.start(self.peer, stream);
            }
            ConnectionEvent::FullyNegotiatedOutbound(FullyNegotiatedOutbound { protocol: stream, info: order }) => {
                self.negotiating -= 1;
                // Who no longer waits has dropped its end, and the stream is reset.
                let _ = order.reply.send(Ok(stream));
            }
            ConnectionEvent::DialUpgradeError(DialUpgradeError { info: order, error }) => {
                self.negotiating -= 1;
                let protocol = order.protocol;
                let error = match error {
                    StreamUpgradeError::Timeout => RequestError::open_timed_out(),
                    StreamUpgradeError::NegotiationFailed => RequestError::Unsupported { protocol },
                    StreamUpgradeError::Io(error) => error.into(),
                    StreamUpgradeError::Apply(never) => match never {},
                };
                let _ = order.reply.send(Err(error));
            }
            _ => {}
        }
    }
}
