//! The ends of a topology that code outside the workers holds: sources push envelopes in, sinks take them out.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use crate::arena::{Arena, Envelope, Held, Record};
use crate::link::{Inlet, InletEnd};
use crate::ring::mpmc;
use crate::stats::LinkStats;
use crate::wait::Waker;

/// Pushes envelopes into a topology from any thread. Cloning it is cheap; all clones share one ring.
#[derive(Debug)]
pub struct Source<M: Record> {
    arena: Arc<Arena<M>>,
    ring: Arc<mpmc::Ring>,
    waker: Waker,
    stats: Arc<LinkStats>,
}

impl<M: Record> Clone for Source<M> {
    fn clone(&self) -> Self {
        Self {
            arena: self.arena.clone(),
            ring: self.ring.clone(),
            waker: self.waker.clone(),
            stats: self.stats.clone(),
        }
    }
}

/// A push was refused; the envelope comes back.
#[derive(Debug)]
pub enum PushError<'a, M: Record> {
    /// The link is full: try again later.
    Full(Envelope<'a, M>),
    /// The topology drains or has ended.
    Closed(Envelope<'a, M>),
}

impl<M: Record> Source<M> {
    pub(crate) fn new(arena: Arc<Arena<M>>, ring: Arc<mpmc::Ring>, waker: Waker, stats: Arc<LinkStats>) -> Self {
        Self { arena, ring, waker, stats }
    }

    /// The arena to claim slots from.
    pub fn arena(&self) -> &Arc<Arena<M>> {
        &self.arena
    }

    /// Hands an envelope to the topology and wakes the worker.
    ///
    /// # Errors
    /// [`PushError`], with the envelope in it.
    ///
    /// # Panics
    /// When the envelope is of another arena.
    pub fn push<'a>(&self, envelope: Envelope<'a, M>) -> Result<(), PushError<'a, M>> {
        assert!(envelope.is_of(&self.arena), "an envelope of another arena was pushed");
        let arena = envelope.arena();
        let index = envelope.into_index();
        // SAFETY: the handle was given up on the line before and the ring refused it.
        let back = || unsafe { Envelope::from_index(arena, index) };
        match self.ring.push(index) {
            Ok(()) => {
                self.stats.passed.fetch_add(1, Relaxed);
                self.waker.wake();
                Ok(())
            }
            Err(mpmc::Refused::Full) => {
                self.stats.full.fetch_add(1, Relaxed);
                Err(PushError::Full(back()))
            }
            Err(mpmc::Refused::Closed) => Err(PushError::Closed(back())),
        }
    }

    /// The link has room at this moment; asking first spares work that a refused push would waste.
    pub fn has_room(&self) -> bool {
        self.ring.depth() < self.stats.capacity
    }

    /// Refuses every later push; the worker finishes what was pushed before.
    pub fn close(&self) {
        self.ring.close();
        self.waker.wake();
    }
}

/// Takes envelopes out of a topology, on one thread or task.
#[derive(Debug)]
pub struct Sink<M: Record> {
    arena: Arc<Arena<M>>,
    inlet: Option<Inlet>,
}

impl<M: Record> Sink<M> {
    pub(crate) fn new(arena: Arc<Arena<M>>, end: InletEnd) -> Self {
        Self { arena, inlet: Some(Inlet { end, feedback: false }) }
    }

    /// Takes the oldest envelope.
    pub fn pop(&mut self) -> Option<Held<M>> {
        let index = self.inlet.as_mut()?.pop()?;
        // SAFETY: the ring carried one handle for this index, and this is where it is taken over.
        Some(unsafe { Envelope::from_index(&self.arena, index) }.hold())
    }

    /// The topology has ended and everything was taken.
    pub fn is_finished(&self) -> bool {
        self.inlet.as_ref().is_none_or(|inlet| inlet.is_finished(&[]))
    }
}

impl<M: Record> Drop for Sink<M> {
    fn drop(&mut self) {
        if let Some(inlet) = self.inlet.take() {
            // SAFETY: the ring carried one handle for each index left in it.
            inlet.retire(|index| unsafe { self.arena.release_index(index) });
        }
    }
}
