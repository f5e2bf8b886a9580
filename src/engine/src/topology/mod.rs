//! A topology: the graph of stages, wired, and the ways to run it.

mod builder;
mod check;
mod error;
mod wiring;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam::channel::{Receiver, bounded};

pub use builder::{StageId, TopologyBuilder, WorkerId};
pub use error::TopologyError;

use crate::arena::Record;
use crate::cores;
use crate::link::LinkStats;
use crate::ring::mpmc;
use crate::stats::{StageStats, WorkerStats};
use crate::wait::{Wait, Waiter, Waker};
use crate::worker::{Orders, Turn, Worker};

/// Counters of a whole topology, in the order in which they were drawn (stages: in the order of the graph).
#[derive(Debug)]
pub struct TopologyStats {
    /// One per link, source and sink.
    pub links: Vec<Arc<LinkStats>>,
    /// One per stage.
    pub stages: Vec<Arc<StageStats>>,
    /// One per worker.
    pub workers: Vec<Arc<WorkerStats>>,
}

/// A wired topology, not running yet.
pub struct Topology<M: Record> {
    workers: Vec<Worker<M>>,
    pinned: Vec<bool>,
    sources: Vec<Arc<mpmc::Ring>>,
    orders: Arc<Orders>,
    stats: Arc<TopologyStats>,
}

impl<M: Record> Topology<M> {
    /// The counters.
    pub fn stats(&self) -> Arc<TopologyStats> {
        self.stats.clone()
    }

    /// Starts a thread per worker, each bound to a core of its own where the system allows it.
    ///
    /// # Errors
    /// [`TopologyError::SpinWithoutCores`] and [`TopologyError::Thread`].
    pub fn run(self, wait: Wait) -> Result<Running, TopologyError> {
        let cores = cores::usable();
        let workers = self.workers.len();
        if wait == Wait::Spin && workers > cores::usable_cores() {
            return Err(TopologyError::SpinWithoutCores { workers, cores: cores::usable_cores() });
        }
        let (exit, exits) = bounded(workers);
        let (start, starts) = bounded::<()>(workers);
        let wakers = self.workers.iter().map(|worker| worker.waker.clone()).collect();
        let mut running = Running {
            threads: Vec::new(),
            wakers,
            exits,
            sources: self.sources,
            orders: self.orders,
            stats: self.stats,
        };
        let mut next_core = cores.into_iter();
        for (worker, pinned) in self.workers.into_iter().zip(self.pinned) {
            let core = if pinned { next_core.next() } else { None };
            let waiter = Waiter::new(wait, worker.waker.clone());
            let (name, start, exit) = (worker.name.clone(), start.clone(), exit.clone());
            let (orders, wakers) = (running.orders.clone(), running.wakers.clone());
            let body = move || {
                if let Some(core) = core {
                    worker.stats.pinned.store(cores::pin(core), Relaxed);
                }
                // `run` waits for this; it may have given up because another thread did not start.
                let _ = start.send(());
                if catch_unwind(AssertUnwindSafe(|| worker.run(waiter))).is_err() {
                    // A stage panicked where no batch could be blamed; unwinding released what the worker held.
                    orders.fail();
                    wakers.iter().for_each(Waker::wake);
                }
                // The receiver outlives the threads unless the topology was abandoned, and then nobody asks.
                let _ = exit.send(());
            };
            let thread = std::thread::Builder::new().name(name.clone()).spawn(body);
            match thread {
                Ok(thread) => running.threads.push(thread),
                // Dropping `running` stops those that have started.
                Err(error) => return Err(TopologyError::Thread { worker: name, reason: error.to_string() }),
            }
        }
        // From here on the counters tell which workers could be bound to their cores.
        drop(start);
        starts.iter().take(workers).for_each(drop);
        Ok(running)
    }

    /// Runs nothing by itself: the caller turns the crank. For tests, and for hosts that own the thread.
    pub fn invoker(self) -> Invoker<M> {
        Invoker { workers: self.workers, sources: self.sources, orders: self.orders, stats: self.stats }
    }
}

/// A topology whose workers run on threads of their own.
#[derive(Debug)]
pub struct Running {
    threads: Vec<JoinHandle<()>>,
    wakers: Vec<Waker>,
    exits: Receiver<()>,
    sources: Vec<Arc<mpmc::Ring>>,
    orders: Arc<Orders>,
    stats: Arc<TopologyStats>,
}

/// How a drain ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drained {
    /// Every envelope that was in the topology went through it.
    Complete,
    /// The limit passed first; what was left is released as each worker leaves the stage it is in.
    TimedOut,
    /// A stage had stopped the topology by panicking.
    Failed,
}

impl Running {
    /// The counters.
    pub fn stats(&self) -> Arc<TopologyStats> {
        self.stats.clone()
    }

    /// A stage that stops the topology when it panics has panicked.
    pub fn has_failed(&self) -> bool {
        self.orders.failed.load(Relaxed)
    }

    /// Refuses new envelopes, lets those inside go all the way, and ends the workers; after `limit`, ends them anyway.
    pub fn drain(mut self, limit: Duration) -> Drained {
        self.orders.drain.store(true, Relaxed);
        self.sources.iter().for_each(|source| source.close());
        let deadline = Instant::now() + limit.min(DRAIN_MAX);
        for _ in 0..self.threads.len() {
            self.wake();
            if self.exits.recv_deadline(deadline).is_err() {
                return Drained::TimedOut;
            }
        }
        self.threads.drain(..).for_each(|thread| {
            let _ = thread.join();
        });
        if self.has_failed() { Drained::Failed } else { Drained::Complete }
    }

    fn wake(&self) {
        self.wakers.iter().for_each(Waker::wake);
    }
}

impl Drop for Running {
    /// Workers end at their next turn; one that is stuck inside a stage is not waited for.
    fn drop(&mut self) {
        self.orders.stop.store(true, Relaxed);
        self.sources.iter().for_each(|source| source.close());
        self.wake();
    }
}

/// Longer drains are as good as unlimited, and a deadline must fit the clock.
const DRAIN_MAX: Duration = Duration::from_secs(365 * 24 * 3600);

/// A topology turned by its caller, on one thread.
pub struct Invoker<M: Record> {
    workers: Vec<Worker<M>>,
    sources: Vec<Arc<mpmc::Ring>>,
    orders: Arc<Orders>,
    stats: Arc<TopologyStats>,
}

impl<M: Record> Invoker<M> {
    /// The counters.
    pub fn stats(&self) -> Arc<TopologyStats> {
        self.stats.clone()
    }

    /// A stage that stops the topology when it panics has panicked: every later turn does nothing.
    pub fn has_failed(&self) -> bool {
        self.orders.failed.load(Relaxed)
    }

    /// Runs every stage of every worker once; true when any did something.
    pub fn turn(&mut self) -> bool {
        if self.has_failed() {
            self.end();
        }
        self.workers.iter_mut().fold(false, |worked, worker| worked | (worker.turn() == Turn::Worked))
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

    /// Refuses new envelopes and lets those inside go all the way. False when a full sink holds some back, or a stage does
    /// not take what it was given: empty the sink, and call again. After a failure everything is released instead.
    pub fn drain(&mut self) -> bool {
        self.orders.drain.store(true, Relaxed);
        self.sources.iter().for_each(|source| source.close());
        while !self.has_failed() {
            let turns: Vec<Turn> = self.workers.iter_mut().map(Worker::turn).collect();
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
