//! A topology started as its placement says: one handle, whoever turns the crank.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::arena::Record;
use crate::topology::invoker::Invoker;
use crate::topology::running::{Drained, Running};
use crate::topology::{TopologyStats, deadline};

/// What [`Topology::start`](crate::Topology::start) gives.
pub enum Started<M: Record> {
    /// The workers have threads of their own.
    Running(Running),
    /// The caller turns.
    Invoker(Invoker<M>),
}

impl<M: Record> Started<M> {
    /// The counters.
    pub fn stats(&self) -> Arc<TopologyStats> {
        match self {
            Self::Running(running) => running.stats(),
            Self::Invoker(invoker) => invoker.stats(),
        }
    }

    /// A stage has stopped the topology by panicking.
    pub fn has_failed(&self) -> bool {
        match self {
            Self::Running(running) => running.has_failed(),
            Self::Invoker(invoker) => invoker.has_failed(),
        }
    }

    /// Lets the topology get on: turns it until it is idle, or gives the processor to the threads that turn it.
    pub fn turn(&mut self) {
        match self {
            Self::Running(_) => std::thread::yield_now(),
            Self::Invoker(invoker) => invoker.turn_until_idle(),
        }
    }

    /// Refuses new envelopes; those inside go all the way, as the threads run or the caller turns. Who empties sinks on this
    /// very thread begins here, takes until each [`Sink::is_finished`](crate::Sink::is_finished), and then drains.
    pub fn begin_drain(&self) {
        match self {
            Self::Running(running) => running.begin_drain(),
            Self::Invoker(invoker) => invoker.begin_drain(),
        }
    }

    /// Refuses new envelopes, lets those inside go all the way, and ends; after `limit`, ends anyway.
    pub fn drain(self, limit: Duration) -> Drained {
        let mut invoker = match self {
            Self::Running(running) => return running.drain(limit),
            Self::Invoker(invoker) => invoker,
        };
        let deadline = deadline(limit);
        while !invoker.drain() {
            if Instant::now() >= deadline {
                return Drained::TimedOut;
            }
            // Another thread may empty the sink that holds it up.
            std::thread::yield_now();
        }
        if invoker.has_failed() { Drained::Failed } else { Drained::Complete }
    }
}
