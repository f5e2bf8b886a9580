//! From a checked drawing to workers: rings where a link crosses workers, plain arrays where it does not.

use std::sync::Arc;

use crate::arena::Record;
use crate::batch::BatchLimit;
use crate::cell::StageCell;
use crate::link::{Inlet, InletEnd, Outlet, OutletTarget, remote};
use crate::orders::Orders;
use crate::outputs::Port;
use crate::queue::LocalQueue;
use crate::stats::{Depth, LinkStats, StageStats};
use crate::time::{Clock, WorkerStats};
use crate::topology::builder::TopologyBuilder;
use crate::topology::{Topology, TopologyStats};
use crate::worker::Worker;

/// The ends of every stage, filled link by link.
struct Ends {
    inlets: Vec<Vec<Inlet>>,
    ports: Vec<Vec<Port>>,
    locals: Vec<Vec<LocalQueue>>,
    stats: Vec<Arc<LinkStats>>,
}

pub(super) fn wire<M: Record>(mut plan: TopologyBuilder<M>, order: &[usize], cores: &[Option<usize>]) -> Topology<M> {
    let mut ends = Ends {
        inlets: plan.stages.iter().map(|_| Vec::new()).collect(),
        ports: plan.stages.iter().map(|cell| cell.stage.ports().iter().map(|_| Port::default()).collect()).collect(),
        locals: plan.workers.iter().map(|_| Vec::new()).collect(),
        stats: Vec::new(),
    };
    ends.sources(&plan);
    ends.links(&plan, order);
    ends.sinks(&mut plan);

    let orders = Arc::new(Orders::new());
    let mut stats = TopologyStats { links: ends.stats, stages: Vec::new(), workers: Vec::new() };
    let mut workers = Vec::new();
    for ((worker, core), locals) in plan.workers.iter().zip(cores).zip(ends.locals) {
        let worker_stats = Arc::new(WorkerStats::new(&worker.name));
        stats.workers.push(worker_stats.clone());
        workers.push(Worker {
            name: worker.name.clone(),
            arena: plan.arena.clone(),
            stages: Vec::new(),
            locals,
            orders: orders.clone(),
            waker: worker.waker.clone(),
            clock: Clock::new(worker_stats.clone()),
            stats: worker_stats,
            core: *core,
            wait: worker.wait.unwrap_or(plan.wait),
        });
    }
    let stages = std::mem::take(&mut plan.stages);
    let mut cells: Vec<_> = stages.into_iter().zip(ends.inlets.into_iter().zip(ends.ports)).map(Some).collect();
    for stage in order {
        let (cell, (inlets, ports)) = cells[*stage].take().expect("the order names each stage once");
        let stage_stats = Arc::new(StageStats::new(&cell.name, &plan.workers[cell.worker].name));
        stats.stages.push(stage_stats.clone());
        let mut placed = StageCell::new(cell.stage, cell.factory, stage_stats);
        (placed.inlets, placed.ports) = (inlets, ports);
        workers[cell.worker].stages.push(placed);
    }
    // From here on the workers own what the sources push.
    let sources = std::mem::take(&mut plan.sources).into_iter().map(|source| source.ring).collect();
    Topology { workers, placement: plan.placement, sources, orders, stats: Arc::new(stats) }
}

impl Ends {
    fn sources<M: Record>(&mut self, plan: &TopologyBuilder<M>) {
        for source in &plan.sources {
            self.stats.push(source.stats.clone());
            self.inlets[source.to].push(Inlet { end: InletEnd::Mpmc(source.ring.clone()), feedback: false });
        }
    }

    fn links<M: Record>(&mut self, plan: &TopologyBuilder<M>, order: &[usize]) {
        let place = |stage| order.iter().position(|placed| *placed == stage);
        for link in &plan.links {
            let (from, to) = (plan.stages[link.from].worker, plan.stages[link.to].worker);
            let capacity = link.config.capacity;
            let (target, end, stats);
            if from == to {
                stats = LinkStats::new(&link.name, capacity, Depth::Local(0.into()));
                let queue = self.locals[to].len();
                self.locals[to].push(LocalQueue::new(capacity, stats.clone()));
                (target, end) = (OutletTarget::Local(queue), InletEnd::Local(queue));
            } else {
                let depth;
                (target, end, depth) = remote(link.config, plan.workers[to].waker.clone());
                stats = LinkStats::new(&link.name, capacity, depth);
            }
            self.inlets[link.to].push(Inlet { end, feedback: place(link.from) >= place(link.to) });
            self.outlet(
                link.from,
                link.port,
                Outlet::new(target, stats, link.config.policy, staged_max(plan, link.from)),
            );
        }
    }

    fn sinks<M: Record>(&mut self, plan: &mut TopologyBuilder<M>) {
        for position in 0..plan.sinks.len() {
            let sink = &mut plan.sinks[position];
            let (target, depth) = sink.ring.take().expect("each sink is wired once");
            let stats = LinkStats::new(&sink.name, sink.config.capacity, depth);
            let (from, port, policy) = (sink.from, sink.port, sink.config.policy);
            self.outlet(from, port, Outlet::new(target, stats, policy, staged_max(plan, from)));
        }
    }

    fn outlet(&mut self, from: usize, port: usize, outlet: Outlet) {
        self.stats.push(outlet.stats.clone());
        self.ports[from][port].outlets.push(outlet);
    }
}

/// One envelope per envelope taken, and as many again for what a stage sends on its own account.
fn staged_max<M: Record>(plan: &TopologyBuilder<M>, stage: usize) -> usize {
    2 * plan.stages[stage].stage.batch_limit().envelopes.clamp(1, BatchLimit::ENVELOPES_MAX)
}
