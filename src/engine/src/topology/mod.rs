//! A topology: the graph of stages, wired, and the ways to run it.

mod builder;
mod check;
mod declared;
mod error;
mod invoker;
mod placement;
mod roll;
mod running;
mod started;
mod wiring;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

pub use builder::{StageId, TopologyBuilder, WorkerId};
pub use declared::LinkId;
pub use error::TopologyError;
pub use invoker::Invoker;
pub use placement::Placement;
use roll::Roll;
pub use running::{Drained, Running};
pub use started::Started;

use crate::arena::Record;
use crate::cores;
use crate::orders::Orders;
use crate::ring::mpmc;
use crate::stats::{LinkStats, StageStats};
use crate::time::WorkerStats;
use crate::wait::{Waiter, Waker};
use crate::worker::Worker;

/// Longer drains are as good as unlimited, and a deadline must fit the clock.
const DRAIN_MAX: Duration = Duration::from_secs(365 * 24 * 3600);

/// When a drain that begins now gives up.
fn deadline(limit: Duration) -> Instant {
    Instant::now() + limit.min(DRAIN_MAX)
}

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
    placement: Option<Placement>,
    sources: Vec<Arc<mpmc::Ring>>,
    orders: Arc<Orders>,
    stats: Arc<TopologyStats>,
}

impl<M: Record> Topology<M> {
    /// The counters.
    pub fn stats(&self) -> Arc<TopologyStats> {
        self.stats.clone()
    }

    /// Starts the topology as its [`Placement`] says: on threads, as [`run`](Self::run) does, or to be turned by the caller.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn start(self) -> Result<Started<M>, TopologyError> {
        match self.placement {
            Some(Placement::Invoker) => Ok(Started::Invoker(self.invoker())),
            _ => self.run().map(Started::Running),
        }
    }

    /// Starts a thread per worker, each bound to a core as the affinity says and the system allows.
    ///
    /// # Errors
    /// [`TopologyError::Thread`].
    pub fn run(self) -> Result<Running, TopologyError> {
        let workers = self.workers.len();
        let (mut running, bodies) = self.bodies();
        for (worker, body) in bodies {
            match std::thread::Builder::new().name(worker.clone()).spawn(body) {
                Ok(thread) => running.threads.push(thread),
                // Dropping `running` stops those that have started.
                Err(error) => return Err(TopologyError::Thread { worker, reason: error.to_string() }),
            }
        }
        // From here on the counters tell which workers could be bound to their cores.
        running.roll.wait_for_all(workers);
        Ok(running)
    }

    /// What the thread of each worker does, by the worker's name, and the handle to all of them.
    fn bodies(self) -> (Running, Vec<(String, impl FnOnce() + Send + use<M>)>) {
        let wakers = self.workers.iter().map(|worker| worker.waker.clone()).collect();
        let running = Running {
            threads: Vec::new(),
            wakers,
            roll: Arc::default(),
            sources: self.sources,
            orders: self.orders,
            stats: self.stats,
        };
        let body = |worker: Worker<M>| {
            let ends =
                Ends { orders: running.orders.clone(), wakers: running.wakers.clone(), roll: running.roll.clone() };
            let name = worker.name.clone();
            let body = move || {
                if let Some(core) = worker.core {
                    worker.stats.pinned.store(cores::pin(core), Relaxed);
                }
                ends.roll.begin();
                let waiter = Waiter::new(worker.wait, worker.waker.clone());
                ends.tell(|| worker.run(waiter));
            };
            (name, body)
        };
        let bodies = self.workers.into_iter().map(body).collect();
        (running, bodies)
    }

    /// As [`run`](Self::run), but that the threads are the caller's: a model has threads of its own kind.
    #[cfg(any(loom, shuttle))]
    pub fn run_on_threads(self) -> (Running, Vec<impl FnOnce() + Send + use<M>>) {
        let (running, bodies) = self.bodies();
        (running, bodies.into_iter().map(|(_, body)| body).collect())
    }

    /// Runs nothing by itself: the caller turns the crank. For tests, and for hosts that own the thread.
    pub fn invoker(mut self) -> Invoker<M> {
        self.workers.iter_mut().for_each(|worker| worker.clock.start());
        Invoker { workers: self.workers, sources: self.sources, orders: self.orders, stats: self.stats }
    }
}

/// Who hears of a worker's end.
struct Ends {
    orders: Arc<Orders>,
    wakers: Vec<Waker>,
    roll: Arc<Roll>,
}

impl Ends {
    /// Runs a worker to its end and tells.
    fn tell(self, run: impl FnOnce()) {
        if catch_unwind(AssertUnwindSafe(run)).is_err() {
            // A stage panicked where no batch could be blamed; unwinding released what the worker held.
            self.orders.fail();
        }
        if self.orders.is_stopping() {
            // Whoever ordered that may be this worker, and the others asleep.
            self.wakers.iter().for_each(Waker::wake);
        }
        self.roll.end();
    }
}
