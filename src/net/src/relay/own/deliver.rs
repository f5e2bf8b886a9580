//! A message that has come goes to the router and, if it is new, to the node's message path.

use levada_engine::{Held, HeldUnique};
use levada_router::{Incoming, Received, Refusal, Verdict};
use levada_wire::gossipsub::stream::Publication;
use levada_wire::waku::{Origin, WakuRecord};
use libp2p::PeerId;

use super::arrivals::{Arrived, Identified};
use super::core::Handle;
use super::outgoing::Outgoing;
use super::shared::Shared;
use crate::counters;
use crate::inbound::Refused;
use crate::peers::Direction;

/// What a too large message adds to the misbehaviour of its sender: honest peers may have another limit.
const TOO_LARGE_PENALTY: f64 = 0.1;

/// A message that cannot go on yet. Its stream is not read meanwhile.
#[derive(Debug)]
pub(crate) enum Parked {
    /// The router has too many that await a verdict.
    Unjudged(Identified),
    /// The message path is full.
    Unpushed(Held<WakuRecord>),
}

impl Shared {
    /// Takes a message whose last field has come; gives it back if it is to be delivered.
    pub(crate) fn arrive(
        &self,
        peer: &PeerId,
        slot: Option<HeldUnique<WakuRecord>>,
        publication: Publication<'_>,
    ) -> Option<Arrived> {
        let Publication { data_bytes: bytes, is_anonymous, .. } = publication;
        let Some(mut slot) = slot else {
            self.refuse_too_large(peer, bytes);
            return None;
        };
        let known = std::str::from_utf8(publication.topic).ok().and_then(|name| {
            let core = self.core();
            let topic = core.router.topic(name).filter(|topic| core.router.is_joined(*topic))?;
            let handle = core.peers.get(peer)?.handle?;
            drop(core);
            Some((topic, self.inbound.topic(name)?, handle))
        });
        let Some((topic, number, handle)) = known else {
            counters::MESSAGES_DROPPED.add(1);
            return None;
        };
        self.inbound.traffic(Direction::In, number, bytes);
        slot.set_len(bytes);
        *slot.record_mut() = WakuRecord {
            id_known: true,
            topic: number,
            peer: handle.0,
            origin: Origin::Gossip,
            ..WakuRecord::default()
        };
        Some(Arrived { slot, bytes, topic, is_anonymous })
    }

    /// A message has been written whole.
    pub(crate) fn sent(&self, message: &Outgoing) {
        if let Some(number) = message.topic_number() {
            self.inbound.traffic(Direction::Out, number, message.data().len());
        }
    }

    /// Tries again what was parked.
    pub(crate) fn resume(&self, peer: &PeerId, parked: Parked) -> Result<(), Parked> {
        match parked {
            Parked::Unjudged(message) => self.deliver(peer, message),
            Parked::Unpushed(message) => self.push(message),
        }
    }

    /// Takes over what was parked when its stream ends. The router counts the message as received, so it must not get lost.
    pub(crate) fn adopt(&self, parked: Parked) {
        match parked {
            Parked::Unpushed(message) => self.orphans().push(message),
            // It counts as not seen, and may come again from elsewhere.
            Parked::Unjudged(_) => {}
        }
    }

    /// Offers the messages whose streams have ended.
    pub(crate) fn push_orphans(&self) {
        let orphans = std::mem::take(&mut *self.orphans());
        for message in orphans {
            if let Err(parked) = self.push(message) {
                self.adopt(parked);
            }
        }
    }

    /// Has the router look whether a message is new; if so, it goes to the message path.
    pub(crate) fn deliver(&self, peer: &PeerId, arrived: Identified) -> Result<(), Parked> {
        let Identified { message, topic, is_anonymous } = arrived;
        let bytes = message.payload().len();
        let incoming =
            Incoming { id: message.record().id, topic, bytes: bytes as u32, anonymous: is_anonymous, handle: None };
        match self.received(peer, incoming) {
            None => return Ok(()),
            Some(Received::New) => {}
            Some(Received::Refused(Refusal::Full)) => {
                return Err(Parked::Unjudged(Identified { message, topic, is_anonymous }));
            }
            Some(Received::Duplicate) => {
                counters::MESSAGES_DUPLICATE.add(1);
                return Ok(());
            }
            Some(Received::Refused(Refusal::TooLarge)) => {
                self.refuse_too_large(peer, bytes);
                return Ok(());
            }
            Some(Received::Refused(_)) => {
                counters::MESSAGES_DROPPED.add(1);
                return Ok(());
            }
        }
        counters::MESSAGES_IN.add(1);
        counters::MESSAGE_BYTES_IN.add(bytes as u64);
        self.push(message)
    }

    /// What the router says; nothing if the peer has left.
    fn received(&self, peer: &PeerId, incoming: Incoming<Handle>) -> Option<Received> {
        let (mut core, now) = (self.core(), self.now());
        let core = &mut *core;
        let index = core.index_of(peer)?;
        let received = core.router.received(index, incoming, now, &mut core.actions);
        core.dispatch(now);
        Some(received)
    }

    fn push(&self, message: Held<WakuRecord>) -> Result<(), Parked> {
        let id = message.record().id;
        match self.inbound.offer(message) {
            Ok(()) => Ok(()),
            Err(Refused::Full(message)) => Err(Parked::Unpushed(message)),
            Err(Refused::Dropped) => {
                counters::MESSAGES_DROPPED.add(1);
                let (mut core, now) = (self.core(), self.now());
                let core = &mut *core;
                core.router.verdict(&id, Verdict::Ignore, now, &mut core.actions);
                core.dispatch(now);
                Ok(())
            }
        }
    }

    fn refuse_too_large(&self, peer: &PeerId, bytes: usize) {
        counters::MESSAGES_TOO_LARGE.add(1);
        tracing::debug!(%peer, bytes, "stepped over: larger than --max-msg-size allows");
        let mut core = self.core();
        if let Some(index) = core.index_of(peer) {
            core.router.penalise(index, TOO_LARGE_PENALTY);
        }
    }
}
