//! What the task does with each event of the swarm.

use std::time::Instant;

use levada_wire::waku::metadata::Metadata;
use libp2p::core::ConnectedPoint;
use libp2p::request_response::{Event as Exchange, Message, OutboundFailure};
use libp2p::swarm::{ConnectionId, SwarmEvent};
use libp2p::{PeerId, identify, ping};
use std::collections::BTreeSet;
use std::sync::atomic::Ordering::Relaxed;

use crate::behaviour::BehaviourEvent;
use crate::census::{ConnectError, reason_of};
use crate::counters;
use crate::metadata;
use crate::relay::{Relay, RelayEvent};
use crate::service::Service;

impl<R: Relay> Service<R> {
    pub(crate) fn on_event(&mut self, event: SwarmEvent<BehaviourEvent<R>>) {
        match event {
            SwarmEvent::Behaviour(BehaviourEvent::Relay(event)) => self.on_relay(R::translate(event)),
            SwarmEvent::Behaviour(BehaviourEvent::Metadata(event)) => self.on_metadata(event),
            SwarmEvent::Behaviour(BehaviourEvent::Identify(event)) => self.on_identify(event),
            SwarmEvent::Behaviour(BehaviourEvent::Ping(event)) => self.on_ping(&event),
            SwarmEvent::ConnectionEstablished { peer_id, connection_id, endpoint, num_established, .. } => {
                self.on_established(peer_id, connection_id, &endpoint, num_established.get() == 1);
            }
            SwarmEvent::ConnectionClosed { peer_id, endpoint, num_established, cause, .. } => {
                tracing::debug!(peer = %peer_id, ?cause, "connection closed");
                self.on_closed(peer_id, &endpoint, num_established == 0);
            }
            SwarmEvent::OutgoingConnectionError { connection_id, error, .. } => {
                counters::DIALS_FAILED.add(1);
                tracing::debug!(%error, "dial failed");
                self.dialler.on_failed(connection_id, &error, Instant::now());
                self.lookout.known.on_failed(connection_id, Instant::now());
                self.connected(connection_id, Err(ConnectError::Dial(reason_of(&error))));
            }
            SwarmEvent::IncomingConnectionError { error, send_back_addr, .. } => {
                counters::INCOMING_FAILED.add(1);
                tracing::debug!(from = %send_back_addr, %error, "incoming connection failed");
            }
            SwarmEvent::NewListenAddr { address, .. } => self.shared.set_listening(&address, true),
            SwarmEvent::ExpiredListenAddr { address, .. } => self.shared.set_listening(&address, false),
            SwarmEvent::ListenerClosed { addresses, reason, .. } => {
                tracing::error!(?addresses, ?reason, "a listener has closed");
                addresses.iter().for_each(|address| self.shared.set_listening(address, false));
            }
            SwarmEvent::ListenerError { error, .. } => {
                tracing::warn!(%error, "a listener cannot accept for the moment")
            }
            _ => {}
        }
    }

    fn on_established(&mut self, peer: PeerId, connection: ConnectionId, endpoint: &ConnectedPoint, first: bool) {
        if endpoint.is_dialer() {
            counters::DIALS_OK.add(1);
            counters::CONNECTIONS_OPENED_OUT.add(1);
        } else {
            counters::CONNECTIONS_OPENED_IN.add(1);
        }
        tracing::debug!(%peer, address = %endpoint.get_remote_address(), "connected");
        self.dialler.on_established(connection, peer);
        self.lookout.known.on_established(&peer);
        self.connected(connection, Ok(peer));
        if first {
            self.peers.arrive(peer, endpoint);
            let handle = self.peers.handle_of(peer);
            if let Some(relay) = self.swarm.behaviour_mut().relay.as_mut() {
                relay.named(&peer, handle);
            }
            self.peers_changed();
            let request = self.shards.metadata();
            self.swarm.behaviour_mut().metadata.send_request(&peer, request);
        }
    }

