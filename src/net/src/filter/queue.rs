//! What waits to be pushed to one subscriber, bounded in bytes of slots.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::push::Push;

/// The queue of one subscriber, between those who push and its writer.
#[derive(Debug)]
pub(super) struct Queue {
    state: Mutex<State>,
    writer: Notify,
    bytes_max: usize,
}

#[derive(Debug, Default)]
struct State {
    pushes: VecDeque<Arc<Push>>,
    bytes: usize,
    closed: bool,
}

impl Queue {
    pub(super) fn new(bytes_max: usize) -> Self {
        Self { state: Mutex::default(), writer: Notify::new(), bytes_max }
    }

    /// Appends a push; `false` if there is no room for it.
    pub(super) fn push(&self, push: Arc<Push>) -> bool {
        let bytes = push.kept_bytes();
        let mut state = self.state();
        // One push always has room, or a large one would never go.
        if state.closed || (state.bytes + bytes > self.bytes_max && !state.pushes.is_empty()) {
            return false;
        }
        let was_empty = state.pushes.is_empty();
        state.bytes += bytes;
        state.pushes.push_back(push);
        drop(state);
        if was_empty {
            self.writer.notify_one();
        }
        true
    }

    /// Takes the next push.
    pub(super) fn pop(&self) -> Option<Arc<Push>> {
        let mut state = self.state();
        let push = state.pushes.pop_front()?;
        state.bytes -= push.kept_bytes();
        Some(push)
    }

    /// Bytes of slots that wait.
    pub(super) fn bytes(&self) -> usize {
        self.state().bytes
    }

    /// Drops all that waits; gives how many those were.
    pub(super) fn clear(&self) -> u64 {
        let pushes = {
            let mut state = self.state();
            state.bytes = 0;
            std::mem::take(&mut state.pushes)
        };
        pushes.len() as u64
    }

    /// Nothing goes out any more.
    pub(super) fn close(&self) {
        self.state().closed = true;
        self.clear();
        self.writer.notify_one();
    }

    pub(super) fn is_closed(&self) -> bool {
        self.state().closed
    }

    /// Waits until something may have come, or the queue was closed.
    pub(super) async fn changed(&self) {
        self.writer.notified().await;
    }

    /// The state; every change leaves it sound, so a panic elsewhere cannot have broken it.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use levada_engine::{Arena, ArenaConfig};
    use levada_wire::waku::WakuRecord;
    use levada_wire::waku::filter::PushHeader;

    use super::*;
    use crate::filter::push::Kept;

    #[test]
    fn bytes_of_slots_are_bounded_and_shared_slots_count_once() {
        let arena = Arena::<WakuRecord>::new(&ArenaConfig::with_budget(64 << 20, 150 << 10)).unwrap();
        let kept = Arc::new(Kept::default());
        let push = |bytes: usize| {
            let mut slot = arena.claim(bytes).unwrap();
            slot.set_len(bytes);
            let header = PushHeader::new("t", bytes).unwrap();
            Arc::new(Push::new(header, slot.share().hold(), Bytes::new(), kept.clone()))
        };
        let slot_bytes = push(1_000).kept_bytes();
        assert_eq!(kept.bytes(), 0, "a push that is gone keeps nothing");
        let (one, other) = (Queue::new(2 * slot_bytes), Queue::new(1));
        let (first, second) = (push(1_000), push(1_000));
        assert!(one.push(first.clone()) && one.push(second) && !one.push(push(1_000)));
        assert!(other.push(first), "one always has room");
        assert!(!other.push(push(1_000)));
        assert_eq!((one.bytes(), other.bytes(), kept.bytes()), (2 * slot_bytes, slot_bytes, 2 * slot_bytes));
        assert!(one.pop().is_some() && one.push(push(1_000)));
        assert_eq!((one.clear(), one.bytes(), kept.bytes()), (2, 0, slot_bytes));
        other.close();
        assert!(!other.push(push(1_000)) && other.pop().is_none());
        assert_eq!(kept.bytes(), 0);
    }
}
