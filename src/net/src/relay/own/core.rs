//! The one router of the node, and the connections it speaks through. The tasks of all connections share it behind a lock that is held
//! for a look-up or a push, never while a payload is read, hashed or written.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use levada_router::{Actions, Moment, PeerIndex, PeerInfo, Protocol, Router, TopicIndex};
use levada_wire::gossipsub;
use levada_wire::hash::sha256;
use libp2p::PeerId;
use libp2p::swarm::ConnectionId;

use super::events::Events;
use super::outgoing::Outgoing;
use super::queue::Link;
use crate::peers::PeerHandle;

/// What the router keeps of a message: nothing until it is accepted, since its record is written until then.
pub(crate) type Handle = Option<Outgoing>;

/// A peer with at least one connection.
#[derive(Debug)]
pub(crate) struct Peer {
    /// The number that the records of its messages carry; absent until the node has given it one.
    pub(crate) handle: Option<PeerHandle>,
    /// Its place in the router; absent until a stream has been agreed on.
    pub(crate) index: Option<PeerIndex>,
    is_outbound: bool,
    ip: Option<IpAddr>,
    /// In the order in which they came. Which of them is written to is said by [`Occupant::connection`].
    links: Vec<(ConnectionId, Arc<Link>)>,
}

/// What one place of the router's table of peers stands for.
#[derive(Clone, Debug)]
pub(crate) struct Occupant {
    pub(crate) peer: PeerId,
    /// The connection that is written to: the first one with a stream, which need not be the oldest, until it closes.
    pub(crate) connection: ConnectionId,
    pub(crate) link: Arc<Link>,
}

pub(crate) struct Core {
    pub(crate) router: Router<Handle>,
    pub(crate) actions: Actions<Handle>,
    pub(crate) peers: HashMap<PeerId, Peer>,
    /// By [`PeerIndex::slot`].
    pub(crate) occupants: Vec<Option<Occupant>>,
    pub(crate) joined: BTreeMap<String, TopicIndex>,
    pub(crate) events: Events,
    /// The Waku cluster whose topics are kept.
    pub(crate) cluster: u16,
    /// Bytes of a frame that peers read.
    pub(crate) rpc_bytes_max: usize,
    /// The topics' names as they stand in frames, by [`TopicIndex::slot`].
    topic_fields: Vec<Option<(TopicIndex, Bytes)>>,
    /// Where control frames are put together.
    pub(super) body: BytesMut,
    pub(super) frames: BytesMut,
}

impl Core {
    pub(crate) fn new(router: Router<Handle>, cluster: u16, rpc_bytes_max: usize) -> Self {
        Self {
            router,
            actions: Actions::new(),
            peers: HashMap::new(),
            occupants: Vec::new(),
            joined: BTreeMap::new(),
            events: Events::default(),
            cluster,
            rpc_bytes_max,
            topic_fields: Vec::new(),
            body: BytesMut::new(),
            frames: BytesMut::new(),
        }
    }

    /// A connection has come. Nothing is sent before a stream is agreed on.
    pub(crate) fn connect(
        &mut self,
        peer: PeerId,
        connection: ConnectionId,
        is_outbound: bool,
        ip: Option<IpAddr>,
        link: Arc<Link>,
    ) {
        let peer =
            self.peers.entry(peer).or_insert(Peer { handle: None, index: None, is_outbound, ip, links: Vec::new() });
        peer.links.push((connection, link));
    }

    /// A stream of a connection has been agreed on. The first one of a peer makes it known to the router.
    pub(crate) fn agree(&mut self, id: PeerId, connection: ConnectionId, protocol: Protocol, now: Moment) {
        let Some(peer) = self.peers.get_mut(&id) else { return };
        let Some((_, link)) = peer.links.iter().find(|(known, _)| *known == connection) else { return };
        if peer.index.is_some() {
            return;
        }
        let info =
            PeerInfo { key: sha256(&id.to_bytes()), protocol, direct: false, outbound: peer.is_outbound, ip: peer.ip };
        let occupant = Occupant { peer: id, connection, link: link.clone() };
        match self.router.connected(info, &mut self.actions) {
            Ok(index) => {
                peer.index = Some(index);
                self.occupy(index, Some(occupant));
                self.dispatch(now);
            }
            Err(error) => {
                tracing::debug!(peer = %id, %error, "the relay does not take the peer in");
                self.events.close(id);
            }
        }
    }

    fn occupy(&mut self, index: PeerIndex, occupant: Option<Occupant>) {
        let slot = index.slot();
        if self.occupants.len() <= slot {
            self.occupants.resize(slot + 1, None);
        }
        self.occupants[slot] = occupant;
    }

    /// The peer may have missed what was sent before: it is told the joined topics again.
    pub(crate) fn announce_again(&mut self, id: &PeerId) {
        let Some(index) = self.peers.get(id).and_then(|peer| peer.index) else { return };
        self.frames.clear();
        for topic in self.joined.keys() {
            self.body.clear();
            gossipsub::subscribe(topic, true, &mut self.body);
            super::dispatch::append_frame(&self.body, &mut self.frames);
        }
        self.send_frames(index.slot());
    }

    /// A connection has closed. If it was the one that is written to, another one of the same peer takes over what waits there.
    pub(crate) fn disconnect(&mut self, id: PeerId, connection: ConnectionId, now: Moment) {
        let Some(peer) = self.peers.get_mut(&id) else { return };
        peer.links.retain(|(known, _)| *known != connection);
        let (index, next) = (peer.index, peer.links.first().cloned());
        match (index, next) {
            (Some(index), Some((next, link))) => {
                let Some(Some(occupant)) = self.occupants.get_mut(index.slot()) else { return };
                if occupant.connection == connection {
                    std::mem::swap(&mut *occupant.link.queue(), &mut *link.queue());
                    *occupant = Occupant { peer: id, connection: next, link };
                    self.announce_again(&id);
                }
            }
            (None, Some(_)) => {}
            (index, None) => {
                self.peers.remove(&id);
                if let Some(index) = index {
                    self.router.disconnected(index, now);
                    self.occupy(index, None);
                }
            }
        }
    }

    pub(crate) fn index_of(&self, id: &PeerId) -> Option<PeerIndex> {
        self.peers.get(id)?.index
    }

    /// The field of the topic in frames on it, encoded once for all of them.
    pub(crate) fn topic_field(&mut self, topic: TopicIndex) -> Bytes {
        let slot = topic.slot();
        if self.topic_fields.len() <= slot {
            self.topic_fields.resize(slot + 1, None);
        }
        if let Some((known, field)) = &self.topic_fields[slot]
            && *known == topic
        {
            return field.clone();
        }
        let mut bytes = BytesMut::new();
        gossipsub::publish_topic(self.router.topic_name(topic).unwrap_or_default(), &mut bytes);
        let field = bytes.freeze();
        self.topic_fields[slot] = Some((topic, field.clone()));
        field
    }
}

#[cfg(test)]
#[path = "core_tests.rs"]
mod tests;
