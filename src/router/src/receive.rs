//! A message comes in, is judged by the caller's validators, and goes on.

use crate::action::{Action, Actions, Message, Reason};
use crate::index::{MessageId, PeerIndex, TopicIndex};
use crate::router::Router;
use crate::seen::Fate;
use crate::time::Moment;

/// A message as it came in an RPC.
#[derive(Clone, Debug)]
pub struct Incoming<H> {
    /// SHA-256 of the data.
    pub id: MessageId,
    /// Its topic.
    pub topic: TopicIndex,
    /// Bytes of the data.
    pub bytes: u32,
    /// Whether it has no sender, sequence number, signature or key, as the StrictNoSign policy of 11/WAKU2-RELAY demands.
    pub anonymous: bool,
    /// The caller's reference to the data; dropped unless the message is new.
    pub handle: H,
}

/// What becomes of a message that has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// It is new: have it validated, then call [`Router::verdict`].
    New,
    /// It came before.
    Duplicate,
    /// It is dropped.
    Refused(Refusal),
}

/// Why a message is dropped unseen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The peer has left.
    UnknownPeer,
    /// The peer is graylisted.
    Graylisted,
    /// This node is not in the topic.
    NotJoined,
    /// It names a sender or is signed. The peer is penalised as for an invalid message.
    NotAnonymous,
    /// The frame around it would be too large to pass on.
    TooLarge,
    /// Too many messages await a verdict. It counts as not seen and may come again.
    Full,
}

/// What the validators say (gossipsub 1.1, extended validators).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is valid and goes on.
    Accept,
    /// It is invalid: who sent it is penalised.
    Reject,
    /// It does not go on, and nobody is to blame.
    Ignore,
}

impl<H: Clone> Router<H> {
    /// A message has come from a peer. Allocates nothing once the tables have grown.
    pub fn received(&mut self, from: PeerIndex, incoming: Incoming<H>, now: Moment, out: &mut Actions<H>) -> Received {
        if let Err(refusal) = self.check(from, &incoming, now) {
            return Received::Refused(refusal);
        }
        let Incoming { id, topic, bytes, handle, .. } = incoming;
        if self.pending.add_sender(&id, from) {
            self.counters.messages_duplicate += 1;
            return Received::Duplicate;
        }
        if let Some(fate) = self.seen.get(&id) {
            self.counters.messages_duplicate += 1;
            self.judge_late_copy(from, &id, topic, fate, now);
            return Received::Duplicate;
        }
        if !self.pending.has_room(bytes, &self.config.limits) {
            self.counters.refused_pending_full += 1;
            self.stalled(now);
            return Received::Refused(Refusal::Full);
        }
        self.counters.messages_new += 1;
        self.promises.arrived(&id);
        self.seen.insert(&id, Fate::Open);
        self.pending.insert(Message { id, topic, bytes, handle }, from, now);
        if bytes > self.config.gossip.idontwant_bytes_min {
            self.send_idontwant(topic, id, from, out);
        }
        Received::New
    }

    fn check(&mut self, from: PeerIndex, incoming: &Incoming<H>, now: Moment) -> Result<(), Refusal> {
        if !self.hears(from) {
            let is_known = self.peers.get(from).is_some();
            return Err(if is_known { Refusal::Graylisted } else { Refusal::UnknownPeer });
        }
        if self.topics.joined(incoming.topic).is_none() {
            self.counters.refused_not_joined += 1;
            return Err(Refusal::NotJoined);
        }
        // The id covers the data alone. It is not remembered, or anyone could sign a message of others to suppress it.
        if !incoming.anonymous {
            self.counters.refused_not_anonymous += 1;
            self.blame(from, now, |score| score.topic(incoming.topic).deliver_invalid());
            return Err(Refusal::NotAnonymous);
        }
        if incoming.bytes > self.message_bytes_max(incoming.topic) {
            self.counters.refused_too_large += 1;
            return Err(Refusal::TooLarge);
        }
        Ok(())
    }

