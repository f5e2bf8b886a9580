//! How many chunks may be under way: the controller's limit, for the thread that reads the file.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::aimd::{Aimd, Sample};

/// The controller, and how many chunks are under way.
#[derive(Debug)]
pub(super) struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    aimd: Aimd,
    under_way: usize,
    is_closed: bool,
}

impl Gate {
    pub fn new(ceiling: usize) -> Self {
        let state = State { aimd: Aimd::new(ceiling), under_way: 0, is_closed: false };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Waits until one more chunk may set out; false when none shall any more.
    pub fn enter(&self) -> bool {
        let held_up = |state: &mut State| !state.is_closed && state.under_way >= state.aimd.limit();
        let mut state = self.changed.wait_while(self.lock(), held_up).unwrap_or_else(PoisonError::into_inner);
        state.under_way += usize::from(!state.is_closed);
        !state.is_closed
    }

    /// A chunk is where it belongs, or given up.
    pub fn leave(&self) {
        self.lock().under_way -= 1;
        self.changed.notify_one();
    }

    /// No chunk sets out any more.
    pub fn close(&self) {
        self.lock().is_closed = true;
        self.changed.notify_all();
    }

    pub fn is_closed(&self) -> bool {
        self.lock().is_closed
    }

    /// Takes an outcome into account; gives the limit.
    pub fn record(&self, sample: Sample) -> usize {
        let mut state = self.lock();
        state.aimd.record(sample);
        self.changed.notify_all();
        state.aimd.limit()
    }

    pub fn limit(&self) -> usize {
        self.lock().aimd.limit()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
