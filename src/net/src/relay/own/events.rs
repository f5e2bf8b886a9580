//! What the router has to tell the swarm, until the swarm asks.

use std::collections::HashSet;

use futures::task::AtomicWaker;
use libp2p::PeerId;
use libp2p::swarm::ConnectionId;

use crate::relay::RelayEvent;

/// One thing to tell.
#[derive(Debug)]
pub(crate) enum Told {
    Event(RelayEvent),
    /// Close all connections of a peer.
    ClosePeer(PeerId),
    Close(PeerId, ConnectionId),
}

/// Memory: one entry per peer or connection and kind at most.
#[derive(Debug, Default)]
pub(crate) struct Events {
    subscriptions_changed: bool,
    unsupported: HashSet<PeerId>,
    closing: HashSet<PeerId>,
    closing_one: HashSet<(PeerId, ConnectionId)>,
    dropped: Vec<(PeerId, usize)>,
    waker: AtomicWaker,
}

impl Events {
    pub(crate) fn subscriptions_changed(&mut self) {
        self.subscriptions_changed = true;
        self.waker.wake();
    }

    pub(crate) fn unsupported(&mut self, peer: PeerId) {
        self.unsupported.insert(peer);
        self.waker.wake();
    }

    pub(crate) fn close(&mut self, peer: PeerId) {
        self.closing.insert(peer);
        self.waker.wake();
    }

    pub(crate) fn close_one(&mut self, peer: PeerId, connection: ConnectionId) {
        self.closing_one.insert((peer, connection));
        self.waker.wake();
    }

    /// At most once per peer and heartbeat.
    pub(crate) fn dropped(&mut self, peer: PeerId, messages: usize) {
        self.dropped.push((peer, messages));
        self.waker.wake();
    }

    /// Takes one, or has `waker` woken when there is one.
    pub(crate) fn poll(&mut self, waker: &std::task::Waker) -> Option<Told> {
        self.waker.register(waker);
        if std::mem::take(&mut self.subscriptions_changed) {
            return Some(Told::Event(RelayEvent::Subscriptions));
        }
        if let Some((peer, messages)) = self.dropped.pop() {
            return Some(Told::Event(RelayEvent::Dropped { peer, messages }));
        }
        if let Some(peer) = take_any(&mut self.unsupported) {
            return Some(Told::Event(RelayEvent::Unsupported { peer }));
        }
        if let Some((peer, connection)) = take_any(&mut self.closing_one) {
            return Some(Told::Close(peer, connection));
        }
        take_any(&mut self.closing).map(Told::ClosePeer)
    }
}

fn take_any<T: Copy + Eq + std::hash::Hash>(set: &mut HashSet<T>) -> Option<T> {
    let any = set.iter().next().copied()?;
    set.remove(&any);
    Some(any)
}
