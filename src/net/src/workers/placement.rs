//! Which worker a connection lives on.
//!
//! The swarm hands its executor tasks without a name: one for the handshake of a connection, another when it is established. But it asks
//! its behaviours right before each, so that [`Placing`] can say whose task comes next.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use libp2p::core::Endpoint;
use libp2p::core::transport::PortUse;
use libp2p::swarm::{
    ConnectionClosed, ConnectionDenied, ConnectionId, DialFailure, FromSwarm, ListenFailure, NetworkBehaviour,
    THandler, THandlerInEvent, THandlerOutEvent, ToSwarm, dummy,
};
use libp2p::{Multiaddr, PeerId};

/// The workers of the connections there are.
///
/// Memory: an entry for each connection, established or not, which the connection limits bound.
#[derive(Debug)]
pub(crate) struct Placement(Mutex<Places>);

#[derive(Debug)]
struct Places {
    workers: HashMap<ConnectionId, usize>,
    /// Connections of each worker.
    loads: Box<[usize]>,
    /// Whose task comes next.
    next: usize,
}

impl Placement {
    /// So many workers without a connection; at least one.
    pub(crate) fn new(workers: usize) -> Self {
        let loads = vec![0; workers.max(1)].into();
        Self(Mutex::new(Places { workers: HashMap::new(), loads, next: 0 }))
    }

    pub(crate) fn workers(&self) -> usize {
        self.places().loads.len()
    }

    /// The worker of the task that the swarm spawns now. What is no connection's, as saying goodbye to one that was refused, goes to
    /// the worker of the task before.
    pub(super) fn take_next(&self) -> usize {
        self.places().next
    }

    fn places(&self) -> MutexGuard<'_, Places> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The task of this connection comes next. A new connection goes to the worker that has fewest.
    fn announce(&self, connection: ConnectionId) {
        let Places { workers, loads, next } = &mut *self.places();
        *next = *workers.entry(connection).or_insert_with(|| {
            let fewest = (0..loads.len()).min_by_key(|worker| loads[*worker]).unwrap_or_default();
            loads[fewest] += 1;
            fewest
        });
    }

    fn forget(&self, connection: ConnectionId) {
        let Places { workers, loads, .. } = &mut *self.places();
        if let Some(worker) = workers.remove(&connection) {
            loads[worker] -= 1;
        }
    }
}

/// Tells the placement what the swarm does. It must be the last of the behaviours: what another one refuses has no place.
#[derive(Debug)]
pub(crate) struct Placing(Arc<Placement>);

impl Placing {
    pub(crate) fn new(placement: Arc<Placement>) -> Self {
        Self(placement)
    }
}

impl NetworkBehaviour for Placing {
    type ConnectionHandler = dummy::ConnectionHandler;
    type ToSwarm = Infallible;

    fn handle_pending_inbound_connection(
        &mut self,
        connection: ConnectionId,
        _local: &Multiaddr,
        _remote: &Multiaddr,
    ) -> Result<(), ConnectionDenied> {
        self.0.announce(connection);
        Ok(())
    }

    fn handle_established_inbound_connection(
        &mut self,
        connection: ConnectionId,
        _peer: PeerId,
        _local: &Multiaddr,
        _remote: &Multiaddr,
    ) -> Result<THandler<Self>, ConnectionDenied> {
        self.0.announce(connection);
        Ok(dummy::ConnectionHandler)
    }

    fn handle_pending_outbound_connection(
        &mut self,
        connection: ConnectionId,
        _peer: Option<PeerId>,
        _addresses: &[Multiaddr],
        _role: Endpoint,
    ) -> Result<Vec<Multiaddr>, ConnectionDenied> {
        self.0.announce(connection);
        Ok(Vec::new())
    }

    fn handle_established_outbound_connection(
        &mut self,
        connection: ConnectionId,
        _peer: PeerId,
        _address: &Multiaddr,
        _role: Endpoint,
        _port: PortUse,
    ) -> Result<THandler<Self>, ConnectionDenied> {
        self.0.announce(connection);
        Ok(dummy::ConnectionHandler)
    }

    fn on_swarm_event(&mut self, event: FromSwarm<'_>) {
        match event {
            FromSwarm::ConnectionClosed(ConnectionClosed { connection_id, .. })
            | FromSwarm::DialFailure(DialFailure { connection_id, .. })
            | FromSwarm::ListenFailure(ListenFailure { connection_id, .. }) => self.0.forget(connection_id),
            _ => {}
        }
    }

    fn on_connection_handler_event(&mut self, _: PeerId, _: ConnectionId, event: THandlerOutEvent<Self>) {
        match event {}
    }

    fn poll(&mut self, _: &mut Context<'_>) -> Poll<ToSwarm<Infallible, THandlerInEvent<Self>>> {
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_keeps_its_worker_and_new_ones_go_where_fewest_are() {
        let placement = Placement::new(2);
        let place = |id| {
            placement.announce(ConnectionId::new_unchecked(id));
            placement.take_next()
        };
        assert_eq!([1, 2, 1, 2, 3].map(place), [0, 1, 0, 1, 0]);
        placement.forget(ConnectionId::new_unchecked(1));
        placement.forget(ConnectionId::new_unchecked(1));
        placement.forget(ConnectionId::new_unchecked(3));
        assert_eq!([4, 5, 6].map(place), [0, 0, 1]);
    }
}
