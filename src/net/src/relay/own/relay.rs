//! What the node asks of the router.

use bytes::Bytes;
use levada_engine::Held;
use levada_router::{Message, Moment, PeerIndex, PublishError as RouterError, TopicIndex, Verdict as RouterVerdict};
use levada_wire::gossipsub::PublishHeader;
use levada_wire::hash::{Digest, message_id};
use levada_wire::waku::WakuRecord;
use libp2p::PeerId;

use super::behaviour::OwnRelay;
use super::core::Core;
use super::outgoing::{Outgoing, Payload};
use crate::census::TopicPeers;
use crate::error::{PublishError, SubscribeError};
use crate::inbound::Verdict;
use crate::peers::PeerHandle;
use crate::relay::{Relay, RelayEvent};

impl Core {
    fn publish(
        &mut self,
        topic: &str,
        number: Option<u32>,
        data: Bytes,
        id: Digest,
        now: Moment,
    ) -> Result<(), PublishError> {
        let index = self.router.topic(topic).ok_or(PublishError::NoPeers)?;
        let bytes_max = self.router.message_bytes_max(index) as usize;
        let bytes = data.len();
        let too_large = PublishError::TooLarge { bytes, bytes_max };
        if bytes > bytes_max {
            return Err(too_large);
        }
        let header = PublishHeader::new(topic, bytes).map_err(|_| too_large)?;
        let outgoing = Outgoing::new(header, self.topic_field(index), Payload::Bytes(data)).on_topic(number);
        let message = Message { id, topic: index, bytes: bytes as u32, handle: Some(outgoing) };
        self.router.publish(message, now, &mut self.actions).map_err(|error| match error {
            RouterError::Duplicate => PublishError::Duplicate,
            RouterError::TooLarge { bytes, bytes_max } => {
                PublishError::TooLarge { bytes: bytes as usize, bytes_max: bytes_max as usize }
            }
            _ => PublishError::NoPeers,
        })?;
        let sent = self.dispatch(now);
        if sent.queued == 0 && sent.meant > 0 { Err(PublishError::QueueFull) } else { Ok(()) }
    }

    /// `false` if the router no longer has the message.
    fn judge(&mut self, id: &Digest, verdict: Verdict, message: Option<Held<WakuRecord>>, now: Moment) -> bool {
        let verdict = match verdict {
            Verdict::Accept => {
                self.take_over(id, message);
                RouterVerdict::Accept
            }
            Verdict::Ignore => RouterVerdict::Ignore,
            Verdict::Reject => RouterVerdict::Reject,
        };
        let is_known = self.router.verdict(id, verdict, now, &mut self.actions);
        self.dispatch(now);
        is_known
    }

    /// Gives the router what it is going to forward.
    fn take_over(&mut self, id: &Digest, message: Option<Held<WakuRecord>>) {
        let Some(topic) = self.router.awaiting(id).map(|message| message.topic) else { return };
        let Some(message) = message else { return };
        let topic_field = self.topic_field(topic);
        let name = self.router.topic_name(topic).unwrap_or_default();
        let Ok(header) = PublishHeader::new(name, message.payload().len()) else { return };
        let outgoing = Outgoing::new(header, topic_field, Payload::Slot(message));
        if let Some(message) = self.router.awaiting(id) {
            message.handle = Some(outgoing);
        }
    }
}

impl Relay for OwnRelay {
    fn subscribe(&mut self, topic: &str) -> Result<bool, SubscribeError> {
        let (mut core, now) = (self.shared.core(), self.shared.now());
        let core = &mut *core;
        let (index, is_new) = core
            .router
            .join(topic, now, &mut core.actions)
            .map_err(|error| SubscribeError::Refused { topic: topic.to_owned(), reason: error.to_string() })?;
        core.joined.insert(topic.to_owned(), index);
        core.dispatch(now);
        Ok(is_new)
    }

    fn unsubscribe(&mut self, topic: &str) -> bool {
        let (mut core, now) = (self.shared.core(), self.shared.now());
        let core = &mut *core;
        let Some(index) = core.joined.remove(topic) else { return false };
        let was_joined = core.router.leave(index, now, &mut core.actions);
        core.dispatch(now);
        was_joined
    }

    fn publish(&mut self, topic: String, data: Bytes, id: Option<Digest>) -> Result<(), PublishError> {
        let id = id.unwrap_or_else(|| message_id(&data));
        let now = self.shared.now();
        let number = self.shared.inbound.topic(&topic);
        self.shared.core().publish(&topic, number, data, id, now)
    }

    fn subscribers(&self, topic: &str) -> usize {
        let core = self.shared.core();
        core.router.topic(topic).map_or(0, |topic| core.router.subscribers(topic).count())
    }

    fn report(&mut self, id: &Digest, _: Option<&PeerId>, verdict: Verdict, message: Option<Held<WakuRecord>>) -> bool {
        let now = self.shared.now();
        self.shared.core().judge(id, verdict, message, now)
    }

    fn named(&mut self, peer: &PeerId, handle: PeerHandle) {
        if let Some(peer) = self.shared.core().peers.get_mut(peer) {
            peer.handle = Some(handle);
        }
    }

    fn is_graylisted(&self, peer: &PeerId) -> bool {
        let core = self.shared.core();
        core.index_of(peer).is_some_and(|index| !core.router.accepts(index))
    }

    fn mesh_sizes(&self) -> Vec<(String, usize)> {
        let core = self.shared.core();
        core.joined.iter().map(|(name, topic)| (name.clone(), core.router.mesh(*topic).len())).collect()
    }

    fn topic_peers(&self) -> Vec<TopicPeers> {
        let core = self.shared.core();
        let peer = |index: PeerIndex| core.occupants.get(index.slot())?.as_ref().map(|occupant| occupant.peer);
        let of_topic = |(name, topic): (&String, &TopicIndex)| TopicPeers {
            topic: name.clone(),
            subscribers: core.router.subscribers(*topic).filter_map(peer).collect(),
            mesh: core.router.mesh(*topic).iter().copied().filter_map(peer).collect(),
        };
        core.joined.iter().map(of_topic).collect()
    }

    fn score(&self, peer: &PeerId) -> Option<f64> {
        let core = self.shared.core();
        core.router.score(core.index_of(peer)?)
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        self.shared.core().router.counters().iter().collect()
    }

    fn translate(event: RelayEvent) -> RelayEvent {
        event
    }
}
