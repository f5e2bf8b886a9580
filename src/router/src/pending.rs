//! Messages that await a verdict, and who has delivered them meanwhile.

use std::collections::HashMap;
use std::time::Duration;

use crate::action::Message;
use crate::config::Limits;
use crate::index::{MessageId, PeerIndex};
use crate::time::Moment;

/// Lists of senders that are kept for reuse.
const SPARE_MAX: usize = 64;

/// A message and everybody who has sent it, the first in front.
#[derive(Debug)]
pub(crate) struct Judged<H> {
    pub(crate) message: Message<H>,
    pub(crate) senders: Vec<PeerIndex>,
    since: Moment,
}

/// The messages that await a verdict.
///
/// Memory: at most [`Limits::pending_max`] entries of about 120 bytes and 8 bytes per sender, a peer being at most once in each:
/// 1 MB of entries, and 8 bytes times peers times entries if every peer sends every message. The payloads stay within
/// [`Limits::pending_bytes_max`].
#[derive(Debug)]
pub(crate) struct Pending<H> {
    messages: HashMap<MessageId, Judged<H>>,
    bytes: usize,
    spare: Vec<Vec<PeerIndex>>,
}

impl<H> Default for Pending<H> {
    fn default() -> Self {
        Self { messages: HashMap::new(), bytes: 0, spare: Vec::new() }
    }
}

impl<H> Pending<H> {
    /// Adds a sender; `false` if the message is not awaiting a verdict.
    pub(crate) fn add_sender(&mut self, id: &MessageId, from: PeerIndex) -> bool {
        let Some(judged) = self.messages.get_mut(id) else { return false };
        if !judged.senders.contains(&from) {
            judged.senders.push(from);
        }
        true
    }

    pub(crate) fn has_room(&self, bytes: u32, limits: &Limits) -> bool {
        self.messages.len() < limits.pending_max && self.bytes + bytes as usize <= limits.pending_bytes_max
    }

    /// A new message. The caller has asked whether there is room.
    pub(crate) fn insert(&mut self, message: Message<H>, from: PeerIndex, now: Moment) {
        let mut senders = self.spare.pop().unwrap_or_default();
        senders.push(from);
        self.bytes += message.bytes as usize;
        self.messages.insert(message.id, Judged { message, senders, since: now });
    }

    /// Takes a message out to judge it; give the list of senders back with [`Pending::recycle`].
    pub(crate) fn take(&mut self, id: &MessageId) -> Option<Judged<H>> {
        let judged = self.messages.remove(id)?;
        self.bytes -= judged.message.bytes as usize;
        Some(judged)
    }

    pub(crate) fn get_mut(&mut self, id: &MessageId) -> Option<&mut Message<H>> {
        self.messages.get_mut(id).map(|judged| &mut judged.message)
    }

    pub(crate) fn recycle(&mut self, mut senders: Vec<PeerIndex>) {
        if self.spare.len() < SPARE_MAX {
            senders.clear();
            self.spare.push(senders);
        }
    }

    pub(crate) fn contains(&self, id: &MessageId) -> bool {
        self.messages.contains_key(id)
    }

    /// Drops what nobody has judged for `ttl`, and tells how many there were.
    pub(crate) fn expire(&mut self, now: Moment, ttl: Duration) -> usize {
        let before = self.messages.len();
        let bytes = &mut self.bytes;
        self.messages.retain(|_, judged| {
            let stays = judged.since.after(ttl) > now;
            *bytes -= if stays { 0 } else { judged.message.bytes as usize };
            stays
        });
        before - self.messages.len()
    }

    /// How many messages wait, and their payload bytes.
    pub(crate) fn size(&self) -> (usize, usize) {
        (self.messages.len(), self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::TopicIndex;

    fn message(number: u8) -> Message<u8> {
        Message { id: [number; 32], topic: TopicIndex { slot: 0, generation: 0 }, bytes: 100, handle: number }
    }

    #[test]
    fn every_sender_is_kept_once() {
        let peer = |slot| PeerIndex { slot, generation: 0 };
        let mut pending = Pending::default();
        assert!(!pending.add_sender(&[1; 32], peer(1)));
        pending.insert(message(1), peer(1), Moment::ZERO);
        for slot in [2, 1, 2] {
            assert!(pending.add_sender(&[1; 32], peer(slot)));
        }
        let judged = pending.take(&[1; 32]).unwrap();
        assert_eq!(judged.senders, [peer(1), peer(2)]);
        assert!(pending.take(&[1; 32]).is_none() && !pending.contains(&[1; 32]));
        pending.recycle(judged.senders);
        pending.insert(message(2), peer(3), Moment::ZERO);
        assert_eq!(pending.take(&[2; 32]).unwrap().senders, [peer(3)]);
    }

    #[test]
    fn count_and_bytes_are_bounded_and_the_unjudged_expire() {
        let limits = Limits { pending_max: 2, pending_bytes_max: 250, ..Limits::default() };
        let peer = PeerIndex { slot: 0, generation: 0 };
        let mut pending = Pending::default();
        pending.insert(message(1), peer, Moment::from_nanos(0));
        assert!(pending.has_room(150, &limits) && !pending.has_room(151, &limits));
        pending.insert(message(2), peer, Moment::from_nanos(5));
        assert!(!pending.has_room(0, &limits));
        assert_eq!(pending.expire(Moment::from_nanos(10), Duration::from_nanos(10)), 1);
        assert_eq!(pending.size(), (1, 100));
        assert!(pending.has_room(150, &limits));
    }
}
