//! Relay (11/WAKU2-RELAY) behind a small trait, so that another router can take the place of the own one.

mod own;

use bytes::Bytes;
use levada_engine::Held;
use levada_wire::waku::WakuRecord;
use libp2p::PeerId;
use libp2p::swarm::NetworkBehaviour;

use crate::census::TopicPeers;
use crate::error::{PublishError, SubscribeError};
use crate::inbound::Verdict;
use crate::peers::PeerHandle;

pub(crate) use own::own;

/// The protocol id of relay, verbatim on the wire.
pub const PROTOCOL: &str = "/vac/waku/relay/2.0.0";

/// A relay router. All calls come from the task that polls it.
pub trait Relay: NetworkBehaviour {
    /// Joins a pubsub topic; `false` if it was joined before.
    ///
    /// # Errors
    ///
    /// [`SubscribeError::Refused`] if the router refuses the topic.
    fn subscribe(&mut self, topic: &str) -> Result<bool, SubscribeError>;

    /// Leaves a pubsub topic; `false` if it was not joined.
    fn unsubscribe(&mut self, topic: &str) -> bool;

    /// Publishes an encoded WakuMessage; `id` is its SHA-256 if the caller has computed it already.
    ///
    /// # Errors
    ///
    /// [`PublishError`]; none of them harms the router.
    fn publish(&mut self, topic: String, data: Bytes, id: Option<[u8; 32]>) -> Result<(), PublishError>;

    /// The number of connected peers that have subscribed to the topic. This may cost as much as a publish: ask only if somebody
    /// wants to know.
    fn subscribers(&self, topic: &str) -> usize;

    /// Applies a verdict on the message `id` that came from `from`, if that is still known; `false` if the router no longer had the
    /// message. `message` is the message itself, for a router that keeps none.
    fn report(
        &mut self,
        id: &[u8; 32],
        from: Option<&PeerId>,
        verdict: Verdict,
        message: Option<Held<WakuRecord>>,
    ) -> bool;

    /// A peer that has connected is known to the rest of the node as `handle`.
    fn named(&mut self, peer: &PeerId, handle: PeerHandle);

    /// Whether the score of `peer` is so low that it should be disconnected.
    fn is_graylisted(&self, peer: &PeerId) -> bool;

    /// The joined topics and the number of peers in the mesh of each.
    fn mesh_sizes(&self) -> Vec<(String, usize)>;

    /// Who has subscribed to each joined topic, and who of them is in its mesh.
    fn topic_peers(&self) -> Vec<TopicPeers> {
        Vec::new()
    }

    /// The score of a peer, if the router has one.
    fn score(&self, _peer: &PeerId) -> Option<f64> {
        None
    }

    /// What the router has counted since its start, by name.
    fn counters(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// The event of the router in the words of this crate.
    fn translate(event: Self::ToSwarm) -> RelayEvent;
}

/// What a relay router tells.
#[derive(Debug)]
#[non_exhaustive]
pub enum RelayEvent {
    /// A peer has joined or left a topic.
    Subscriptions,
    /// Messages to a peer were dropped because its send queue was full or slow.
    Dropped {
        /// The slow peer.
        peer: PeerId,
        /// How many.
        messages: usize,
    },
    /// A peer does not have the relay protocol. It stays: it may be a client of other protocols.
    Unsupported {
        /// The peer.
        peer: PeerId,
    },
}
