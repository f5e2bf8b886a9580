//! A topology on threads of its own.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use crate::orders::Orders;
use crate::ring::mpmc;
use crate::topology::roll::Roll;
use crate::topology::{TopologyStats, deadline};
use crate::wait::Waker;

/// A topology whose workers run on threads of their own.
#[derive(Debug)]
pub struct Running {
    pub(super) threads: Vec<JoinHandle<()>>,
    pub(super) wakers: Vec<Waker>,
    pub(super) roll: Arc<Roll>,
    pub(super) sources: Vec<Arc<mpmc::Ring>>,
    pub(super) orders: Arc<Orders>,
    pub(super) stats: Arc<TopologyStats>,
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
        self.orders.has_failed()
    }

    /// Refuses new envelopes and waits for nothing; the workers end as soon as those inside are through.
    pub fn begin_drain(&self) {
        self.orders.drain();
        self.sources.iter().for_each(|source| source.close());
        self.wake();
    }

    /// Refuses new envelopes, lets those inside go all the way, and ends the workers; after `limit`, ends them anyway.
    pub fn drain(mut self, limit: Duration) -> Drained {
        self.begin_drain();
        let deadline = deadline(limit);
        for ended in 0..self.threads.len() {
            self.wake();
            if !self.roll.wait_for_next_end(ended, deadline) {
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
        self.orders.stop();
        self.sources.iter().for_each(|source| source.close());
        self.wake();
    }
}
