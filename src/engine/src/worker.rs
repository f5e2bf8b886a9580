//! A worker: the stages one thread runs, each to completion over a batch, in the order of the graph.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crate::arena::{Arena, Record};
use crate::batch::{Batch, BatchLimit};
use crate::link::{Inlet, LocalQueue, Outlet, OutletTarget};
use crate::outputs::{Outputs, Port};
use crate::stage::{OnPanic, Stage};
use crate::stats::{Regime, StageStats, WorkerStats};
use crate::wait::{Waiter, Waker};

/// Time between two calls of a stage's housekeeping.
const HOUSEKEEPING: Duration = Duration::from_millis(100);

/// Orders to every worker of a topology.
#[derive(Debug, Default)]
pub(crate) struct Orders {
    /// Sources bring in nothing more; workers end when their inputs are closed and empty.
    pub drain: AtomicBool,
    /// Workers end at once and release what they hold.
    pub stop: AtomicBool,
    /// A stage asked for the stop by panicking.
    pub failed: AtomicBool,
}

impl Orders {
    /// Stops everything because of a panic.
    pub fn fail(&self) {
        self.failed.store(true, Relaxed);
        self.stop.store(true, Relaxed);
    }
}

/// One stage with its ends.
pub(crate) struct StageCell<M: Record> {
    pub stage: Box<dyn Stage<M>>,
    pub stats: Arc<StageStats>,
    pub limit: BatchLimit,
    pub inlets: Vec<Inlet>,
    pub ports: Vec<Port>,
    /// Indices taken from the inlets; `taken` of them were taken by the stage.
    input: Vec<u32>,
    /// The inlet asked first next time: a batch limit below the number of inlets must not starve the last of them.
    inlet_next: usize,
    finished: bool,
}

/// What publishing the staged envelopes came to.
struct Flushed {
    /// Nothing is staged any more.
    clear: bool,
    /// Some envelopes left.
    moved: bool,
}

impl<M: Record> StageCell<M> {
    pub fn new(stage: Box<dyn Stage<M>>, stats: Arc<StageStats>, inlets: Vec<Inlet>, ports: Vec<Port>) -> Self {
        let mut limit = stage.batch_limit();
        limit.envelopes = limit.envelopes.clamp(1, BatchLimit::ENVELOPES_MAX);
        Self {
            stage,
            stats,
            limit,
            inlets,
            ports,
            input: Vec::with_capacity(limit.envelopes),
            inlet_next: 0,
            finished: false,
        }
    }

    /// Publishes what the last call staged, as far as there is room.
    fn flush(&mut self, arena: &Arena<M>, locals: &mut [LocalQueue]) -> Flushed {
        let before = self.staged();
        for outlet in self.ports.iter_mut().flat_map(|port| &mut port.outlets) {
            // SAFETY: an outlet owns one handle for each index it holds, and gives this one up.
            outlet.flush(locals, |index| unsafe { arena.release_index(index) });
        }
        let after = self.staged();
        Flushed { clear: after == 0, moved: after < before }
    }

    /// There is room in the batch for more input, of which `bytes` are in it already.
    fn is_hungry(&self, bytes: usize) -> bool {
        self.input.len() < self.limit.envelopes && bytes < self.limit.payload_bytes
    }

    fn input_bytes(&self, arena: &Arena<M>) -> usize {
        self.input.iter().map(|index| arena.payload_bytes(*index)).sum()
    }

    /// Another turn would get somewhere.
    fn has_work(&self, arena: &Arena<M>, locals: &[LocalQueue], orders: &Orders) -> bool {
        let more = || self.inlets.iter().any(Inlet::has_work) && self.is_hungry(self.input_bytes(arena));
        let source = || self.stage.is_source() && !orders.drain.load(Relaxed) && self.stage.is_ready();
        !self.finished && (more() || source() || self.is_dry(locals, orders))
    }

    /// Tops the input up from the inlets, round robin, within the batch limit.
    fn fill(&mut self, arena: &Arena<M>, locals: &mut [LocalQueue]) {
        let mut bytes = self.input_bytes(arena);
        let mut dry = 0;
        while dry < self.inlets.len() && self.is_hungry(bytes) {
            let inlet = self.inlet_next;
            self.inlet_next = (inlet + 1) % self.inlets.len();
            match self.inlets[inlet].pop(locals) {
                Some(index) => {
                    bytes += arena.payload_bytes(index);
                    self.input.push(index);
                    dry = 0;
                }
                None => dry += 1,
            }
        }
    }

    /// Runs the stage on its input; true when it took or sent something.
    fn run(&mut self, arena: &Arc<Arena<M>>, orders: &Orders) -> bool {
        let mut taken = 0;
        let waiting = self.input.len();
        let draining = orders.drain.load(Relaxed);
        let mut processed = waiting == 0;
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let mut outputs = Outputs::new(arena, &mut self.ports);
            if waiting > 0 {
                // SAFETY: `input` owns one handle per index; those taken are removed from it below.
                let mut batch = unsafe { Batch::new(arena, &self.input, &mut taken) };
                self.stage.process(&mut batch, &mut outputs);
                processed = true;
            }
            if self.stage.is_source() && !draining {
                self.stage.poll(&mut outputs);
            }
        }));
        if taken == 0 && !processed {
            // It panicked on what it only looked at: without this, it would for ever.
            // SAFETY: `input` owns one handle for its first index, which is removed below.
            unsafe { arena.release_index(self.input[0]) };
            taken = 1;
        }
        // What was taken is no longer owned here, before any more of the stage's own code runs.
        self.input.drain(..taken);
        self.stats.record(taken);
        if outcome.is_err() {
            self.panicked(orders);
        }
        taken > 0 || self.staged() > 0
    }

    /// Counts a panic and does what the stage wants done about it.
    fn panicked(&self, orders: &Orders) {
        self.stats.panics.fetch_add(1, Relaxed);
        if self.stage.on_panic() == OnPanic::StopTopology {
            orders.fail();
        }
    }

    fn staged(&self) -> usize {
        self.ports.iter().flat_map(|port| &port.outlets).map(Outlet::staged_len).sum()
    }

    /// Inputs closed and empty, nothing held: time for [`Stage::finish`].
    fn is_dry(&self, locals: &[LocalQueue], orders: &Orders) -> bool {
        self.input.is_empty()
            && self.inlets.iter().all(|inlet| inlet.is_finished(locals))
            && (!self.stage.is_source() || orders.drain.load(Relaxed))
    }

    fn finish(&mut self, arena: &Arc<Arena<M>>, orders: &Orders) {
        self.finished = true;
        let stage = &mut self.stage;
        let ports = &mut self.ports;
        if catch_unwind(AssertUnwindSafe(|| stage.finish(&mut Outputs::new(arena, ports)))).is_err() {
            self.panicked(orders);
        }
    }
}

