//! One stage with its ends: what a worker turns, and where panics end.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use crate::arena::{Arena, Record};
use crate::batch::{Batch, BatchLimit};
use crate::link::{Inlet, OutletTarget};
use crate::orders::Orders;
use crate::outputs::{Outputs, Port};
use crate::queue::LocalQueue;
use crate::stage::{OnPanic, Stage};
use crate::stats::StageStats;
use crate::suspects::Suspects;

/// Makes a stage anew.
pub(crate) type Factory<M> = Box<dyn FnMut() -> Box<dyn Stage<M>> + Send>;

/// One stage with its ends.
pub(crate) struct StageCell<M: Record> {
    pub stage: Box<dyn Stage<M>>,
    factory: Option<Factory<M>>,
    pub stats: Arc<StageStats>,
    limit: BatchLimit,
    pub is_source: bool,
    pub inlets: Vec<Inlet>,
    pub ports: Vec<Port>,
    /// Indices taken from the inlets and not yet taken by the stage.
    pub input: Vec<u32>,
    /// The inlet asked first next time: a batch limit below the number of inlets must not starve the last of them.
    inlet_next: usize,
    suspects: Suspects,
    /// Nothing is staged, for sure.
    is_clear: bool,
    pub finished: bool,
}

/// What publishing the staged envelopes came to.
pub(crate) struct Flushed {
    /// Nothing is staged any more.
    pub clear: bool,
    /// Some envelopes left.
    pub moved: bool,
}

impl<M: Record> StageCell<M> {
    pub fn new(stage: Box<dyn Stage<M>>, factory: Option<Factory<M>>, stats: Arc<StageStats>) -> Self {
        let mut limit = stage.batch_limit();
        limit.envelopes = limit.envelopes.clamp(1, BatchLimit::ENVELOPES_MAX);
        Self {
            is_source: stage.is_source(),
            stage,
            factory,
            stats,
            limit,
            inlets: Vec::new(),
            ports: Vec::new(),
            input: Vec::with_capacity(BatchLimit::ENVELOPES_MAX),
            inlet_next: 0,
            suspects: Suspects::default(),
            is_clear: true,
            finished: false,
        }
    }

    /// Publishes what the last call staged, as far as there is room.
    #[inline]
    pub fn flush(&mut self, arena: &Arena<M>, locals: &mut [LocalQueue]) -> Flushed {
        if self.is_clear { Flushed { clear: true, moved: false } } else { self.flush_staged(arena, locals) }
    }

    fn flush_staged(&mut self, arena: &Arena<M>, locals: &mut [LocalQueue]) -> Flushed {
        let (mut before, mut after) = (0, 0);
        for outlet in self.ports.iter_mut().flat_map(|port| &mut port.outlets) {
            before += outlet.staged_len();
            // SAFETY: an outlet owns one handle for each index it holds, and gives this one up.
            outlet.flush(locals, |index| unsafe { arena.release_index(index) });
            after += outlet.staged_len();
        }
        self.is_clear = after == 0;
        Flushed { clear: self.is_clear, moved: after < before }
    }

    /// There is room in the batch for more input, of which `bytes` are in it already.
    fn is_hungry(&self, bytes: usize) -> bool {
        self.input.len() < self.limit.envelopes && bytes < self.limit.payload_bytes
    }

    fn input_bytes(&self, arena: &Arena<M>) -> usize {
        self.input.iter().map(|index| arena.payload_bytes(*index)).sum()
    }

    /// Another turn would get somewhere.
    pub fn has_work(&mut self, arena: &Arena<M>, locals: &[LocalQueue], orders: &Orders) -> bool {
        if self.finished {
            return false;
        }
        let more = self.inlets.iter().any(Inlet::has_work) && self.is_hungry(self.input_bytes(arena));
        more || self.is_dry(locals, orders) || self.is_ready(orders)
    }

    /// The stage is a source that has something to bring in. One that panics is asked again when the worker next wakes.
    fn is_ready(&mut self, orders: &Orders) -> bool {
        if !self.is_source || orders.is_draining() {
            return false;
        }
        let stage = &self.stage;
        survives(|| stage.is_ready()).unwrap_or_else(|| {
            self.panicked(orders);
            false
        })
    }

    /// Tops the input up from the inlets, within the batch limit: each in turn gives its share of the room that is left.
    pub fn fill(&mut self, arena: &Arena<M>, locals: &mut [LocalQueue]) {
        // However many envelopes it takes, they cannot reach the limit in bytes: no need to look at each.
        let is_counted = self.limit.envelopes.saturating_mul(arena.payload_bytes_max()) >= self.limit.payload_bytes;
        match &mut self.inlets[..] {
            [inlet] if !is_counted => {
                let most = self.limit.envelopes - self.input.len();
                inlet.pop_into(locals, most, &mut self.input);
            }
            _ => self.fill_counting(arena, locals),
        }
    }

    fn fill_counting(&mut self, arena: &Arena<M>, locals: &mut [LocalQueue]) {
        let mut bytes = self.input_bytes(arena);
        let mut dry = 0;
        while dry < self.inlets.len() && self.is_hungry(bytes) {
            let inlet = self.inlet_next;
            self.inlet_next = (inlet + 1) % self.inlets.len();
            let share = (self.limit.envelopes - self.input.len()).div_ceil(self.inlets.len() - dry);
            let (input, bytes_max) = (&mut self.input, self.limit.payload_bytes);
            let taken = self.inlets[inlet].pop_each(locals, share, |index| {
                bytes += arena.payload_bytes(index);
                input.push(index);
                bytes < bytes_max
            });
            dry = if taken == 0 { dry + 1 } else { 0 };
        }
    }