    fn on_closed(&mut self, peer: PeerId, endpoint: &ConnectedPoint, last: bool) {
        let closed =
            if endpoint.is_dialer() { &counters::CONNECTIONS_CLOSED_OUT } else { &counters::CONNECTIONS_CLOSED_IN };
        closed.add(1);
        if last && let Some(stayed) = self.peers.depart(&peer) {
            self.dialler.on_gone(peer, stayed, Instant::now());
            self.lookout.known.on_gone(&peer, stayed, Instant::now());
            self.peers_changed();
        }
    }

    fn peers_changed(&self) {
        self.shared.connected.store(self.peers.connected(), Relaxed);
        self.shared.changed();
    }

    fn on_relay(&mut self, event: RelayEvent) {
        match event {
            RelayEvent::Subscriptions => self.shared.changed(),
            RelayEvent::Dropped { peer, messages } => {
                counters::SEND_QUEUE_DROPS.add(messages as u64);
                tracing::debug!(%peer, messages, "dropped by a full or slow send queue");
            }
            RelayEvent::Unsupported { peer } => tracing::debug!(%peer, "the peer has no relay"),
        }
    }

    fn on_metadata(&mut self, event: Exchange<Metadata, Metadata>) {
        match event {
            Exchange::Message { message: Message::Request { channel, .. }, .. } => {
                let response = self.shards.metadata();
                // It fails only if the stream has gone meanwhile.
                let _ = self.swarm.behaviour_mut().metadata.send_response(channel, response);
            }
            Exchange::Message { peer, message: Message::Response { response, .. }, .. } => {
                let shards =
                    response.shards.iter().filter_map(|shard| u16::try_from(*shard).ok()).collect::<BTreeSet<u16>>();
                self.peers.serves(&peer, shards.into_iter().collect());
                self.on_cluster(peer, response.cluster_id)
            }
            Exchange::ResponseSent { .. } => counters::METADATA_ANSWERED.add(1),
            Exchange::OutboundFailure { error: OutboundFailure::UnsupportedProtocols, .. } => {
                counters::METADATA_UNSUPPORTED.add(1)
            }
            Exchange::OutboundFailure { peer, error, .. } => {
                // What does not parse has been counted by the codec.
                if !matches!(&error, OutboundFailure::Io(error) if metadata::is_malformed(error)) {
                    counters::METADATA_FAILED.add(1);
                }
                tracing::debug!(%peer, %error, "no metadata answer");
            }
            Exchange::InboundFailure { peer, error, .. } => {
                tracing::debug!(%peer, %error, "metadata stream ended without an answer");
            }
        }
    }

    fn on_cluster(&mut self, peer: PeerId, theirs: Option<u32>) {
        let ours = u32::from(self.config.cluster_id);
        match theirs {
            None => counters::METADATA_NO_CLUSTER.add(1),
            Some(theirs) if theirs == ours => counters::METADATA_SAME_CLUSTER.add(1),
            Some(theirs) => {
                counters::METADATA_OTHER_CLUSTER.add(1);
                tracing::info!(%peer, "disconnected: it is in cluster {theirs}, this node in cluster {ours}");
                self.lookout.known.shun(peer, Instant::now());
                // It may have left by itself meanwhile.
                let _ = self.swarm.disconnect_peer_id(peer);
            }
        }
    }

    fn on_identify(&mut self, event: identify::Event) {
        match event {
            identify::Event::Received { peer_id, info, .. } => {
                self.learn_from_identify(peer_id, &info.listen_addrs);
                self.peers.identified(&peer_id, info);
                self.keep_relay_share(&peer_id);
                self.shared.changed();
            }
            identify::Event::Error { peer_id, error, .. } => {
                tracing::debug!(peer = %peer_id, %error, "identify failed")
            }
            identify::Event::Sent { .. } | identify::Event::Pushed { .. } => {}
        }
    }

    fn on_ping(&mut self, event: &ping::Event) {
        let missed = match &event.result {
            Ok(_) => false,
            // A peer without ping is no worse for it.
            Err(ping::Failure::Unsupported) => return,
            Err(ping::Failure::Timeout | ping::Failure::Other { .. }) => true,
        };
        if self.peers.ping(&event.peer, missed) && self.swarm.close_connection(event.connection) {
            counters::PING_DISCONNECTS.add(1);
            tracing::debug!(peer = %event.peer, "disconnected: three pings in a row were not answered");
        }
    }
}