/// What one turn of a worker came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// Some stage took or sent envelopes.
    Worked,
    /// Nothing waits.
    Idle,
    /// Something waits, and cannot go on for want of room downstream.
    Blocked,
    /// Every stage has finished.
    Finished,
}

/// The stages of one thread.
pub(crate) struct Worker<M: Record> {
    pub name: String,
    pub arena: Arc<Arena<M>>,
    pub stages: Vec<StageCell<M>>,
    pub locals: Vec<LocalQueue>,
    pub orders: Arc<Orders>,
    pub waker: Waker,
    pub stats: Arc<WorkerStats>,
    pub housekept: Instant,
}

impl<M: Record> Worker<M> {
    /// Runs every stage once.
    pub fn turn(&mut self) -> Turn {
        let (mut worked, mut blocked, mut finished) = (false, false, true);
        for position in 0..self.stages.len() {
            let cell = &mut self.stages[position];
            let flushed = cell.flush(&self.arena, &mut self.locals);
            worked |= flushed.moved;
            if !flushed.clear {
                (blocked, finished) = (true, false);
                continue;
            }
            if cell.finished {
                worked |= self.close_outlets(position);
                continue;
            }
            finished = false;
            cell.fill(&self.arena, &mut self.locals);
            if !cell.input.is_empty() || cell.stage.is_source() {
                worked |= cell.run(&self.arena, &self.orders);
            }
            if !cell.flush(&self.arena, &mut self.locals).clear {
                blocked = true;
            } else if cell.is_dry(&self.locals, &self.orders) {
                cell.finish(&self.arena, &self.orders);
                worked = true;
            }
        }
        match (finished, worked, blocked) {
            (true, ..) => Turn::Finished,
            (_, true, _) => Turn::Worked,
            (_, _, true) => Turn::Blocked,
            _ => Turn::Idle,
        }
    }

    /// A stage is through and everything it sent has left: what it fed learns so. True the first time.
    fn close_outlets(&mut self, position: usize) -> bool {
        let first = !self.stages[position].ports.is_empty();
        for outlet in self.stages[position].ports.drain(..).flat_map(|port| port.outlets) {
            if let OutletTarget::Local(queue) = outlet.target {
                self.locals[queue].closed = true;
            }
            // SAFETY: an outlet owns one handle for each index it holds, and gives this one up.
            outlet.retire(|index| unsafe { self.arena.release_index(index) });
        }
        first
    }

    /// Turns until every stage has finished, or the order to stop comes.
    pub fn run(mut self, mut waiter: Waiter) {
        self.waker.bind();
        let mut lap = Instant::now();
        while !self.orders.stop.load(Relaxed) {
            let turn = self.turn();
            match turn {
                Turn::Finished => break,
                Turn::Worked => waiter.worked(),
                Turn::Idle | Turn::Blocked => {
                    let ends_soon = self.orders.drain.load(Relaxed);
                    waiter.idle(turn == Turn::Blocked || ends_soon, || {
                        self.orders.stop.load(Relaxed) || self.orders.drain.load(Relaxed) || self.has_work()
                    });
                }
            }
            lap = self.stats.charge(Regime::of(turn), lap);
            if lap.duration_since(self.housekept) >= HOUSEKEEPING {
                self.housekeep();
                self.housekept = lap;
                lap = self.stats.charge(Regime::Housekeeping, lap);
            }
        }
    }

    pub fn housekeep(&mut self) {
        for cell in &mut self.stages {
            let stage = &mut cell.stage;
            if catch_unwind(AssertUnwindSafe(|| stage.housekeeping())).is_err() {
                cell.panicked(&self.orders);
            }
        }
    }

    fn has_work(&self) -> bool {
        self.stages.iter().any(|cell| cell.has_work(&self.arena, &self.locals, &self.orders))
    }
}

impl<M: Record> Drop for Worker<M> {
    /// Releases every envelope this worker still holds, and tells its neighbours that it is gone.
    fn drop(&mut self) {
        // SAFETY: inputs, queues, and outlets own one handle per index they hold; each is drained here.
        let release = |index| unsafe { self.arena.release_index(index) };
        for cell in &mut self.stages {
            cell.input.drain(..).for_each(release);
            for outlet in cell.ports.drain(..).flat_map(|port| port.outlets) {
                outlet.retire(release);
            }
            for inlet in cell.inlets.drain(..) {
                inlet.retire(release);
            }
        }
        for queue in &mut self.locals {
            while let Some(index) = queue.pop() {
                release(index);
            }
        }
    }
}
