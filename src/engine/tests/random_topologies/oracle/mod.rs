//! The oracle: the same topology as it should behave, written without rings, slots, threads or unwinding. Handles are counted
//! references, links are queues, and a panic is an error on its way up.
//!
//! It counts everything the engine counts. Both are asked the same and must agree after every turn.

mod link;
mod search;
mod stage;

use std::cell::Cell;
use std::rc::Rc;

use levada_engine::Policy;

pub use link::{Link, Message};
use stage::{Common, Outlet, Stage};

use crate::draw::Plan;

/// Why a push is refused.
#[derive(Debug, PartialEq, Eq)]
pub enum Refused {
    Full,
    Closed,
}

/// What has happened that a test means by a fault.
#[derive(Debug, Default, Clone, Copy)]
pub struct Tally {
    pub panics: u64,
    /// Panics after which the stage was made anew.
    pub restarts: u64,
    /// Batches left alone for some calls, and envelopes held back.
    pub stalls: u64,
    /// Times a link had to drop.
    pub drops: u64,
    /// Ends and topologies that went away.
    pub abandonments: u64,
}

impl Tally {
    pub fn add(&mut self, other: Self) {
        self.panics += other.panics;
        self.restarts += other.restarts;
        self.stalls += other.stalls;
        self.drops += other.drops;
        self.abandonments += other.abandonments;
    }

    /// Faults; restarts are panics already counted.
    pub fn total(&self) -> u64 {
        self.panics + self.stalls + self.drops + self.abandonments
    }
}

#[derive(Debug)]
pub struct Oracle {
    /// Sources first, then links between stages, then sinks.
    pub links: Vec<Link>,
    /// As drawn.
    pub stages: Vec<Stage>,
    /// The stages of each worker, producers before their consumers.
    workers: Vec<Vec<usize>>,
    common: Common,
    sources: usize,
    sinks: usize,
    /// The topology is gone.
    pub ended: bool,
    abandonments: u64,
}

impl Oracle {
    /// `order`: the stages, producers before their consumers.
    pub fn new(plan: &Plan, order: &[usize]) -> Self {
        let mut inlets: Vec<Vec<usize>> = plan.stages.iter().map(|_| Vec::new()).collect();
        let mut ports: Vec<Vec<Vec<Outlet>>> =
            plan.stages.iter().map(|stage| (0..stage.habits.ports).map(|_| Vec::new()).collect()).collect();
        let mut links = Vec::new();
        for source in &plan.sources {
            inlets[source.to].push(links.len());
            links.push(Link::new(source.config()));
        }
        for link in &plan.links {
            inlets[link.to].push(links.len());
            ports[link.from][link.port].push(Outlet { link: links.len(), staged: Vec::new() });
            links.push(Link::new(link.config));
        }
        for sink in &plan.sinks {
            ports[sink.from][sink.port].push(Outlet { link: links.len(), staged: Vec::new() });
            links.push(Link::new(sink.config));
        }
        let ends = plan.stages.iter().zip(inlets).zip(ports);
        let workers = (0..plan.workers).map(|worker| {
            order.iter().copied().filter(|stage| plan.stages[*stage].worker == worker).collect::<Vec<_>>()
        });
        Self {
            workers: workers.collect(),
            links,
            stages: ends.map(|((stage, inlets), ports)| Stage::new(stage.habits.clone(), inlets, ports)).collect(),
            common: Common {
                slots: u64::from(plan.slots),
                slots_in_use: Rc::new(Cell::new(0)),
                refused: Cell::new(0),
                stalls: Cell::new(0),
                draining: false,
                failed: false,
            },
            sources: plan.sources.len(),
            sinks: plan.sinks.len(),
            ended: false,
            abandonments: 0,
        }
    }

    pub fn slots_in_use(&self) -> u64 {
        self.common.slots_in_use.get()
    }

    pub fn claims_refused(&self) -> u64 {
        self.common.refused.get()
    }

    pub fn has_failed(&self) -> bool {
        self.common.failed
    }

    pub fn claim(&self, number: u64) -> Option<Rc<Message>> {
        self.common.claim(number)
    }

    pub fn push(&mut self, source: usize, message: Rc<Message>) -> Result<(), Refused> {
        let link = &mut self.links[source];
        if link.closed {
            return Err(Refused::Closed);
        }
        if link.room() == 0 {
            link.full += 1;
            return Err(Refused::Full);
        }
        link.passed += 1;
        link.queue.push_back(message);
        Ok(())
    }

    /// Runs every stage of every worker once. Something was done; and all have finished.
    pub fn turn(&mut self) -> (bool, bool) {
        if self.common.failed {
            self.end();
        }
        let (mut any_worked, mut all_finished) = (false, true);
        for worker in self.workers.iter().filter(|_| !self.ended) {
            let (mut worked, mut finished) = (false, true);
            for stage in worker {
                let (stage_worked, blocked, stage_finished) =
                    self.stages[*stage].turn(&mut self.links, &mut self.common);
                worked |= stage_worked;
                finished &= stage_finished && !blocked;
            }
            any_worked |= worked;
            all_finished &= finished && !worked;
        }
        (any_worked, all_finished)
    }

    pub fn housekeep(&mut self) {
        for stage in self.workers.iter().flatten().filter(|_| !self.ended) {
            self.stages[*stage].housekeep(&mut self.common);
        }
    }

    pub fn begin_drain(&mut self) {
        self.common.draining = true;
        self.links[..self.sources].iter_mut().for_each(|source| source.closed = true);
    }

    /// The workers go, with all that they and the links between them hold. What is in the sinks stays there.
    pub fn end(&mut self) {
        self.ended = true;
        self.stages.iter_mut().for_each(Stage::release);
        self.links.iter_mut().for_each(|link| link.closed = true);
        let sinks = self.links.len() - self.sinks;
        self.links[..sinks].iter_mut().for_each(|link| link.queue.clear());
    }

    pub fn close(&mut self, source: usize) {
        self.links[source].closed = true;
    }

    /// The holder of a sink goes.
    pub fn abandon(&mut self, sink: usize) {
        self.links[sink].abandoned = true;
        self.links[sink].queue.clear();
    }

    pub fn count_abandonment(&mut self) {
        self.abandonments += 1;
    }

    pub fn tally(&self) -> Tally {
        let lossy = self.links.iter().filter(|link| link.config.policy != Policy::Reliable);
        Tally {
            panics: self.stages.iter().map(|stage| stage.panics).sum(),
            restarts: self.stages.iter().map(|stage| stage.restarts).sum(),
            stalls: self.common.stalls.get(),
            drops: lossy.map(|link| link.full).sum(),
            abandonments: self.abandonments,
        }
    }
}
