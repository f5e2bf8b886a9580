//! The small numbers that stand for peers and topics, and the names they stand for.

/// A message's id: SHA-256 of its data (11/WAKU2-RELAY).
pub type MessageId = [u8; 32];

/// Who a peer is, whatever connection it comes by: any collision-resistant digest of its identity. Scores and backoffs outlive
/// connections under this key.
pub type PeerKey = [u8; 32];

/// A connected peer: its place in the router's table, and how often the place was given out before. The index of a peer that
/// has left stands for nobody.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeerIndex {
    pub(crate) slot: u32,
    pub(crate) generation: u32,
}

impl PeerIndex {
    /// The place in the router's table, below [`crate::Limits::peers_max`]: what a caller may index its own tables by.
    pub fn slot(self) -> usize {
        self.slot as usize
    }
}

/// A topic that is joined, or that some peer is subscribed to. The index of a topic that was forgotten stands for none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicIndex {
    pub(crate) slot: u16,
    pub(crate) generation: u16,
}

impl TopicIndex {
    /// The place in the router's table, below [`crate::Limits::topics_max`].
    pub fn slot(self) -> usize {
        usize::from(self.slot)
    }
}
