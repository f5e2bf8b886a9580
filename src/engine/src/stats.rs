//! What the engine counts about links and stages. One writer each, any number of readers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::ring::{mpmc, spsc};

/// Adds to a counter that only the calling thread writes: a third of what a read-modify-write takes.
#[inline]
pub(crate) fn add(counter: &AtomicU64, amount: u64) {
    counter.store(counter.load(Relaxed).wrapping_add(amount), Relaxed);
}

/// What a link counts; written by its producer. Only a source has several, and adds as they must.
#[derive(Debug)]
pub struct LinkStats {
    /// `producer_consumer`.
    pub name: String,
    /// Indices the link holds.
    pub capacity: usize,
    pub(crate) passed: AtomicU64,
    pub(crate) dropped: AtomicU64,
    pub(crate) full: AtomicU64,
    pub(crate) depth: Depth,
}

/// Where a link's depth is read.
#[derive(Debug)]
pub(crate) enum Depth {
    Local(AtomicU64),
    Spsc(spsc::Gauge),
    Mpmc(Arc<mpmc::Ring>),
}

impl LinkStats {
    pub(crate) fn new(name: &str, capacity: usize, depth: Depth) -> Arc<Self> {
        Arc::new(Self {
            name: name.to_owned(),
            capacity,
            passed: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            full: AtomicU64::new(0),
            depth,
        })
    }

    pub(crate) fn overwrote(&self, pushed: u64, dropped: u64) {
        add(&self.passed, pushed);
        if dropped > 0 {
            add(&self.dropped, dropped);
            add(&self.full, 1);
        }
    }

    /// Envelopes published on the link. Of a link that drops its oldest, those are among them that were dropped later.
    pub fn passed_total(&self) -> u64 {
        self.passed.load(Relaxed)
    }

    /// Envelopes dropped because the link was full or its consumer gone.
    pub fn dropped_total(&self) -> u64 {
        self.dropped.load(Relaxed)
    }

    /// Times the producer found the link full.
    pub fn full_total(&self) -> u64 {
        self.full.load(Relaxed)
    }

    /// Envelopes waiting in the link.
    pub fn depth(&self) -> usize {
        match &self.depth {
            Depth::Local(depth) => depth.load(Relaxed) as usize,
            Depth::Spsc(gauge) => gauge.depth(),
            Depth::Mpmc(ring) => ring.depth(),
        }
    }

    /// How full the link is, from 0 to 1.
    pub fn fill(&self) -> f64 {
        self.depth() as f64 / self.capacity.max(1) as f64
    }
}

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
    pub(crate) restarts: AtomicU64,
}

impl StageStats {
    pub(crate) fn new(name: &str, worker: &str) -> Self {
        Self {
            name: name.to_owned(),
            worker: worker.to_owned(),
            envelopes: AtomicU64::new(0),
            batches: AtomicU64::new(0),
            panics: AtomicU64::new(0),
            restarts: AtomicU64::new(0),
        }
    }

    pub(crate) fn record(&self, taken: usize) {
        if taken > 0 {
            add(&self.envelopes, taken as u64);
            add(&self.batches, 1);
        }
    }

    /// Envelopes the stage took, and those the engine gave up for it after a panic.
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

    /// Times the stage was made anew after a panic.
    pub fn restarts_total(&self) -> u64 {
        self.restarts.load(Relaxed)
    }
}
