//! Links within a worker: no other thread sees them, so they cost next to nothing.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use crate::batch::BatchLimit;
use crate::stats::{Depth, LinkStats};

/// What pushing onto a full link came to.
#[derive(Debug, Default)]
pub(crate) struct Overwritten {
    pub pushed: u64,
    pub dropped: u64,
}

/// A link between two stages of one worker: a plain array, which changes hands as a whole where it can.
#[derive(Debug)]
pub(crate) struct LocalQueue {
    cells: Vec<u32>,
    /// What lies before is taken.
    head: usize,
    capacity: usize,
    stats: Arc<LinkStats>,
    /// The producing stage has finished.
    pub closed: bool,
}

impl LocalQueue {
    pub fn new(capacity: usize, stats: Arc<LinkStats>) -> Self {
        let capacity = capacity.max(BatchLimit::ENVELOPES_MAX);
        // Twice, so that what is taken need be cut off only now and then.
        Self { cells: Vec::with_capacity(2 * capacity), head: 0, capacity, stats, closed: false }
    }

    pub fn len(&self) -> usize {
        self.cells.len() - self.head
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes as much from the front of `indices` as there is room for; returns how many.
    pub fn push_from(&mut self, indices: &mut Vec<u32>) -> usize {
        let count = indices.len().min(self.capacity - self.len());
        if self.cells.is_empty() && count == indices.len() {
            std::mem::swap(&mut self.cells, indices);
        } else {
            self.cut_off_taken(count);
            self.cells.extend_from_slice(&indices[..count]);
            indices.drain(..count);
        }
        self.note_depth();
        count
    }

    /// Pushes all of `indices`; `release` gets the oldest of what there is no room for.
    pub fn push_over_oldest(
        &mut self,
        indices: impl Iterator<Item = u32>,
        mut release: impl FnMut(u32),
    ) -> Overwritten {
        let mut overwritten = Overwritten::default();
        for index in indices {
            if self.len() == self.capacity
                && let Some(oldest) = self.take()
            {
                overwritten.dropped += 1;
                release(oldest);
            }
            self.cut_off_taken(1);
            self.cells.push(index);
            overwritten.pushed += 1;
        }
        self.note_depth();
        overwritten
    }

    pub fn pop(&mut self) -> Option<u32> {
        let index = self.take()?;
        self.note_depth();
        Some(index)
    }

    /// Moves at most `most` of what waits to the end of `input`, oldest first; returns how many.
    pub fn pop_into(&mut self, most: usize, input: &mut Vec<u32>) -> usize {
        let count = self.len().min(most);
        if count == 0 {
            return 0;
        }
        if input.is_empty() && self.head == 0 && count == self.cells.len() {
            std::mem::swap(&mut self.cells, input);
        } else {
            input.extend_from_slice(&self.cells[self.head..self.head + count]);
            self.head += count;
            self.rewind_if_empty();
        }
        self.note_depth();
        count
    }

    /// Gives what waits to `take`, oldest first, at most `most` and no more once it says false; returns how many.
    pub fn pop_each(&mut self, most: usize, mut take: impl FnMut(u32) -> bool) -> usize {
        let (mut taken, mut more) = (0, true);
        while more
            && taken < most
            && let Some(index) = self.take()
        {
            taken += 1;
            more = take(index);
        }
        if taken > 0 {
            self.note_depth();
        }
        taken
    }

    fn take(&mut self) -> Option<u32> {
        let index = *self.cells.get(self.head)?;
        self.head += 1;
        self.rewind_if_empty();
        Some(index)
    }

    fn rewind_if_empty(&mut self) {
        if self.is_empty() {
            self.cells.clear();
            self.head = 0;
        }
    }

    /// Makes sure that `more` can be added without the array growing.
    fn cut_off_taken(&mut self, more: usize) {
        if self.cells.len() + more > self.cells.capacity() {
            self.cells.drain(..self.head);
            self.head = 0;
        }
    }

    fn note_depth(&self) {
        if let Depth::Local(depth) = &self.stats.depth {
            depth.store(self.len() as u64, Relaxed);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const CAPACITY: usize = BatchLimit::ENVELOPES_MAX;

    fn queue() -> LocalQueue {
        LocalQueue::new(CAPACITY, LinkStats::new("a_b", CAPACITY, Depth::Local(0.into())))
    }

    fn depth(queue: &LocalQueue) -> usize {
        assert_eq!(queue.stats.depth(), queue.len());
        queue.len()
    }

    fn pop_all(queue: &mut LocalQueue) -> Vec<u32> {
        std::iter::from_fn(|| queue.pop()).collect()
    }

    #[test]
    fn a_whole_batch_changes_hands_without_being_copied() {
        let mut queue = queue();
        let mut staged: Vec<u32> = (0..32).collect();
        let array = staged.as_ptr();
        assert_eq!((queue.push_from(&mut staged), depth(&queue), staged.len()), (32, 32, 0));
        let mut input = Vec::with_capacity(CAPACITY);
        assert_eq!((queue.pop_into(32, &mut input), depth(&queue)), (32, 0));
        assert_eq!(input.as_ptr(), array, "the array itself came through");
        assert!(input.iter().copied().eq(0..32));
        assert_eq!((queue.pop(), queue.pop_into(1, &mut input)), (None, 0));
    }

    #[test]
    fn batches_are_joined_and_cut_in_order() {
        let mut queue = queue();
        let mut input = vec![100];
        for batch in [0..10, 10..11, 11..40] {
            assert_eq!(queue.push_from(&mut batch.clone().collect()), batch.len());
        }
        assert_eq!((queue.pop_into(7, &mut input), depth(&queue)), (7, 33));
        assert_eq!(input, [100, 0, 1, 2, 3, 4, 5, 6]);
        assert_eq!(queue.pop(), Some(7));
        let mut seen = Vec::new();
        let until = |index| {
            seen.push(index);
            index < 10
        };
        assert_eq!(queue.pop_each(20, until), 3, "no more once it says false");
        assert_eq!((seen, depth(&queue)), (vec![8, 9, 10], 29));
        assert_eq!((queue.pop_each(2, |_| true), depth(&queue)), (2, 27));
        input.clear();
        assert_eq!(queue.pop_into(20, &mut input), 20, "into an empty array, and yet not all");
        assert_eq!(queue.push_from(&mut vec![40, 41]), 2);
        assert!(input.into_iter().chain(pop_all(&mut queue)).eq(13..42));
        assert_eq!(depth(&queue), 0);
    }

    #[test]
    fn what_finds_no_room_stays_with_the_producer() {
        let mut queue = queue();
        let mut staged: Vec<u32> = (0..CAPACITY as u32 + 5).collect();
        assert_eq!(queue.push_from(&mut staged), CAPACITY, "more than fits is not swapped in");
        assert!(staged.iter().copied().eq(CAPACITY as u32..CAPACITY as u32 + 5));
        assert_eq!((queue.push_from(&mut staged), staged.len()), (0, 5));
        assert_eq!((queue.pop(), queue.push_from(&mut staged), staged.len()), (Some(0), 1, 4));
        assert!(pop_all(&mut queue).into_iter().eq(1..CAPACITY as u32 + 1));
        assert_eq!((queue.push_from(&mut staged), depth(&queue)), (4, 4));
    }

    #[test]
    fn the_oldest_make_room_for_the_newest() {
        let mut queue = queue();
        let mut released = Vec::new();
        let first = queue.push_over_oldest(0..CAPACITY as u32, |index| released.push(index));
        assert_eq!((first.pushed, first.dropped), (CAPACITY as u64, 0));
        let more = queue.push_over_oldest(CAPACITY as u32..CAPACITY as u32 * 3 + 7, |index| released.push(index));
        assert_eq!((more.pushed, more.dropped), (2 * CAPACITY as u64 + 7, 2 * CAPACITY as u64 + 7));
        assert!(released.into_iter().eq(0..CAPACITY as u32 * 2 + 7));
        assert_eq!(depth(&queue), CAPACITY);
        assert!(pop_all(&mut queue).into_iter().eq(CAPACITY as u32 * 2 + 7..CAPACITY as u32 * 3 + 7));
    }

    /// However the queue is used that never runs empty, so that no array is swapped.
    #[test]
    fn the_array_does_not_grow() {
        let mut queue = queue();
        let (array, capacity) = (queue.cells.as_ptr(), queue.cells.capacity());
        let mut released = 0;
        let release = |_| released += 1;
        queue.push_over_oldest(0..CAPACITY as u32, release);
        for round in 0..10 * CAPACITY {
            let mut input = vec![0];
            queue.pop_into(1 + round % 50, &mut input);
            queue.push_from(&mut (0..1 + round as u32 * 7 % 90).collect());
            queue.push_over_oldest(0..round as u32 % 3, |_| released += 1);
            assert!((1..=CAPACITY).contains(&depth(&queue)), "round {round}");
        }
        assert!(released > 0);
        assert_eq!((queue.cells.as_ptr(), queue.cells.capacity()), (array, capacity));
    }

    /// Arrays of another size come in by a swap, and grow to what the queue holds at most.
    #[test]
    fn an_array_that_was_swapped_in_grows_as_far_as_the_queue_holds() {
        let mut queue = queue();
        let mut staged = Vec::with_capacity(2);
        staged.push(0);
        queue.push_from(&mut staged);
        for index in 1..CAPACITY as u32 {
            queue.push_from(&mut vec![index]);
        }
        let full = queue.cells.capacity();
        assert!(full <= 2 * CAPACITY);
        for index in 0..5 * CAPACITY as u32 {
            assert_eq!(queue.pop(), Some(index));
            assert_eq!(queue.push_from(&mut vec![index + CAPACITY as u32]), 1);
        }
        assert!(queue.cells.capacity() <= 2 * CAPACITY, "{} after {full}", queue.cells.capacity());
    }
}
