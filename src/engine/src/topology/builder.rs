//! Drawing a topology: workers, stages on them, links between stages, and the ends outsiders hold.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::affinity::Affinity;
use crate::arena::{Arena, Record};
use crate::cell::Factory;
use crate::cores::Cores;
use crate::ends::{Sink, Source};
use crate::link::{Inlet, InletEnd, LinkConfig, OutletTarget, remote};
use crate::ring::mpmc;
use crate::stage::Stage;
use crate::stats::{Depth, LinkStats};
use crate::topology::declared::DeclaredLink;
use crate::topology::error::TopologyError;
use crate::topology::placement::Placement;
use crate::topology::wiring::wire;
use crate::topology::{Topology, check};
use crate::wait::{Wait, Waker};

/// A worker of the topology being drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkerId(pub(super) usize);

/// A stage of the topology being drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StageId(pub(super) usize);

pub(super) struct WorkerPlan {
    pub name: String,
    pub pinned: bool,
    pub waker: Waker,
    /// How it waits, if not as the rest of the topology.
    pub wait: Option<Wait>,
}

pub(super) struct StagePlan<M: Record> {
    pub name: String,
    pub worker: usize,
    pub stage: Box<dyn Stage<M>>,
    pub factory: Option<Factory<M>>,
}

pub(super) struct LinkPlan {
    pub name: String,
    /// The name was given with the link, and is not made from its ends.
    pub is_declared: bool,
    pub from: usize,
    pub port: usize,
    pub to: usize,
    pub config: LinkConfig,
}

pub(super) struct SourcePlan {
    pub name: String,
    pub to: usize,
    pub capacity: usize,
    pub ring: Arc<mpmc::Ring>,
    pub stats: Arc<LinkStats>,
}

pub(super) struct SinkPlan {
    pub name: String,
    pub from: usize,
    pub port: usize,
    pub config: LinkConfig,
    /// The producing end and the depth of the ring, until they are wired.
    pub ring: Option<(OutletTarget, Depth)>,
}

/// Collects a topology; [`build`](Self::build) checks it.
pub struct TopologyBuilder<M: Record> {
    pub(super) arena: Arc<Arena<M>>,
    pub(super) workers: Vec<WorkerPlan>,
    pub(super) stages: Vec<StagePlan<M>>,
    pub(super) links: Vec<LinkPlan>,
    pub(super) declared: Vec<DeclaredLink>,
    pub(super) sources: Vec<SourcePlan>,
    pub(super) sinks: Vec<SinkPlan>,
    pub(super) discarded: HashSet<(usize, usize)>,
    pub(super) affinity: Affinity,
    /// How the workers wait that have no way of their own.
    pub(super) wait: Wait,
    pub(super) placement: Option<Placement>,
    /// The workers that the placement has made, by lane.
    pub(super) lanes: HashMap<usize, WorkerId>,
    pub(super) errors: Vec<TopologyError>,
}

impl<M: Record> TopologyBuilder<M> {
    /// An empty drawing over `arena`.
    pub fn new(arena: Arc<Arena<M>>) -> Self {
        Self {
            arena,
            workers: Vec::new(),
            stages: Vec::new(),
            links: Vec::new(),
            declared: Vec::new(),
            sources: Vec::new(),
            sinks: Vec::new(),
            discarded: HashSet::new(),
            affinity: Affinity::Auto,
            wait: Wait::default(),
            placement: None,
            lanes: HashMap::new(),
            errors: Vec::new(),
        }
    }

    /// Adds a worker that gets a core of its own where there is one.
    pub fn worker(&mut self, name: &str) -> WorkerId {
        self.add_worker(name, true)
    }

    /// Adds a worker for stages that block: it is not bound to a core.
    pub fn blocking_worker(&mut self, name: &str) -> WorkerId {
        self.add_worker(name, false)
    }

    fn add_worker(&mut self, name: &str, pinned: bool) -> WorkerId {
        self.workers.push(WorkerPlan { name: name.to_owned(), pinned, waker: Waker::of_worker(), wait: None });
        WorkerId(self.workers.len() - 1)
    }

    /// Says how workers wait that are given no way of their own; [`Wait::Balanced`] unless told.
    pub fn default_wait(&mut self, wait: Wait) {
        self.wait = wait;
    }

    /// Makes one worker wait in a way of its own.
    pub fn wait(&mut self, worker: WorkerId, wait: Wait) {
        self.workers[worker.0].wait = Some(wait);
    }

    /// Says which pinned worker runs on which core; [`Affinity::Auto`] unless told.
    pub fn affinity(&mut self, affinity: Affinity) {
        self.affinity = affinity;
    }

    /// The worker that runs a stage.
    pub fn worker_of(&self, stage: StageId) -> WorkerId {
        WorkerId(self.stages[stage.0].worker)
    }

    /// Wakes the worker, for code that feeds one of its stages by other means than a link.
    pub fn waker(&self, worker: WorkerId) -> Waker {
        self.workers[worker.0].waker.clone()
    }

    /// Places a stage on a worker.
    pub fn stage(&mut self, worker: WorkerId, name: &str, stage: impl Stage<M> + 'static) -> StageId {
        self.add_stage(worker, name, Box::new(stage), None)
    }

