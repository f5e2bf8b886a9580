//! What the router wants done, in a buffer that the caller keeps and clears: once it has grown, nothing is allocated.

use std::ops::Range;

use crate::index::{MessageId, PeerIndex, TopicIndex};

/// A message as the router knows it. The payload stays with the caller, behind the handle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message<H> {
    /// SHA-256 of the data.
    pub id: MessageId,
    /// Its topic.
    pub topic: TopicIndex,
    /// Bytes of the data.
    pub bytes: u32,
    /// The caller's reference to the data, as a share of a slot.
    pub handle: H,
}

/// Why a message is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// This node publishes it.
    Published,
    /// It was accepted and goes on.
    Forwarded,
    /// The peer asked for it with IWANT.
    Requested,
}

/// Peers of an action; [`Actions::peers`] reads them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerSpan {
    start: u32,
    end: u32,
}

/// Message ids of an action; [`Actions::ids`] reads them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdSpan {
    start: u32,
    end: u32,
}

/// One thing to do. Control messages to one peer may share a frame; the order of actions for one peer must be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action<H> {
    /// Send the message to these peers.
    Send {
        /// The message.
        message: Message<H>,
        /// Why.
        reason: Reason,
        /// Whom to.
        to: PeerSpan,
    },
    /// Tell these peers that this node has joined or left the topic.
    Announce {
        /// The topic.
        topic: TopicIndex,
        /// Whether it was joined.
        joined: bool,
        /// Whom to.
        to: PeerSpan,
    },
    /// Send GRAFT.
    Graft {
        /// The topic.
        topic: TopicIndex,
        /// Whom to.
        to: PeerIndex,
    },
    /// Send PRUNE, without any peers to exchange.
    Prune {
        /// The topic.
        topic: TopicIndex,
        /// Seconds the peer must wait; none for a peer of version 1.0, which does not know the field.
        backoff_s: Option<u64>,
        /// Whom to.
        to: PeerIndex,
    },
    /// Send IHAVE.
    IHave {
        /// The topic.
        topic: TopicIndex,
        /// What this node has.
        ids: IdSpan,
        /// Whom to.
        to: PeerSpan,
    },
    /// Send IWANT.
    IWant {
        /// What this node wants.
        ids: IdSpan,
        /// Whom to.
        to: PeerIndex,
    },
    /// Send IDONTWANT, ahead of all else.
    IDontWant {
        /// What this node has already.
        id: MessageId,
        /// Whom to.
        to: PeerSpan,
    },
    /// Take the message out of the peer's send queue if it still waits there.
    Cancel {
        /// The message.
        id: MessageId,
        /// Whose queue.
        to: PeerIndex,
    },
    /// Disconnect the peer: its score is below the graylist threshold.
    Disconnect {
        /// The peer.
        peer: PeerIndex,
    },
}

/// The actions of one or several calls, in order, with the lists they refer to.
///
/// Memory: less than 100 bytes an action, its handle aside, and what the calls since the last [`Actions::clear`] put in. One call
/// adds at most one action per peer and topic, 8 bytes per recipient, and 32 bytes per id.
#[derive(Clone, Debug)]
pub struct Actions<H> {
    actions: Vec<Action<H>>,
    peers: Vec<PeerIndex>,
    ids: Vec<MessageId>,
}

impl<H> Default for Actions<H> {
    fn default() -> Self {
        Self::new()
    }
}

impl<H> Actions<H> {
    /// An empty buffer.
    pub fn new() -> Self {
        Self { actions: Vec::new(), peers: Vec::new(), ids: Vec::new() }
    }

    /// Forgets all actions and keeps the memory.
    pub fn clear(&mut self) {
        self.actions.clear();
        self.peers.clear();
        self.ids.clear();
    }

    /// The actions in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Action<H>> {
        self.actions.iter()
    }

    /// How many actions there are.
    pub fn len(&self) -> usize {
        self.actions.len()
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.actions.is_empty()
    }

    /// The peers of an action of this buffer. A span of another buffer gives other peers or none.
    pub fn peers(&self, span: PeerSpan) -> &[PeerIndex] {
        self.peers.get(span.start as usize..span.end as usize).unwrap_or_default()
    }

    /// The ids of an action of this buffer. A span of another buffer gives other ids or none.
    pub fn ids(&self, span: IdSpan) -> &[MessageId] {
        self.ids.get(span.start as usize..span.end as usize).unwrap_or_default()
    }

    pub(crate) fn push(&mut self, action: Action<H>) {
        self.actions.push(action);
    }

    /// Appends the peers and gives their span, or none if there is no peer.
    pub(crate) fn add_peers(&mut self, peers: impl IntoIterator<Item = PeerIndex>) -> Option<PeerSpan> {
        let start = self.peers.len();
        self.peers.extend(peers);
        let range = narrow(start..self.peers.len())?;
        Some(PeerSpan { start: range.start, end: range.end })
    }

    /// Appends the ids and gives their span, or none if there is no id.
    pub(crate) fn add_ids(&mut self, ids: impl IntoIterator<Item = MessageId>) -> Option<IdSpan> {
        let start = self.ids.len();
        self.ids.extend(ids);
        let range = narrow(start..self.ids.len())?;
        Some(IdSpan { start: range.start, end: range.end })
    }
}

impl<'a, H> IntoIterator for &'a Actions<H> {
    type Item = &'a Action<H>;
    type IntoIter = std::slice::Iter<'a, Action<H>>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// A range that is not empty, in the numbers that spans are made of.
fn narrow(range: Range<usize>) -> Option<Range<u32>> {
    let end = u32::try_from(range.end).ok()?;
    (range.start < range.end).then_some(range.start as u32..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_find_their_lists_and_empty_lists_have_none() {
        let peer = |slot| PeerIndex { slot, generation: 0 };
        let mut out = Actions::<()>::new();
        assert_eq!(out.add_peers([]), None);
        assert_eq!(out.add_ids([]), None);
        let first = out.add_peers([peer(1)]).unwrap();
        let second = out.add_peers([peer(2), peer(3)]).unwrap();
        let ids = out.add_ids([[7; 32]]).unwrap();
        assert_eq!(out.peers(first), [peer(1)]);
        assert_eq!(out.peers(second), [peer(2), peer(3)]);
        assert_eq!(out.ids(ids), [[7; 32]]);
        out.push(Action::Disconnect { peer: peer(1) });
        assert_eq!((out.len(), out.is_empty()), (1, false));
        out.clear();
        assert!(out.is_empty() && out.peers(second).is_empty() && out.ids(ids).is_empty());
    }
}