    /// Runs the stage on its input; true when it took something, or the search for a culprit went on. What it sent is
    /// staged: a flush tells.
    pub fn run(&mut self, arena: &Arc<Arena<M>>, orders: &Orders) -> bool {
        let mut taken = 0;
        let shown = self.suspects.shown(self.input.len());
        let draining = orders.is_draining();
        let mut processed = shown == 0;
        let outcome = survives(|| {
            let mut outputs = Outputs::new(arena, &mut self.ports);
            if shown > 0 {
                // SAFETY: `input` owns one handle per index; those taken are removed from it below.
                let mut batch = unsafe { Batch::new(arena, &self.input[..shown], &mut taken) };
                self.stage.process(&mut batch, &mut outputs);
                processed = true;
            }
            if self.is_source && !draining {
                self.stage.poll(&mut outputs);
            }
        });
        // What was taken is no longer owned here, before any more of the stage's own code runs.
        if taken == self.input.len() {
            self.input.clear();
        } else {
            self.input.drain(..taken);
        }
        let mut searching = self.suspects.is_searching();
        if taken == 0 && !processed {
            // It panicked on what it only looked at: without this, it would for ever.
            searching = true;
            if let Some(culprit) = self.suspects.accuse(shown) {
                let index = self.input.remove(culprit);
                // SAFETY: `input` owned one handle for the index and has just let go of it.
                unsafe { arena.release_index(index) };
                taken = 1;
            }
        } else {
            self.suspects.clear(taken);
        }
        self.stats.record(taken);
        if outcome.is_none() {
            self.panicked(orders);
        }
        self.is_clear = false;
        searching || taken > 0
    }

    /// Counts a panic and does what the stage wants done about it.
    fn panicked(&mut self, orders: &Orders) {
        self.stats.panics.fetch_add(1, Relaxed);
        let stage = &self.stage;
        let Some(answer) = survives(|| stage.on_panic()) else { return orders.fail() };
        match answer {
            OnPanic::SkipMessage => {}
            OnPanic::RestartStage if self.finished => {}
            OnPanic::RestartStage => self.restart(orders),
            OnPanic::StopTopology => orders.fail(),
        }
    }

    /// The old stage goes first, with all it holds: the new one may need the same.
    fn restart(&mut self, orders: &Orders) {
        let old = std::mem::replace(&mut self.stage, Box::new(Vacant));
        if survives(|| drop(old)).is_none() {
            self.stats.panics.fetch_add(1, Relaxed);
        }
        let factory = self.factory.as_mut().expect("the build refuses a stage to be restarted that has no factory");
        match survives(factory) {
            Some(stage) => {
                self.stage = stage;
                self.stats.restarts.fetch_add(1, Relaxed);
            }
            None => {
                self.stats.panics.fetch_add(1, Relaxed);
                orders.fail();
            }
        }
    }

    pub fn housekeep(&mut self, orders: &Orders) {
        let stage = &mut self.stage;
        if survives(|| stage.housekeeping()).is_none() {
            self.panicked(orders);
        }
    }

    /// Inputs closed and empty, nothing held: time for [`Stage::finish`].
    pub fn is_dry(&self, locals: &[LocalQueue], orders: &Orders) -> bool {
        self.input.is_empty()
            && self.inlets.iter().all(|inlet| inlet.is_finished(locals))
            && (!self.is_source || orders.is_draining())
    }

    pub fn finish(&mut self, arena: &Arc<Arena<M>>, orders: &Orders) {
        self.finished = true;
        let stage = &mut self.stage;
        let ports = &mut self.ports;
        if survives(|| stage.finish(&mut Outputs::unlimited(arena, ports))).is_none() {
            self.panicked(orders);
        }
        self.is_clear = false;
    }

    /// The stage is through and everything it sent has left: what it fed learns so. True the first time.
    pub fn close_outlets(&mut self, arena: &Arena<M>, locals: &mut [LocalQueue]) -> bool {
        let first = !self.ports.is_empty();
        for outlet in self.ports.drain(..).flat_map(|port| port.outlets) {
            if let OutletTarget::Local(queue) = outlet.target {
                locals[queue].closed = true;
            }
            // SAFETY: an outlet owns one handle for each index it holds, and gives this one up.
            outlet.retire(|index| unsafe { arena.release_index(index) });
        }
        first
    }
}

/// What the stage's code gives, unless it panics. A panic ends here, and so does one in what it carries.
fn survives<T>(code: impl FnOnce() -> T) -> Option<T> {
    match catch_unwind(AssertUnwindSafe(code)) {
        Ok(given) => Some(given),
        Err(carried) => {
            if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(carried))) {
                // It may panic as often as it is dropped.
                std::mem::forget(again);
            }
            None
        }
    }
}

/// Stands where a stage was, while another is made.
struct Vacant;

impl<M: Record> Stage<M> for Vacant {
    fn ports(&self) -> &'static [&'static str] {
        &[]
    }

    fn process(&mut self, _: &mut Batch<'_, M>, _: &mut Outputs<'_, M>) {}
}
