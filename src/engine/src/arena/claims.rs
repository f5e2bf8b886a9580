//! Slots claimed one after the other for payloads of one size, at the price of one visit to what the thread keeps.

use crate::arena::{Arena, Record, Unique};

/// Slots fetched together.
const TOGETHER: usize = 32;

/// Iterator over claimed slots, made by [`Arena::claims`].
#[derive(Debug)]
pub struct Claims<'a, M: Record> {
    arena: &'a Arena<M>,
    payload_bytes: usize,
    /// The smallest class that fits; none does when it is beyond the last.
    class: usize,
    /// How many more are wanted beyond those fetched.
    wanted: usize,
    /// Fetched, and from `next` to `end` not given out yet.
    indices: [u32; TOGETHER],
    next: usize,
    end: usize,
}

impl<'a, M: Record> Claims<'a, M> {
    pub(super) fn new(arena: &'a Arena<M>, payload_bytes: usize, count: usize) -> Self {
        let class = arena.classes.partition_point(|class| class.payload_bytes < payload_bytes);
        Self { arena, payload_bytes, class, wanted: count, indices: [0; TOGETHER], next: 0, end: 0 }
    }

    /// Fetches from the thread's magazine; where that is empty, claims one slot like anybody, which fills it.
    #[inline(never)]
    fn fetch(&mut self) -> Option<Unique<'a, M>> {
        if self.wanted == 0 || self.class >= self.arena.classes.len() {
            return None;
        }
        self.next = 0;
        let most = self.arena.classes[self.class].free().together_max().min(self.wanted).min(TOGETHER);
        self.end = match self.arena.keeps.own() {
            Some(own) => own.magazine(self.class).pop_all(&mut self.indices[..most]),
            None => 0,
        };
        self.wanted -= self.end.max(1);
        if self.end > 0 { self.fetched() } else { self.arena.claim(self.payload_bytes).ok() }
    }

    #[inline]
    fn fetched(&mut self) -> Option<Unique<'a, M>> {
        let index = *self.indices[..self.end].get(self.next)?;
        self.next += 1;
        Some(self.arena.claimed(index))
    }
}

impl<'a, M: Record> Iterator for Claims<'a, M> {
    type Item = Unique<'a, M>;

    #[inline]
    fn next(&mut self) -> Option<Unique<'a, M>> {
        match self.fetched() {
            Some(slot) => Some(slot),
            None => self.fetch(),
        }
    }
}

impl<M: Record> Drop for Claims<'_, M> {
    fn drop(&mut self) {
        if self.next < self.end {
            self.arena.put_all(self.class, &self.indices[self.next..self.end]);
        }
    }
}
