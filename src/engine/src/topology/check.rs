//! What a drawing must satisfy before it is wired.

use std::collections::HashSet;

use crate::arena::Record;
use crate::batch::BatchLimit;
use crate::cores::Cores;
use crate::ring::{CAPACITY_MAX, CAPACITY_MIN};
use crate::stage::OnPanic;
use crate::topology::builder::{StagePlan, TopologyBuilder};
use crate::topology::error::TopologyError;
use crate::wait::Wait;

/// Batches that a link must hold at least.
#[cfg(not(any(loom, shuttle)))]
const BATCHES_MIN: usize = 8;
#[cfg(any(loom, shuttle))]
const BATCHES_MIN: usize = 1;

/// The nearest capacity a ring can have.
pub(super) fn usable(capacity: usize) -> usize {
    capacity.clamp(CAPACITY_MIN, CAPACITY_MAX).next_power_of_two()
}

/// Checks everything; returns the stages in an order in which producers come before their consumers.
pub(super) fn check<M: Record>(plan: &TopologyBuilder<M>) -> Result<Vec<usize>, TopologyError> {
    names(plan)?;
    ports(plan)?;
    inputs(plan)?;
    capacities(plan)?;
    factories(plan)?;
    order(plan)
}

/// The core of each worker, where it is bound to one; refused where a worker that spins would have to share.
pub(super) fn cores<M: Record>(plan: &TopologyBuilder<M>, cores: &Cores) -> Result<Vec<Option<usize>>, TopologyError> {
    let pinned: Vec<&str> =
        plan.workers.iter().filter(|worker| worker.pinned).map(|worker| worker.name.as_str()).collect();
    let mut assigned = plan.affinity.assign(&pinned, cores)?.into_iter();
    let mut next = |pinned: bool| if pinned { assigned.next().flatten() } else { None };
    let bound: Vec<Option<usize>> = plan.workers.iter().map(|worker| next(worker.pinned)).collect();
    let workers = || plan.workers.iter().zip(&bound).map(|(worker, core)| (worker.name.as_str(), worker.wait, *core));
    spinning(workers, plan.wait, cores)?;
    Ok(bound)
}

/// A worker that never gives its core up must have one to itself. `workers`: name, way to wait (or `wait`), core.
fn spinning<'a, I>(workers: impl Fn() -> I, wait: Wait, cores: &Cores) -> Result<(), TopologyError>
where
    I: Iterator<Item = (&'a str, Option<Wait>, Option<usize>)>,
{
    for (position, (worker, own, core)) in workers().enumerate() {
        if own.unwrap_or(wait) != Wait::Spin {
            continue;
        }
        let count = workers().count();
        if count > cores.count() {
            return Err(TopologyError::SpinWithoutCores { workers: count, cores: cores.count() });
        }
        let shares =
            |(other, (_, _, of)): &(usize, (&str, Option<Wait>, Option<usize>))| *other != position && *of == core;
        if let (Some(core), Some((_, (other, _, _)))) = (core, workers().enumerate().find(shares)) {
            let (worker, other) = (worker.to_owned(), other.to_owned());
            return Err(TopologyError::SpinOnSharedCore { worker, core, other });
        }
    }
    Ok(())
}

/// Stages to be restarted can be made anew.
fn factories<M: Record>(plan: &TopologyBuilder<M>) -> Result<(), TopologyError> {
    let lacks = |cell: &&StagePlan<M>| cell.stage.on_panic() == OnPanic::RestartStage && cell.factory.is_none();
    match plan.stages.iter().find(lacks) {
        Some(cell) => Err(TopologyError::RestartWithoutFactory { stage: cell.name.clone() }),
        None => Ok(()),
    }
}

fn names<M: Record>(plan: &TopologyBuilder<M>) -> Result<(), TopologyError> {
    let stages = plan.stages.iter().map(|stage| stage.name.as_str());
    let ends = plan.sources.iter().map(|end| &*end.name).chain(plan.sinks.iter().map(|end| &*end.name));
    unique(plan.workers.iter().map(|worker| worker.name.as_str()))?;
    if let Some(worker) = plan.workers.iter().find(|worker| worker.name.contains('\0')) {
        return Err(TopologyError::WorkerName { name: worker.name.clone() });
    }
    unique(stages)?;
    unique(ends.chain(plan.links.iter().map(|link| &*link.name)))
}

fn unique<'a>(names: impl Iterator<Item = &'a str>) -> Result<(), TopologyError> {
    let mut seen = HashSet::new();
    for name in names {
        if !seen.insert(name) {
            return Err(TopologyError::DuplicateName { name: name.to_owned() });
        }
    }
    Ok(())
}

