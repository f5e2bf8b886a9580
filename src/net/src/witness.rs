//! Which thread does what for a connection: seen by tests, and nothing at all in a build.

/// What is done to the bytes of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Step {
    /// From the socket.
    Read,
    /// A record.
    Open,
    /// The ids of messages.
    Hash,
    /// A record.
    Seal,
    /// To the socket.
    Write,
}

/// The calling thread does this now, in the task it is in.
#[cfg(not(test))]
#[inline]
pub(crate) fn note(_: Step) {}

#[cfg(test)]
pub(crate) use noted::{note, noted};

#[cfg(test)]
mod noted {
    use std::collections::{HashMap, HashSet};
    use std::sync::{LazyLock, Mutex, PoisonError};
    use std::thread::ThreadId;

    use super::Step;

    /// The threads on which each task took each step.
    type Threads = HashMap<(tokio::task::Id, Step), HashSet<ThreadId>>;

    static NOTED: LazyLock<Mutex<Threads>> = LazyLock::new(Mutex::default);

    pub(crate) fn note(step: Step) {
        let Some(task) = tokio::task::try_id() else { return };
        let mut noted = NOTED.lock().unwrap_or_else(PoisonError::into_inner);
        noted.entry((task, step)).or_default().insert(std::thread::current().id());
    }

    /// All that was noted so far.
    pub(crate) fn noted() -> Threads {
        NOTED.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
