//! What passes between the network and whoever judges its messages.

use crate::peers::PeerHandle;

/// A message that relay received for the first time.
#[derive(Debug, Clone)]
pub struct InboundMessage {
    /// The pubsub topic, as it came.
    pub topic: String,
    /// The encoded WakuMessage, as it came.
    pub data: Vec<u8>,
    /// SHA-256 of `data`, the id of 11/WAKU2-RELAY.
    pub id: [u8; 32],
    /// The peer that sent it.
    pub peer: PeerHandle,
}

/// The answer to an offered message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offer {
    /// Taken; a verdict follows through the handle.
    Taken,
    /// No room now. The network keeps the message, stops reading, and offers it again about every millisecond. A connection whose
    /// events nobody takes stands still as a whole, pings included, so this is for moments, not for minutes.
    Full,
    /// Not wanted, and no verdict will follow: as if ignored.
    Dropped,
}

/// The receiver of inbound messages. It is called on the network's task and must return at once.
pub trait Inbound: Send + Sync + 'static {
    /// Takes `message` (by copying what it needs), or says why not.
    fn offer(&self, message: &InboundMessage) -> Offer;
}

/// What validators said about a message.
///
/// A verdict must come within six heartbeats (seconds): later the router has dropped the message and cannot forward it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Forward it.
    Accept,
    /// Do not forward it; nobody is to blame.
    Ignore,
    /// Do not forward it, and lower the score of the peers that sent it.
    Reject,
}