fn ports<M: Record>(plan: &TopologyBuilder<M>) -> Result<(), TopologyError> {
    for (stage, cell) in plan.stages.iter().enumerate() {
        for (number, port) in cell.stage.ports().iter().enumerate() {
            let linked = plan.links.iter().any(|link| (link.from, link.port) == (stage, number))
                || plan.sinks.iter().any(|sink| (sink.from, sink.port) == (stage, number));
            if !linked && !plan.discarded.contains(&(stage, number)) {
                return Err(TopologyError::PortWithoutConsumer { stage: cell.name.clone(), port });
            }
        }
    }
    Ok(())
}

fn inputs<M: Record>(plan: &TopologyBuilder<M>) -> Result<(), TopologyError> {
    let fed =
        |stage| plan.links.iter().any(|link| link.to == stage) || plan.sources.iter().any(|source| source.to == stage);
    match plan.stages.iter().enumerate().find(|(number, cell)| !cell.stage.is_source() && !fed(*number)) {
        Some((_, cell)) => Err(TopologyError::StageWithoutInput { stage: cell.name.clone() }),
        None => Ok(()),
    }
}

fn capacities<M: Record>(plan: &TopologyBuilder<M>) -> Result<(), TopologyError> {
    let links = plan.links.iter().map(|link| (&link.name, link.config.capacity, link.from));
    let sinks = plan.sinks.iter().map(|sink| (&sink.name, sink.config.capacity, sink.from));
    let sources = plan.sources.iter().map(|source| (&source.name, source.capacity, source.to));
    for (link, capacity, stage) in links.chain(sinks).chain(sources) {
        let batch = plan.stages[stage].stage.batch_limit().envelopes.min(BatchLimit::ENVELOPES_MAX);
        let capacity_min = CAPACITY_MIN.max((BATCHES_MIN * batch).next_power_of_two());
        if !capacity.is_power_of_two() || !(capacity_min..=CAPACITY_MAX).contains(&capacity) {
            let link = link.clone();
            return Err(TopologyError::Capacity { link, capacity, capacity_min, capacity_max: CAPACITY_MAX });
        }
    }
    Ok(())
}

/// Producers before consumers. Only links that drop may close a circle; those that do are left out of the order.
fn order<M: Record>(plan: &TopologyBuilder<M>) -> Result<Vec<usize>, TopologyError> {
    let (reliable, lossy): (Vec<_>, Vec<_>) = plan.links.iter().partition(|link| link.config.policy.is_reliable());
    let mut edges: Vec<(usize, usize)> = reliable.iter().map(|link| (link.from, link.to)).collect();
    sort(plan, &edges)?;
    for link in lossy {
        edges.push((link.from, link.to));
        if sort(plan, &edges).is_err() {
            edges.pop();
        }
    }
    sort(plan, &edges)
}

fn sort<M: Record>(plan: &TopologyBuilder<M>, edges: &[(usize, usize)]) -> Result<Vec<usize>, TopologyError> {
    let mut walk = Walk { plan, edges, path: Vec::new(), done: vec![false; plan.stages.len()], order: Vec::new() };
    for stage in 0..plan.stages.len() {
        walk.visit(stage)?;
    }
    walk.order.reverse();
    Ok(walk.order)
}

/// Depth-first; a stage met again on the way down closes a cycle.
struct Walk<'a, M: Record> {
    plan: &'a TopologyBuilder<M>,
    edges: &'a [(usize, usize)],
    path: Vec<usize>,
    done: Vec<bool>,
    order: Vec<usize>,
}

impl<M: Record> Walk<'_, M> {
    fn visit(&mut self, stage: usize) -> Result<(), TopologyError> {
        if self.done[stage] {
            return Ok(());
        }
        if let Some(start) = self.path.iter().position(|on_path| *on_path == stage) {
            let name = |stage: &usize| self.plan.stages[*stage].name.as_str();
            let circle = self.path[start..].iter().chain([&stage]).map(name).collect::<Vec<_>>();
            return Err(TopologyError::ReliableCycle { path: circle.join(" -> ") });
        }
        self.path.push(stage);
        for (_, to) in self.edges.iter().filter(|(from, _)| *from == stage) {
            self.visit(*to)?;
        }
        self.path.pop();
        self.done[stage] = true;
        self.order.push(stage);
        Ok(())
    }
}
