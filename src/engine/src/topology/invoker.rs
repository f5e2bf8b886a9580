//! A topology turned by its caller.

use std::sync::Arc;

use crate::arena::Record;
use crate::orders::Orders;
use crate::ring::mpmc;
use crate::topology::TopologyStats;
use crate::worker::{Turn, Worker};

/// A topology turned by its caller, on one thread.
pub struct Invoker<M: Record> {
    pub(super) workers: Vec<Worker<M>>,
    pub(super) sources: Vec<Arc<mpmc::Ring>>,
    pub(super) orders: Arc<Orders>,
    pub(super) stats: Arc<TopologyStats>,
}

impl<M: Record> Invoker<M> {
    /// The counters.
    pub fn stats(&self) -> Arc<TopologyStats> {
        self.stats.clone()
    }

    /// A stage that stops the topology when it panics has panicked: every later turn does nothing.
    pub fn has_failed(&self) -> bool {
        self.orders.has_failed()
    }

    /// Runs every stage of every worker once; true when any did something.
    pub fn turn(&mut self) -> bool {
        if self.has_failed() {
            self.end();
        }
        self.workers.iter_mut().fold(false, |worked, worker| worked | (worker.turn_by_hand() == Turn::Worked))
    }

    /// Turns until nothing is left to do, or nothing can be done for want of room in a sink.
    pub fn turn_until_idle(&mut self) {
        while self.turn() {}
    }

    /// Runs the chores of every stage, which nothing else does in this mode.
    pub fn housekeep(&mut self) {
        self.workers.iter_mut().for_each(Worker::housekeep);
    }

    /// The workers go and release what they hold.
    fn end(&mut self) {
        self.workers.clear();
    }

    /// Refuses new envelopes; those inside go all the way as the caller turns.
    pub fn begin_drain(&self) {
        self.orders.drain();
        self.sources.iter().for_each(|source| source.close());
    }

    /// Refuses new envelopes and lets those inside go all the way. False when a full sink holds some back, or a stage does
    /// not take what it was given: empty the sink, and call again. After a failure everything is released instead.
    pub fn drain(&mut self) -> bool {
        self.begin_drain();
        while !self.has_failed() {
            let turns: Vec<Turn> = self.workers.iter_mut().map(Worker::turn_by_hand).collect();
            if turns.iter().all(|turn| *turn == Turn::Finished) {
                return true;
            }
            if !turns.contains(&Turn::Worked) {
                return false;
            }
        }
        self.end();
        true
    }
}
