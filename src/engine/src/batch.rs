//! What a stage is given: a batch of envelopes, taken one by one.

use std::mem::ManuallyDrop;
use std::sync::Arc;

use crate::arena::{Arena, Envelope, Held, Record};
use crate::outputs::Outputs;

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

    /// Takes every envelope and gives it to `work`: quicker than one by one.
    #[inline]
    pub fn take_each(&mut self, mut work: impl FnMut(Envelope<'a, M>)) {
        let (arena, waiting) = (self.arena.as_ref(), &self.indices[*self.taken..]);
        let mut progress = Progress::of(self.taken);
        for index in waiting {
            progress.count += 1;
            // SAFETY: the batch owns one handle for each of its indices, and this one counts as taken from here on.
            work(unsafe { Envelope::from_index(arena, *index) });
        }
    }

    /// Does `work` on each envelope and passes it on by `port` of `outputs`: what a loop with
    /// [`send`](Outputs::send) does, at the price of one hand-over for all of them. An envelope on which `work` panics
    /// is released, as there.
    ///
    /// # Panics
    /// As [`Outputs::send`] does.
    #[inline]
    pub fn pass(&mut self, outputs: &mut Outputs<'_, M>, port: usize, mut work: impl FnMut(&mut Envelope<'a, M>)) {
        let Some(outlet) = outputs.only_link(port).filter(|outlet| outlet.room() >= self.len()) else {
            for mut envelope in self {
                work(&mut envelope);
                outputs.send(port, envelope);
            }
            return;
        };
        let (arena, waiting) = (self.arena.as_ref(), &self.indices[*self.taken..]);
        let mut progress = Progress::of(self.taken);
        let passed = waiting.iter().map(|index| {
            progress.count += 1;
            // SAFETY: the batch owns one handle for each of its indices, and this one counts as taken from here on.
            let mut envelope = unsafe { Envelope::from_index(arena, *index) };
            work(&mut envelope);
            assert!(envelope.is_of(arena), "an envelope of another arena was passed on");
            envelope.into_index()
        });
        outlet.stage_all(passed, waiting.len());
    }

    /// Does `work` on each envelope and lets go of it: what a loop that drops them does, but that slots go back together:
    /// those already let go of are free again only after a few more, or at the end.
    #[inline]
    pub fn release_each(&mut self, mut work: impl FnMut(&mut Envelope<'a, M>)) {
        let mut released = Released { arena: self.arena, class: 0, most: 0, indices: [0; RELEASED_TOGETHER], count: 0 };
        self.take_each(|mut envelope| {
            work(&mut envelope);
            if envelope.is_of(released.arena)
                && let Some((class, index)) = envelope.give_up()
            {
                released.push(class, index);
            }
        });
    }

    /// Another handle to the waiting envelope of this number, which stays where it is: for stages that keep a payload beyond its way.
    pub fn hold(&self, number: usize) -> Option<Held<M>> {
        let index = *self.indices[*self.taken..].get(number)?;
        // SAFETY: the batch owns one handle for the index; the copy of it made here is never dropped.
        let waiting = ManuallyDrop::new(unsafe { Envelope::from_index(self.arena, index) });
        Some(Envelope::clone(&waiting).hold())
    }

    /// Looks at the waiting envelopes without taking them: for stages that do one thing for the whole batch.
    pub fn peek(&self) -> Peek<'_, M> {
        Peek { arena: self.arena, indices: self.indices[*self.taken..].iter() }
    }
}

impl<'a, M: Record> Iterator for Batch<'a, M> {
    type Item = Envelope<'a, M>;

    /// Takes the oldest.
    #[inline]
    fn next(&mut self) -> Option<Envelope<'a, M>> {
        let index = *self.indices.get(*self.taken)?;
        *self.taken += 1;
        // SAFETY: the batch owns one handle for each of its indices, and this one counts as taken from here on.
        Some(unsafe { Envelope::from_index(self.arena, index) })
    }
}

/// Most slots that go back to the arena together.
const RELEASED_TOGETHER: usize = 32;

/// Slots of one class on their way back to the arena, where they go at the end, be it a panic.
struct Released<'a, M: Record> {
    arena: &'a Arena<M>,
    class: u32,
    /// How many of the class go back together.
    most: usize,
    indices: [u32; RELEASED_TOGETHER],
    count: usize,
}

impl<M: Record> Released<'_, M> {
    #[inline]
    fn push(&mut self, class: u32, index: u32) {
        if self.count >= self.most || class != self.class {
            self.flush();
            self.class = class;
            self.most = self.arena.together_max(class).min(RELEASED_TOGETHER);
        }
        self.indices[self.count] = index;
        self.count += 1;
    }

    fn flush(&mut self) {
        let count = std::mem::take(&mut self.count);
        if count > 0 {
            self.arena.put_all(self.class as usize, &self.indices[..count]);
        }
    }
}

impl<M: Record> Drop for Released<'_, M> {
    fn drop(&mut self) {
        self.flush();
    }
}

/// Counts what was taken in a register, and tells at the end, be it a panic.
struct Progress<'t> {
    taken: &'t mut usize,
    count: usize,
}

impl<'t> Progress<'t> {
    fn of(taken: &'t mut usize) -> Self {
        let count = *taken;
        Self { taken, count }
    }
}

impl Drop for Progress<'_> {
    #[inline]
    fn drop(&mut self) {
        *self.taken = self.count;
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