    /// Places the stage that `factory` makes, which makes it anew whenever it panics, if the stage says so
    /// ([`OnPanic::RestartStage`](crate::OnPanic::RestartStage)).
    pub fn stage_with<S: Stage<M> + 'static>(
        &mut self,
        worker: WorkerId,
        name: &str,
        mut factory: impl FnMut() -> S + Send + 'static,
    ) -> StageId {
        let stage = Box::new(factory());
        self.add_stage(worker, name, stage, Some(Box::new(move || Box::new(factory()))))
    }

    fn add_stage(
        &mut self,
        worker: WorkerId,
        name: &str,
        stage: Box<dyn Stage<M>>,
        factory: Option<Factory<M>>,
    ) -> StageId {
        self.stages.push(StagePlan { name: name.to_owned(), worker: worker.0, stage, factory });
        StageId(self.stages.len() - 1)
    }

    /// Links a port to a stage with the default capacity, reliably.
    pub fn link(&mut self, from: StageId, port: &str, to: StageId) {
        self.link_with(from, port, to, LinkConfig::default());
    }

    /// Links a port to a stage. The link is called `producer_consumer`; where several ports of one stage lead to the same
    /// other, they are called `producer.port_consumer`.
    ///
    /// A link has one producer and one consumer, as its ring wants it: links of several producers that meet in a stage are as many
    /// rings, and no end of a ring can be cloned. A link declared by [`spsc_link`](Self::spsc_link) is held to it by `build`.
    pub fn link_with(&mut self, from: StageId, port: &str, to: StageId, config: LinkConfig) {
        let name = format!("{}_{}", self.stages[from.0].name, self.stages[to.0].name);
        if let Some(port) = self.port(from, port) {
            self.links.push(LinkPlan { name, is_declared: false, from: from.0, port, to: to.0, config });
        }
    }

    /// Releases what leaves by a port.
    pub fn discard(&mut self, from: StageId, port: &str) {
        if let Some(port) = self.port(from, port) {
            self.discarded.insert((from.0, port));
        }
    }

    /// A way in for code outside the workers.
    pub fn source(&mut self, name: &str, to: StageId, capacity: usize) -> Source<M> {
        // A wrong capacity is reported by `build`; until then the ring has one that works.
        let ring = Arc::new(mpmc::Ring::new(check::usable(capacity)));
        let stats = LinkStats::new(name, capacity, Depth::Mpmc(ring.clone()));
        let waker = self.workers[self.stages[to.0].worker].waker.clone();
        let plan = SourcePlan { name: name.to_owned(), to: to.0, capacity, ring: ring.clone(), stats: stats.clone() };
        self.sources.push(plan);
        Source::new(self.arena.clone(), ring, waker, stats)
    }

    /// A way out to code outside the workers, which `waker` tells of each batch.
    pub fn sink(&mut self, name: &str, from: StageId, port: &str, config: LinkConfig, waker: Waker) -> Sink<M> {
        let usable = LinkConfig { capacity: check::usable(config.capacity), ..config };
        let (target, end, depth) = remote(usable, waker);
        if let Some(port) = self.port(from, port) {
            let ring = Some((target, depth));
            self.sinks.push(SinkPlan { name: name.to_owned(), from: from.0, port, config, ring });
        }
        Sink::new(self.arena.clone(), end)
    }

    pub(super) fn port(&mut self, from: StageId, port: &str) -> Option<usize> {
        let plan = &self.stages[from.0];
        let ports = plan.stage.ports();
        let found = ports.iter().position(|name| *name == port);
        if found.is_none() {
            let (stage, port, ports) = (plan.name.clone(), port.to_owned(), ports.join(", "));
            self.errors.push(TopologyError::UnknownPort { stage, port, ports });
        }
        found
    }

    /// Checks the drawing and wires it. What sources pushed before waits in the topology; if the drawing is refused, it
    /// is released and the sources are closed.
    ///
    /// # Errors
    /// The first [`TopologyError`] found; each says how to mend the drawing.
    pub fn build(mut self) -> Result<Topology<M>, TopologyError> {
        if let Some(error) = self.errors.drain(..).next() {
            return Err(error);
        }
        if let Some(error) = self.unwritten() {
            return Err(error);
        }
        self.name_parallel_links();
        let order = check::check(&self)?;
        let cores = check::cores(&self, &Cores::of_process())?;
        Ok(wire(self, &order, &cores))
    }

    /// Links that leave one stage by different ports for the same other are told apart by the port.
    fn name_parallel_links(&mut self) {
        let derived = || self.links.iter().filter(|link| !link.is_declared);
        let ends: Vec<_> = derived().map(|link| (link.from, link.to)).collect();
        for link in self.links.iter_mut().filter(|link| !link.is_declared) {
            let ports = &self.stages[link.from].stage.ports();
            if ends.iter().filter(|other| **other == (link.from, link.to)).count() > 1 {
                let (from, to) = (&self.stages[link.from].name, &self.stages[link.to].name);
                link.name = format!("{from}.{}_{to}", ports[link.port]);
            }
        }
    }
}

impl<M: Record> Drop for TopologyBuilder<M> {
    /// A drawing that was never wired: nobody will ever take what its sources were given.
    fn drop(&mut self) {
        for source in self.sources.drain(..) {
            let inlet = Inlet { end: InletEnd::Mpmc(source.ring), feedback: false };
            // SAFETY: the ring carries one handle for each index in it.
            inlet.retire(|index| unsafe { self.arena.release_index(index) });
        }
    }
}
