//! Links within a worker: no other thread sees them, so they cost next to nothing.

use std::collections::VecDeque;
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

/// A link between two stages of one worker: a plain array.
#[derive(Debug)]
pub(crate) struct LocalQueue {
    cells: VecDeque<u32>,
    capacity: usize,
    stats: Arc<LinkStats>,
    /// The producing stage has finished.
    pub closed: bool,
}

impl LocalQueue {
    pub fn new(capacity: usize, stats: Arc<LinkStats>) -> Self {
        let capacity = capacity.max(BatchLimit::ENVELOPES_MAX);
        Self { cells: VecDeque::with_capacity(capacity), capacity, stats, closed: false }
    }

    pub fn push_batch(&mut self, indices: &[u32]) -> usize {
        let count = indices.len().min(self.capacity - self.cells.len());
        self.cells.extend(&indices[..count]);
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
            if self.cells.len() == self.capacity
                && let Some(oldest) = self.cells.pop_front()
            {
                overwritten.dropped += 1;
                release(oldest);
            }
            self.cells.push_back(index);
            overwritten.pushed += 1;
        }
        self.note_depth();
        overwritten
    }

    pub fn pop(&mut self) -> Option<u32> {
        let index = self.cells.pop_front()?;
        self.note_depth();
        Some(index)
    }

    pub fn pop_each(&mut self, most: usize, mut take: impl FnMut(u32) -> bool) -> usize {
        let (mut taken, mut more) = (0, true);
        while more
            && taken < most
            && let Some(index) = self.cells.pop_front()
        {
            taken += 1;
            more = take(index);
        }
        if taken > 0 {
            self.note_depth();
        }
        taken
    }

    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    fn note_depth(&self) {
        if let Depth::Local(depth) = &self.stats.depth {
            depth.store(self.cells.len() as u64, Relaxed);
        }
    }
}
