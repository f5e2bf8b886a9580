//! The id of the message that is being published, if somebody has hashed it before.
//!
//! The router asks one function for the id of every message, published or received, and gives it the message only. A publisher
//! that has the id already (the engine hashes in batches) would pay for a second SHA-256 of the whole message. So the id waits in a
//! cell of the thread: it is put there just before the router's `publish`, the router asks exactly once, synchronously and on the
//! same thread, and that takes it out; a debug build asserts it. Dropping the guard empties the cell where the router returned
//! before it asked.

use std::cell::Cell;

thread_local!(static ID: Cell<Option<[u8; 32]>> = const { Cell::new(None) });

/// While it lives, the next [`take`] on this thread gives the id.
pub(crate) struct KnownId;

impl KnownId {
    pub(crate) fn set(id: Option<[u8; 32]>) -> Self {
        ID.set(id);
        Self
    }

    /// Whether the router has asked since, or had nothing to ask for.
    pub(crate) fn was_taken(&self) -> bool {
        ID.get().is_none()
    }
}

impl Drop for KnownId {
    fn drop(&mut self) {
        ID.set(None);
    }
}

/// The id set for the message that is being published, once.
pub(crate) fn take() -> Option<[u8; 32]> {
    ID.take()
}

#[cfg(test)]
mod tests {
    use super::{KnownId, take};

    #[test]
    fn an_id_is_taken_once_and_never_outlives_its_guard() {
        let guard = KnownId::set(Some([7; 32]));
        assert!(!guard.was_taken());
        assert_eq!(take(), Some([7; 32]));
        assert!(guard.was_taken());
        assert_eq!(take(), None);
        drop(guard);
        drop(KnownId::set(Some([8; 32])));
        assert_eq!(take(), None);
    }
}
