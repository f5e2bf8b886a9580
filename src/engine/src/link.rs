//! Links: named rings between two stages, and the ends that workers and outsiders hold.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::batch::BatchLimit;
use crate::ring::{mpmc, spsc};
use crate::wait::Waker;

/// What a link does with an envelope when it is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Policy {
    /// The producer waits: nothing is lost.
    #[default]
    Reliable,
    /// The envelope is dropped and counted: the producer never waits.
    DropNewest,
}

/// How a link is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkConfig {
    /// Indices the link holds: a power of two, at least 256.
    pub capacity: usize,
    /// What happens when it is full.
    pub policy: Policy,
}

impl Default for LinkConfig {
    fn default() -> Self {
        Self { capacity: 1024, policy: Policy::Reliable }
    }
}

/// What a link counts; written by its producer.
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

    /// Envelopes published on the link.
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
}

/// The producing end, with a staging place for one call of the stage.
#[derive(Debug)]
pub(crate) struct Outlet {
    pub target: OutletTarget,
    pub stats: Arc<LinkStats>,
    pub policy: Policy,
    staged: Vec<u32>,
    staged_max: usize,
}

/// Where staged indices go.
#[derive(Debug)]
pub(crate) enum OutletTarget {
    /// A queue of the same worker, by its number there.
    Local(usize),
    /// A ring to another worker or to an outsider.
    Remote { producer: spsc::Producer, waker: Waker },
}

impl Outlet {
    /// `staged_max`: most envelopes the stage may send in one call.
    pub fn new(target: OutletTarget, stats: Arc<LinkStats>, policy: Policy, staged_max: usize) -> Self {
        Self { target, stats, policy, staged: Vec::with_capacity(staged_max), staged_max }
    }

    pub fn room(&self) -> usize {
        self.staged_max - self.staged.len()
    }

    pub fn staged_len(&self) -> usize {
        self.staged.len()
    }

    pub fn stage(&mut self, index: u32) {
        self.staged.push(index);
    }

    /// Publishes what is staged; what finds no room stays staged, unless the policy drops it.
    /// `release` gets the indices that are dropped.
    pub fn flush(&mut self, locals: &mut [LocalQueue], release: impl FnMut(u32)) {
        if self.staged.is_empty() {
            return;
        }
        let count = match &mut self.target {
            OutletTarget::Local(queue) => locals[*queue].push_batch(&self.staged),
            OutletTarget::Remote { producer, .. } if producer.is_abandoned() => return self.drop_staged(release),
            OutletTarget::Remote { producer, .. } => producer.push_batch(&self.staged),
        };
        // What was published is no longer owned here, before anybody else's code runs.
        self.staged.drain(..count);
        self.stats.passed.fetch_add(count as u64, Relaxed);
        if let OutletTarget::Remote { waker, .. } = &self.target
            && count > 0
        {
            waker.wake();
        }
        if !self.staged.is_empty() {
            self.stats.full.fetch_add(1, Relaxed);
            if self.policy == Policy::DropNewest {
                self.drop_staged(release);
            }
        }
    }

    fn drop_staged(&mut self, release: impl FnMut(u32)) {
        self.stats.dropped.fetch_add(self.staged.len() as u64, Relaxed);
        self.staged.drain(..).for_each(release);
    }

    /// The worker ends: gives back what is staged, and what nobody will ever pop.
    pub fn retire(mut self, mut release: impl FnMut(u32)) {
        self.staged.drain(..).for_each(&mut release);
        if let OutletTarget::Remote { producer, waker } = self.target {
            producer.retire(release);
            waker.wake();
        }
    }
}

/// The consuming end.
#[derive(Debug)]
pub(crate) struct Inlet {
    pub end: InletEnd,
    /// The link leads back to a stage before its producer (it is drop-newest, then): at the end nobody waits for it to
    /// close, or the stages of the circle would wait for each other.
    pub feedback: bool,
}

/// Where indices come from.
#[derive(Debug)]
pub(crate) enum InletEnd {
    Local(usize),
    Spsc(spsc::Consumer),
    Mpmc(Arc<mpmc::Ring>),
}

impl Inlet {
    pub fn pop(&mut self, locals: &mut [LocalQueue]) -> Option<u32> {
        match &mut self.end {
            InletEnd::Local(queue) => locals[*queue].pop(),
            InletEnd::Spsc(consumer) => consumer.pop(),
            InletEnd::Mpmc(ring) => ring.pop(),
        }
    }

    /// Something waits. Local queues are filled by the same worker, which knows.
    pub fn has_work(&self) -> bool {
        match &self.end {
            InletEnd::Local(_) => false,
            InletEnd::Spsc(consumer) => !consumer.is_empty(),
            InletEnd::Mpmc(ring) => !ring.is_empty(),
        }
    }

    /// The worker ends: gives back what still waits and refuses what is yet to come.
    pub fn retire(self, mut release: impl FnMut(u32)) {
        match self.end {
            InletEnd::Local(_) => {}
            InletEnd::Spsc(mut consumer) => {
                while let Some(index) = consumer.pop() {
                    release(index);
                }
                consumer.retire(release);
            }
            InletEnd::Mpmc(ring) => {
                ring.close();
                while !ring.is_finished() {
                    // A push under way finishes within a few instructions.
                    ring.pop().map_or_else(std::thread::yield_now, &mut release);
                }
            }
        }
    }

    /// Closed and empty; a feedback link, empty.
    pub fn is_finished(&self, locals: &[LocalQueue]) -> bool {
        match &self.end {
            InletEnd::Local(queue) => (self.feedback || locals[*queue].closed) && locals[*queue].is_empty(),
            // The order matters: what was pushed before the close is visible once the flag is.
            InletEnd::Spsc(consumer) => (self.feedback || consumer.is_closed()) && consumer.is_empty(),
            InletEnd::Mpmc(ring) => ring.is_finished(),
        }
    }
}

/// A link between two stages of one worker: a plain array.
#[derive(Debug)]
pub(crate) struct LocalQueue {
    cells: std::collections::VecDeque<u32>,
    capacity: usize,
    stats: Arc<LinkStats>,
    /// The producing stage has finished.
    pub closed: bool,
}

impl LocalQueue {
    pub fn new(capacity: usize, stats: Arc<LinkStats>) -> Self {
        let capacity = capacity.max(BatchLimit::ENVELOPES_MAX);
        Self { cells: std::collections::VecDeque::with_capacity(capacity), capacity, stats, closed: false }
    }

    fn push_batch(&mut self, indices: &[u32]) -> usize {
        let count = indices.len().min(self.capacity - self.cells.len());
        self.cells.extend(&indices[..count]);
        self.note_depth();
        count
    }

    pub fn pop(&mut self) -> Option<u32> {
        let index = self.cells.pop_front()?;
        self.note_depth();
        Some(index)
    }

    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    fn note_depth(&self) {
        if let Depth::Local(depth) = &self.stats.depth {
            depth.store(self.cells.len() as u64, Relaxed);
        }
    }
}
