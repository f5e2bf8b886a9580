//! What a stage is given: a batch of envelopes, taken one by one.

use std::sync::Arc;

use crate::arena::{Arena, Envelope, Record};

/// How much a stage takes in one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchLimit {
    /// Most envelopes.
    pub envelopes: usize,
    /// No further envelope is added once the payloads reach this many bytes.
    pub payload_bytes: usize,
}

impl BatchLimit {
    /// Most envelopes any stage can ask for.
    pub const ENVELOPES_MAX: usize = 256;
}

impl Default for BatchLimit {
    /// 32 envelopes take nine tenths of what batching gains, and 256 kB of payload stay in a core's cache.
    fn default() -> Self {
        Self { envelopes: 32, payload_bytes: 256_000 }
    }
}

/// Envelopes waiting for a stage, oldest first. What the stage does not take stays for its next call.
#[derive(Debug)]
pub struct Batch<'a, M: Record> {
    arena: &'a Arc<Arena<M>>,
    indices: &'a [u32],
    taken: &'a mut usize,
}

impl<'a, M: Record> Batch<'a, M> {
    /// # Safety
    /// The caller owns one handle for each of `indices` from `taken` on, and gives up those that `taken` has passed by when
    /// the batch is gone.
    pub(crate) unsafe fn new(arena: &'a Arc<Arena<M>>, indices: &'a [u32], taken: &'a mut usize) -> Self {
        Self { arena, indices, taken }
    }

    /// Envelopes not taken yet.
    pub fn len(&self) -> usize {
        self.indices.len() - *self.taken
    }

    /// All were taken.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The arena the envelopes live in.
    pub fn arena(&self) -> &'a Arc<Arena<M>> {
        self.arena
    }

    /// Looks at the waiting envelopes without taking them: for stages that do one thing for the whole batch.
    pub fn peek(&self) -> Peek<'_, M> {
        Peek { arena: self.arena, indices: self.indices[*self.taken..].iter() }
    }
}

impl<'a, M: Record> Iterator for Batch<'a, M> {
    type Item = Envelope<'a, M>;

    /// Takes the oldest.
    fn next(&mut self) -> Option<Envelope<'a, M>> {
        let index = *self.indices.get(*self.taken)?;
        *self.taken += 1;
        // SAFETY: the batch owns one handle for each of its indices, and this one counts as taken from here on.
        Some(unsafe { Envelope::from_index(self.arena, index) })
    }
}

/// Iterator over a batch's waiting envelopes.
#[derive(Debug)]
pub struct Peek<'b, M: Record> {
    arena: &'b Arc<Arena<M>>,
    indices: std::slice::Iter<'b, u32>,
}

impl<'b, M: Record> Iterator for Peek<'b, M> {
    type Item = View<'b, M>;

    fn next(&mut self) -> Option<View<'b, M>> {
        let index = *self.indices.next()?;
        // SAFETY: the batch owns a handle for the index and stays borrowed while the view lives.
        let (payload, record) = unsafe { self.arena.peek(index) };
        Some(View { payload, record })
    }
}

/// An envelope seen, not held.
#[derive(Debug, Clone, Copy)]
pub struct View<'b, M: Record> {
    /// The payload.
    pub payload: &'b [u8],
    /// The record beside it.
    pub record: &'b M,
}
