//! Orders to every worker of a topology.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::sync::AtomicBool;

/// Given once each, by whoever ends the topology; the workers look at them between turns.
///
/// A sleeping worker is woken after an order as after a push: by its sleep flag, so that one of the two sees the other.
#[derive(Debug)]
pub(crate) struct Orders {
    /// Sources bring in nothing more; workers end when their inputs are closed and empty.
    drain: AtomicBool,
    /// Workers end at once and release what they hold.
    stop: AtomicBool,
    /// A stage asked for the stop by panicking.
    failed: AtomicBool,
}

impl Orders {
    pub fn new() -> Self {
        Self { drain: AtomicBool::new(false), stop: AtomicBool::new(false), failed: AtomicBool::new(false) }
    }

    pub fn drain(&self) {
        // Pairs with the acquire load in `is_draining`: a stage that finishes sees what its owner did before.
        self.drain.store(true, Release);
    }

    pub fn is_draining(&self) -> bool {
        // Pairs with the release store in `drain`.
        self.drain.load(Acquire)
    }

    pub fn stop(&self) {
        // Pairs with the acquire load in `is_stopping`: who sees a worker's end sees why it came.
        self.stop.store(true, Release);
    }

    pub fn is_stopping(&self) -> bool {
        // Pairs with the release store in `stop`.
        self.stop.load(Acquire)
    }

    /// Stops everything because of a panic.
    pub fn fail(&self) {
        self.failed.store(true, Relaxed);
        self.stop();
    }

    pub fn has_failed(&self) -> bool {
        self.failed.load(Relaxed)
    }

    /// Something was ordered that a sleeping worker must hear of.
    pub fn are_given(&self) -> bool {
        self.is_stopping() || self.is_draining()
    }
}
