//! Messages of a router that does not read into slots: they are copied into one, and one that finds no room stops everything that is
//! read.

use levada_engine::ClaimError;
use levada_wire::waku::{Origin, WakuRecord};

use crate::counters;
use crate::inbound::{Refused, Verdict};
use crate::peers::PeerHandle;
use crate::relay::Relay;
use crate::service::Service;
use crate::stall::Stalled;

/// A message as such a router gives it.
pub(crate) struct Message {
    pub(crate) topic: String,
    pub(crate) data: Vec<u8>,
    pub(crate) id: [u8; 32],
    pub(crate) peer: PeerHandle,
}

/// A message that found no room. Meanwhile nothing is read.
pub(crate) struct Waiting {
    message: Message,
    _stalled: Stalled,
}

/// What became of an offer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Offer {
    Taken,
    Full,
    Dropped,
}

impl<R: Relay> Service<R> {
    /// Hands a message to the receiver, or stops reading.
    pub(crate) fn offer(&mut self, message: Message) {
        match self.try_offer(&message) {
            Offer::Taken => {}
            Offer::Full => {
                let stalled = Stalled::begin(&self.shared.stall);
                self.waiting = Some(Waiting { message, _stalled: stalled });
            }
            Offer::Dropped => self.drop_message(&message),
        }
    }

    pub(crate) fn offer_again(&mut self) {
        let Some(waiting) = self.waiting.take() else { return };
        match self.try_offer(&waiting.message) {
            Offer::Taken => {}
            Offer::Full => self.waiting = Some(waiting),
            Offer::Dropped => self.drop_message(&waiting.message),
        }
    }

    fn try_offer(&self, message: &Message) -> Offer {
        let Some(topic) = self.inbound.topic(&message.topic) else { return Offer::Dropped };
        let mut slot = match self.inbound.arena().claim(message.data.len()) {
            Ok(slot) => slot,
            Err(ClaimError::Full { .. }) => return Offer::Full,
            Err(error) => {
                tracing::warn!(%error, topic = message.topic, "a message was dropped");
                return Offer::Dropped;
            }
        };
        slot.fill(&message.data);
        *slot.record_mut() = WakuRecord {
            id: message.id,
            id_known: true,
            topic,
            peer: message.peer.0,
            origin: Origin::Gossip,
            ..WakuRecord::default()
        };
        match self.inbound.offer(slot.share().hold()) {
            Ok(()) => Offer::Taken,
            Err(Refused::Full(_)) => Offer::Full,
            Err(Refused::Dropped) => Offer::Dropped,
        }
    }

    fn drop_message(&mut self, message: &Message) {
        counters::MESSAGES_DROPPED.add(1);
        self.apply(&message.id, message.peer, Verdict::Ignore, None);
    }
}
