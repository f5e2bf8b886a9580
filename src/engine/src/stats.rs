//! What the engine counts about stages and workers. One writer each, any number of readers.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use crate::worker::Turn;

/// What a stage counts.
#[derive(Debug)]
pub struct StageStats {
    /// The stage's name in the topology.
    pub name: String,
    /// The worker that runs it.
    pub worker: String,
    pub(crate) envelopes: AtomicU64,
    pub(crate) batches: AtomicU64,
    pub(crate) panics: AtomicU64,
}

impl StageStats {
    pub(crate) fn new(name: &str, worker: &str) -> Self {
        Self {
            name: name.to_owned(),
            worker: worker.to_owned(),
            envelopes: AtomicU64::new(0),
            batches: AtomicU64::new(0),
            panics: AtomicU64::new(0),
        }
    }

    pub(crate) fn record(&self, taken: usize) {
        if taken > 0 {
            self.envelopes.fetch_add(taken as u64, Relaxed);
            self.batches.fetch_add(1, Relaxed);
        }
    }

    /// Envelopes the stage took.
    pub fn envelopes_total(&self) -> u64 {
        self.envelopes.load(Relaxed)
    }

    /// Calls in which it took any.
    pub fn batches_total(&self) -> u64 {
        self.batches.load(Relaxed)
    }

    /// Calls that ended in a panic.
    pub fn panics_total(&self) -> u64 {
        self.panics.load(Relaxed)
    }
}

/// What a worker does with its time; every moment belongs to one of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Regime {
    /// Turns in which some stage did something.
    Work,
    /// Nothing to do.
    Idle,
    /// Something to do and no room downstream.
    Backpressure,
    /// Chores of the stages.
    Housekeeping,
}

impl Regime {
    /// All of them, in the order of [`WorkerStats::regime_ns`].
    pub const ALL: [Self; 4] = [Self::Work, Self::Idle, Self::Backpressure, Self::Housekeeping];

    /// As a metric label.
    pub fn label(self) -> &'static str {
        match self {
            Self::Work => "work",
            Self::Idle => "idle",
            Self::Backpressure => "backpressure",
            Self::Housekeeping => "housekeeping",
        }
    }

    pub(crate) fn of(turn: Turn) -> Self {
        match turn {
            Turn::Worked | Turn::Finished => Self::Work,
            Turn::Idle => Self::Idle,
            Turn::Blocked => Self::Backpressure,
        }
    }
}

/// What a worker counts.
#[derive(Debug)]
pub struct WorkerStats {
    /// The worker's name.
    pub name: String,
    regimes: [AtomicU64; 4],
    pub(crate) pinned: AtomicBool,
}

impl WorkerStats {
    pub(crate) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), regimes: Default::default(), pinned: AtomicBool::new(false) }
    }

    /// Charges the time since `lap` to a regime and returns now.
    pub(crate) fn charge(&self, regime: Regime, lap: Instant) -> Instant {
        let now = Instant::now();
        self.regimes[regime as usize].fetch_add(now.duration_since(lap).as_nanos() as u64, Relaxed);
        now
    }

    /// Time spent so far, by regime.
    pub fn regime_ns(&self, regime: Regime) -> u64 {
        self.regimes[regime as usize].load(Relaxed)
    }

    /// The worker is bound to a core of its own.
    pub fn is_pinned(&self) -> bool {
        self.pinned.load(Relaxed)
    }
}
