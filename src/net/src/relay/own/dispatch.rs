//! What the router wants done becomes frames in the queues of the peers.

use bytes::{BufMut, BytesMut};
use levada_router::{Action, Actions, Message, Moment, PeerIndex, Reason};
use levada_wire::gossipsub;
use levada_wire::hash::Digest;
use levada_wire::varint;

use super::core::{Core, Handle};
use crate::counters;

/// A key, a length and an id.
const ID_FIELD_BYTES: usize = 34;
/// The keys and lengths around a control entry.
const ENTRY_OVERHEAD_BYTES: usize = 16;

/// How many queues took a message, of how many that it was meant for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) queued: usize,
    pub(crate) meant: usize,
}

/// Appends a frame with its length.
pub(super) fn append_frame(body: &[u8], out: &mut BytesMut) {
    let mut length = [0; varint::VARINT_BYTES_MAX];
    let written = varint::encode(body.len() as u64, &mut length).unwrap_or_default();
    out.put_slice(&length[..written]);
    out.put_slice(body);
}

impl Core {
    /// Does all that the router has asked for since the last time.
    pub(crate) fn dispatch(&mut self, now: Moment) -> Sent {
        let mut sent = Sent::default();
        if self.actions.is_empty() {
            return sent;
        }
        let mut actions = std::mem::take(&mut self.actions);
        for action in &actions {
            self.do_one(action, &actions, now, &mut sent);
        }
        actions.clear();
        self.actions = actions;
        sent
    }

    fn do_one(&mut self, action: &Action<Handle>, all: &Actions<Handle>, now: Moment, sent: &mut Sent) {
        match action {
            Action::Send { message, reason, to } => self.send(message, *reason, all.peers(*to), now, sent),
            Action::Announce { topic, joined, to } => {
                let topic = self.router.topic_name(*topic).unwrap_or_default();
                begin(&mut self.body, &mut self.frames);
                gossipsub::subscribe(topic, *joined, &mut self.body);
                self.send_body(all.peers(*to));
            }
            Action::Graft { topic, to } => {
                begin(&mut self.body, &mut self.frames);
                gossipsub::graft(self.router.topic_name(*topic).unwrap_or_default(), &mut self.body);
                self.send_body(&[*to]);
            }
            Action::Prune { topic, backoff_s, to } => {
                begin(&mut self.body, &mut self.frames);
                gossipsub::prune(self.router.topic_name(*topic).unwrap_or_default(), *backoff_s, &mut self.body);
                self.send_body(&[*to]);
            }
            Action::IHave { topic, ids, to } => {
                let topic = self.router.topic_name(*topic).unwrap_or_default();
                let frames = &mut self.frames;
                frames.clear();
                let room = self.rpc_bytes_max.saturating_sub(ENTRY_OVERHEAD_BYTES + topic.len());
                for ids in all.ids(*ids).chunks((room / ID_FIELD_BYTES).max(1)) {
                    self.body.clear();
                    gossipsub::ihave(topic, ids, &mut self.body);
                    append_frame(&self.body, frames);
                }
                all.peers(*to).iter().for_each(|peer| self.send_frames(peer.slot()));
            }
            Action::IWant { ids, to } => {
                self.frames.clear();
                for ids in all.ids(*ids).chunks(self.ids_per_frame()) {
                    self.body.clear();
                    gossipsub::iwant(ids, &mut self.body);
                    append_frame(&self.body, &mut self.frames);
                }
                self.send_frames(to.slot());
            }
            Action::IDontWant { id, to } => self.decline(id, all.peers(*to)),
            Action::Cancel { id, to } => self.cancel(id, *to),
            Action::Disconnect { peer } => {
                if let Some(Some(occupant)) = self.occupants.get(peer.slot()) {
                    counters::SCORE_DISCONNECTS.add(1);
                    tracing::info!(peer = %occupant.peer, "disconnected: its relay score is below the graylist threshold");
                    self.events.close(occupant.peer);
                }
            }
            _ => {}
        }
    }

    fn ids_per_frame(&self) -> usize {
        (self.rpc_bytes_max.saturating_sub(ENTRY_OVERHEAD_BYTES) / ID_FIELD_BYTES).max(1)
    }

    fn decline(&mut self, id: &Digest, to: &[PeerIndex]) {
        begin(&mut self.body, &mut self.frames);
        gossipsub::idontwant(std::slice::from_ref(id), &mut self.body);
        self.send_body(to);
    }

    fn cancel(&self, id: &Digest, to: PeerIndex) {
        if let Some(Some(occupant)) = self.occupants.get(to.slot()) {
            occupant.link.queue().cancel(id);
        }
    }

    fn send(&self, message: &Message<Handle>, reason: Reason, to: &[PeerIndex], now: Moment, sent: &mut Sent) {
        let Some(outgoing) = &message.handle else { return };
        sent.meant += to.len();
        for peer in to {
            let Some(Some(occupant)) = self.occupants.get(peer.slot()) else { continue };
            let mut queue = occupant.link.queue();
            let age = match reason {
                Reason::Published => queue.limits().published_for,
                Reason::Forwarded | Reason::Requested => queue.limits().forwarded_for,
            };
            let queued = queue.push(message.id, outgoing, now.after(age), now);
            drop(queue);
            sent.queued += usize::from(queued);
            occupant.link.wake();
        }
    }

    fn send_body(&mut self, to: &[PeerIndex]) {
        append_frame(&self.body, &mut self.frames);
        to.iter().for_each(|peer| self.send_frames(peer.slot()));
    }

    /// Queues the frames that have been put together. A peer that misses one has another picture of this node than is true, so the
    /// connection ends.
    pub(super) fn send_frames(&mut self, slot: usize) {
        let Some(Some(occupant)) = self.occupants.get(slot) else { return };
        if self.frames.is_empty() {
            return;
        }
        let queued = occupant.link.queue().push_control(&self.frames);
        occupant.link.wake();
        if !queued {
            counters::CONTROL_QUEUE_OVERFLOWS.add(1);
            tracing::debug!(peer = %occupant.peer, "disconnected: it does not read its control messages");
            self.events.close(occupant.peer);
        }
    }
}

fn begin(body: &mut BytesMut, frames: &mut BytesMut) {
    body.clear();
    frames.clear();
}