    /// A copy of a message that was judged already: it may still count as delivered in time, or as invalid.
    fn judge_late_copy(&mut self, from: PeerIndex, id: &MessageId, topic: TopicIndex, fate: Fate, now: Moment) {
        match fate {
            Fate::Rejected => self.blame(from, now, |score| score.topic(topic).deliver_invalid()),
            Fate::Accepted => {
                // What the message cache has let go is older than any window in which copies count.
                let Some(at) = self.mcache.accepted_at(id) else { return };
                let (Some(known), Some(peer)) = (self.topics.get(topic), self.peers.get_mut(from)) else { return };
                let params = self.config.score.of_topic(known.params);
                if now.since(at) <= params.mesh_deliveries_window {
                    peer.standing.score.topic(topic).deliver_in_mesh(params);
                }
            }
            Fate::Open | Fate::Own => {}
        }
    }

    /// The validators have judged a message. `false` if it is not awaiting a verdict, because it was judged or given up before.
    /// Allocates nothing once the tables have grown.
    pub fn verdict(&mut self, id: &MessageId, verdict: Verdict, now: Moment, out: &mut Actions<H>) -> bool {
        let Some(judged) = self.pending.take(id) else { return false };
        match verdict {
            Verdict::Accept => self.accept(judged.message, &judged.senders, now, out),
            Verdict::Reject => {
                self.counters.messages_rejected += 1;
                self.seen.settle(id, Fate::Rejected);
                for sender in &judged.senders {
                    self.blame(*sender, now, |score| score.topic(judged.message.topic).deliver_invalid());
                }
            }
            Verdict::Ignore => self.counters.messages_ignored += 1,
        }
        self.pending.recycle(judged.senders);
        true
    }

    /// A message that awaits its verdict. The caller may exchange its handle, when what it refers to is ready to be sent only now;
    /// nothing else of it may change.
    pub fn awaiting(&mut self, id: &MessageId) -> Option<&mut Message<H>> {
        self.pending.get_mut(id)
    }

    fn accept(&mut self, message: Message<H>, senders: &[PeerIndex], now: Moment, out: &mut Actions<H>) {
        self.counters.messages_accepted += 1;
        self.seen.settle(&message.id, Fate::Accepted);
        let Some(known) = self.topics.joined(message.topic) else { return };
        let params = self.config.score.of_topic(known.params);
        for (place, sender) in senders.iter().enumerate() {
            if let Some(peer) = self.peers.get_mut(*sender) {
                let score = peer.standing.score.topic(message.topic);
                if place == 0 { score.deliver_first(params) } else { score.deliver_in_mesh(params) }
            }
        }
        self.forward(&message, senders, out);
        self.counters.mcache_evicted += self.mcache.put(message, now, self.config.limits.mcache_bytes_max) as u64;
    }

    /// Sends a message on to the mesh and to those who are sent everything, but never back to a sender, nor to a peer that does
    /// not want it.
    fn forward(&mut self, message: &Message<H>, senders: &[PeerIndex], out: &mut Actions<H>) {
        let Some(known) = self.topics.get(message.topic) else { return };
        let publish = self.config.thresholds.publish;
        let (peers, saved) = (&self.peers, &mut self.counters.idontwant_saved);
        let always = known
            .always
            .iter()
            .filter(|index| peers.get(**index).is_some_and(|peer| peer.info.direct || peer.score() >= publish));
        let wants = |index: &PeerIndex| {
            let is_spared = peers.get(*index).is_some_and(|peer| peer.dont_want.contains(&message.id));
            *saved += u64::from(is_spared);
            !is_spared
        };
        let others = known.mesh.iter().chain(always).copied().filter(|index| !senders.contains(index));
        if let Some(to) = out.add_peers(others.filter(wants)) {
            out.push(Action::Send { message: message.clone(), reason: Reason::Forwarded, to });
        }
    }
}
