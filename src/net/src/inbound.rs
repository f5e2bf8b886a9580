//! What passes between the network and whoever judges its messages.

use std::sync::Arc;

use levada_engine::seen::Set;
use levada_engine::{Arena, Held};
use levada_wire::waku::WakuRecord;

use crate::peers::Direction;

/// Why a message was not taken.
#[derive(Debug)]
pub enum Refused {
    /// No room now. The network keeps the message, stops reading where it came from, and offers it again about every millisecond.
    Full(Held<WakuRecord>),
    /// Not wanted, and no verdict will follow: as if ignored.
    Dropped,
}

/// The receiver of inbound messages. It is called on the network's tasks, also on several at once, and must return at once.
pub trait Inbound: Send + Sync + 'static {
    /// The memory that messages are read into.
    fn arena(&self) -> &Arc<Arena<WakuRecord>>;

    /// The number under which the records of messages name a pubsub topic; none if they are not wanted.
    fn topic(&self, name: &str) -> Option<u32>;

    /// The set of ids that the message path uses, for the router to use the same; without one it has its own. Its marks in it are
    /// [`levada_router::SEEN_MARKS`], and it leaves it to the path to forget old ids.
    fn seen(&self) -> Option<Arc<Set>> {
        None
    }

    /// Is told of every copy of a message on a topic of that number that has come whole, or gone out whole: its encoded bytes, without the
    /// frame. Called for each copy, so it must cost next to nothing.
    fn traffic(&self, _direction: Direction, _topic: u32, _bytes: usize) {}

    /// Takes a message that relay received for the first time: the encoded WakuMessage in its slot, and in its record the id, the number
    /// of the topic and the peer. A verdict follows through the handle.
    ///
    /// # Errors
    ///
    /// [`Refused`].
    fn offer(&self, message: Held<WakuRecord>) -> Result<(), Refused>;
}

/// What validators said about a message.
///
/// The router drops a message after two minutes: a later verdict has no effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Forward it.
    Accept,
    /// Do not forward it; nobody is to blame.
    Ignore,
    /// Do not forward it, and lower the score of the peers that sent it.
    Reject,
}
