//! Where pushed messages arrive: slots of a small arena, and a queue that is read as fast as lines are printed.

use std::sync::Arc;

use levada_engine::{Arena, ArenaConfig, Held};
use levada_net::{Inbound, Refused};
use levada_wire::waku::WakuRecord;
use tokio::sync::mpsc::{Receiver, Sender, channel, error::TrySendError};

use super::Fault;

/// Messages that wait to be printed; those beyond wait in their streams.
const QUEUE_MESSAGES: usize = 256;
/// The memory of the messages that wait.
const ARENA_BYTES: usize = 64 << 20;
/// The largest message that is taken, in bytes.
const MESSAGE_BYTES_MAX: usize = 4 << 20;

/// The receiver of pushed messages.
pub(super) struct Inbox {
    arena: Arc<Arena<WakuRecord>>,
    topics: Vec<String>,
    queue: Sender<Held<WakuRecord>>,
}

impl Inbox {
    /// An inbox of messages on `topics`, which their records name by their position, and its other end.
    pub(super) fn new(topics: Vec<String>) -> Result<(Arc<Self>, Receiver<Held<WakuRecord>>), Fault> {
        let arena = Arena::new(&ArenaConfig::with_budget(ARENA_BYTES, MESSAGE_BYTES_MAX));
        let arena = arena.map_err(|error| Fault::Start(error.to_string()))?;
        let (queue, messages) = channel(QUEUE_MESSAGES);
        Ok((Arc::new(Self { arena, topics, queue }), messages))
    }
}

impl Inbound for Inbox {
    fn arena(&self) -> &Arc<Arena<WakuRecord>> {
        &self.arena
    }

    fn topic(&self, name: &str) -> Option<u32> {
        self.topics.iter().position(|topic| topic == name).and_then(|position| u32::try_from(position).ok())
    }

    fn offer(&self, message: Held<WakuRecord>) -> Result<(), Refused> {
        self.queue.try_send(message).map_err(|error| match error {
            TrySendError::Full(message) => Refused::Full(message),
            TrySendError::Closed(_) => Refused::Dropped,
        })
    }
}
