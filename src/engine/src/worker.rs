//! A worker: the stages one thread runs, each to completion over a batch, in the order of the graph.

use std::sync::Arc;
use std::time::Duration;

use crate::arena::{Arena, Record};
use crate::cell::StageCell;
use crate::orders::Orders;
use crate::queue::LocalQueue;
use crate::time::{Clock, WorkerStats};
use crate::wait::{Wait, Waiter, Waker};

/// Time between two calls of a stage's housekeeping.
const HOUSEKEEPING_NS: u64 = Duration::from_millis(100).as_nanos() as u64;

/// What one turn of a worker came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// Some stage took or sent envelopes.
    Worked,
    /// Nothing waits.
    Idle,
    /// Something waits, and cannot go on for want of room downstream.
    Blocked,
    /// Every stage has finished.
    Finished,
}

/// The stages of one thread.
pub(crate) struct Worker<M: Record> {
    pub name: String,
    pub arena: Arc<Arena<M>>,
    pub stages: Vec<StageCell<M>>,
    pub locals: Vec<LocalQueue>,
    pub orders: Arc<Orders>,
    pub waker: Waker,
    pub stats: Arc<WorkerStats>,
    pub clock: Clock,
    /// The core the worker's thread is bound to.
    pub core: Option<usize>,
    /// How it waits.
    pub wait: Wait,
}

impl<M: Record> Worker<M> {
    /// Runs every stage once.
    pub fn turn(&mut self) -> Turn {
        let (mut worked, mut blocked, mut finished) = (false, false, true);
        for cell in &mut self.stages {
            let flushed = cell.flush(&self.arena, &mut self.locals);
            worked |= flushed.moved;
            if !flushed.clear {
                (blocked, finished) = (true, false);
                continue;
            }
            if cell.finished {
                worked |= cell.close_outlets(&self.arena, &mut self.locals);
                continue;
            }
            finished = false;
            cell.fill(&self.arena, &mut self.locals);
            let ran = (!cell.input.is_empty() || cell.is_source) && cell.run(&self.arena, &self.orders);
            let flushed = cell.flush(&self.arena, &mut self.locals);
            worked |= ran || flushed.moved;
            if !flushed.clear {
                blocked = true;
            } else if !ran && cell.is_dry(&self.locals, &self.orders) {
                cell.finish(&self.arena, &self.orders);
                worked = true;
            }
        }
        // Work first: the stages that were just told of an end have their turn yet to come.
        match (worked, finished, blocked) {
            (true, ..) => Turn::Worked,
            (_, true, _) => Turn::Finished,
            (_, _, true) => Turn::Blocked,
            _ => Turn::Idle,
        }
    }

    /// A turn by the hand of a caller who owns the time between turns.
    pub fn turn_by_hand(&mut self) -> Turn {
        self.clock.waited();
        let turn = self.turn();
        self.clock.turned(turn);
        turn
    }

    /// Turns until every stage has finished, or the order to stop comes.
    pub fn run(mut self, mut waiter: Waiter) {
        self.waker.bind();
        self.clock.start();
        let mut housekept_ns = 0;
        let orders = self.orders.clone();
        while !orders.is_stopping() {
            let turn = self.turn();
            self.clock.turned(turn);
            match turn {
                Turn::Finished => break,
                Turn::Worked => waiter.worked(),
                Turn::Idle | Turn::Blocked => {
                    let ends_soon = orders.is_draining();
                    waiter.idle(turn == Turn::Blocked || ends_soon, || orders.are_given() || self.has_work());
                    self.clock.waited();
                }
            }
            if self.clock.read_ns() - housekept_ns >= HOUSEKEEPING_NS {
                self.housekeep();
                housekept_ns = self.clock.read_ns();
            }
        }
    }

    pub fn housekeep(&mut self) {
        self.clock.during(|| self.stages.iter_mut().for_each(|cell| cell.housekeep(&self.orders)));
    }

    fn has_work(&mut self) -> bool {
        self.stages.iter_mut().any(|cell| cell.has_work(&self.arena, &self.locals, &self.orders))
    }
}

impl<M: Record> Drop for Worker<M> {
    /// Releases every envelope this worker still holds, and tells its neighbours that it is gone.
    fn drop(&mut self) {
        // SAFETY: inputs, queues, and outlets own one handle per index they hold; each is drained here.
        let release = |index| unsafe { self.arena.release_index(index) };
        for cell in &mut self.stages {
            cell.input.drain(..).for_each(release);
            for outlet in cell.ports.drain(..).flat_map(|port| port.outlets) {
                outlet.retire(release);
            }
            for inlet in cell.inlets.drain(..) {
                inlet.retire(release);
            }
        }
        for queue in &mut self.locals {
            while let Some(index) = queue.pop() {
                release(index);
            }
        }
        self.clock.stop();
    }
}
