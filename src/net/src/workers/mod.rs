//! The threads that connections live on.
//!
//! ```text
//!  the swarm's task:  a connection is accepted or dialled ── placement chooses the worker with the fewest
//!                                                             │ handshake and connection, one after the other
//!  worker net:N, a runtime of one thread:  read → open → hash ids ⇉ router;  queue → seal → write
//! ```
//!
//! A connection stays on its worker: its socket is registered with that worker's runtime, so whatever comes wakes no other thread, and
//! what it read is in the cache of the core that opens, hashes and passes it on. What does wake it from elsewhere, as the router with
//! a message to forward, is counted.
//!
//! Without workers all of it runs on the runtime that the network was started in.

mod placement;
mod task;
#[cfg(test)]
mod tests;

use std::cell::Cell;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::thread::JoinHandle;

use libp2p::swarm::Executor;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

pub(crate) use placement::{Placement, Placing};
use task::Homed;

thread_local!(static HERE: Cell<Option<usize>> = const { Cell::new(None) });

/// The worker that the calling thread is.
pub(crate) fn here() -> Option<usize> {
    HERE.get()
}

/// The threads. When this is dropped they end, and the connections with them.
pub(crate) struct Workers {
    placement: Arc<Placement>,
    threads: Vec<Worker>,
}

struct Worker {
    runtime: Handle,
    /// Dropped to end the thread.
    run: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Workers {
    /// One thread for each place of `placement`, bound to `cores` in turn; if those are none, wherever the system puts them.
    ///
    /// # Errors
    /// The system refuses a thread, or what a runtime needs.
    pub(crate) fn start(placement: Arc<Placement>, cores: &[usize]) -> io::Result<Self> {
        let worker = |number: usize| Worker::start(number, cores.get(number % cores.len().max(1)).copied());
        let threads = (0..placement.workers()).map(worker).collect::<io::Result<_>>()?;
        Ok(Self { placement, threads })
    }
}

impl Worker {
    fn start(number: usize, core: Option<usize>) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (run, ended) = oneshot::channel::<()>();
        let work = move || {
            HERE.set(Some(number));
            if let Some(id) = core
                && !core_affinity::set_for_current(core_affinity::CoreId { id })
            {
                tracing::info!(worker = number, core = id, "the system did not bind a network worker; it runs unbound");
            }
            // What comes is that the sender is gone.
            let _ = runtime.block_on(ended);
        };
        let thread = std::thread::Builder::new().name(format!("net:{number}")).spawn(work)?;
        Ok(Self { runtime: handle, run: Some(run), thread: Some(thread) })
    }
}

impl Executor for Workers {
    fn exec(&self, task: Pin<Box<dyn Future<Output = ()> + Send>>) {
        let number = self.placement.take_next();
        // There is a worker, or these would not be the workers of anything.
        let Some(worker) = self.threads.get(number) else { return };
        worker.runtime.spawn(Homed::new(task, number));
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        // All are told before one is waited for. A turn of a connection takes a millisecond or so.
        self.threads.iter_mut().for_each(|worker| drop(worker.run.take()));
        for thread in self.threads.iter_mut().filter_map(|worker| worker.thread.take()) {
            if thread.join().is_err() {
                tracing::error!("a network worker had panicked");
            }
        }
    }
}
