//! The router in the swarm: connections come and go, the heart beats, and what the router tells is passed on. Messages do not come this
//! way: the connections' own tasks carry them.

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use libp2p::core::Endpoint;
use libp2p::core::transport::PortUse;
use libp2p::multiaddr::Protocol;
use libp2p::swarm::{
    CloseConnection, ConnectionDenied, ConnectionId, FromSwarm, NetworkBehaviour, THandler, THandlerInEvent, ToSwarm,
};
use libp2p::{Multiaddr, PeerId};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use super::connection::Connection;
use super::events::Told;
use super::queue::Link;
use super::shared::Shared;
use crate::relay::RelayEvent;

/// js-waku's.
const FIRST_HEARTBEAT_AFTER: Duration = Duration::from_millis(100);

/// The node's own relay router.
pub(crate) struct OwnRelay {
    pub(super) shared: Arc<Shared>,
    heartbeat_every: Duration,
    /// Made on the first poll, which is inside of the runtime.
    heartbeat: Option<Interval>,
}

impl OwnRelay {
    pub(super) fn new(shared: Shared, heartbeat_every: Duration) -> Self {
        Self { shared: Arc::new(shared), heartbeat_every, heartbeat: None }
    }

    fn connect(&self, peer: PeerId, connection: ConnectionId, address: &Multiaddr, is_outbound: bool) -> Connection {
        let link = Arc::new(Link::new(self.shared.queues));
        self.shared.core().connect(peer, connection, is_outbound, ip_of(address), link.clone());
        Connection::new(self.shared.clone(), peer, connection, link)
    }

    fn beat(&mut self, cx: &mut Context<'_>) {
        let every = self.heartbeat_every;
        let heartbeat = self.heartbeat.get_or_insert_with(|| {
            let mut heartbeat = interval_at(Instant::now() + FIRST_HEARTBEAT_AFTER, every);
            heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
            heartbeat
        });
        while heartbeat.poll_tick(cx).is_ready() {
            self.shared.beat();
        }
    }
}

fn ip_of(address: &Multiaddr) -> Option<IpAddr> {
    address.iter().find_map(|part| match part {
        Protocol::Ip4(ip) => Some(ip.into()),
        Protocol::Ip6(ip) => Some(ip.into()),
        _ => None,
    })
}

impl NetworkBehaviour for OwnRelay {
    type ConnectionHandler = Connection;
    type ToSwarm = RelayEvent;

    fn handle_established_inbound_connection(
        &mut self,
        connection: ConnectionId,
        peer: PeerId,
        _local: &Multiaddr,
        remote: &Multiaddr,
    ) -> Result<THandler<Self>, ConnectionDenied> {
        Ok(self.connect(peer, connection, remote, false))
    }

    fn handle_established_outbound_connection(
        &mut self,
        connection: ConnectionId,
        peer: PeerId,
        address: &Multiaddr,
        _role: Endpoint,
        _port: PortUse,
    ) -> Result<THandler<Self>, ConnectionDenied> {
        Ok(self.connect(peer, connection, address, true))
    }

    fn on_swarm_event(&mut self, event: FromSwarm<'_>) {
        if let FromSwarm::ConnectionClosed(closed) = event {
            let now = self.shared.now();
            self.shared.core().disconnect(closed.peer_id, closed.connection_id, now);
        }
    }

    fn on_connection_handler_event(&mut self, _peer: PeerId, _connection: ConnectionId, event: Infallible) {
        match event {}
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<ToSwarm<RelayEvent, THandlerInEvent<Self>>> {
        self.beat(cx);
        match self.shared.core().events.poll(cx.waker()) {
            Some(Told::Event(event)) => Poll::Ready(ToSwarm::GenerateEvent(event)),
            Some(Told::ClosePeer(peer_id)) => {
                Poll::Ready(ToSwarm::CloseConnection { peer_id, connection: CloseConnection::All })
            }
            Some(Told::Close(peer_id, connection)) => {
                Poll::Ready(ToSwarm::CloseConnection { peer_id, connection: CloseConnection::One(connection) })
            }
            None => Poll::Pending,
        }
    }
}
