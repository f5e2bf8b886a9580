//! The ring for throughput: dense cells between two indices (Lamport 1983), each side with a cached copy of the
//! other's.
//!
//! Each side looks at the other's index only when its cached copy says empty or full. That look costs a cache line on
//! its way between two cores, so it must bring in many indices. Left alone the two sides fall into step, where each
//! look brings in a few: the consumer takes a batch the moment it is there, and thereby takes the line the producer
//! needs for the next. A side that finds little after having found some pauses once, about as long as a line is under
//! way, and looks again ("temporal slipping": Giacomoni et al., "FastForward", 2008). A side that found nothing the
//! time before does not pause, so that what comes after a lull is seen at once.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crossbeam_utils::CachePadded;

use crate::ring::cells::Cells;
use crate::ring::ends::Ends;
use crate::sync::{Arc, AtomicUsize, pause};

/// Rounds of `pause` before the second look: around 120 ns on the machine the figures come from.
const PAUSES: u32 = 8;

/// A look that brings in less than one part in this many of the capacity brought in little.
const LITTLE_FULL: usize = 4;
const LITTLE_EMPTY: usize = 8;

/// Indices in a cache line.
const LINE: usize = 16;

/// Lines ahead of the consumer that are asked for. Without this and the next, an index takes 1.9, 1.6, 1.4 and 1.2 times as
/// long from one core to another, at batches of 1, 8, 32 and 128 (Zen 4, in turns).
const READ_AHEAD: usize = 8;

/// Lines ahead of the producer that are asked for.
const WRITE_AHEAD: usize = 4;

/// Makes a ring of `capacity` indices, a power of two, whose positions go on from `start`.
pub(super) fn ring(capacity: usize, start: usize) -> (Producer, Consumer) {
    let shared = Arc::new(Shared {
        head: CachePadded::new(AtomicUsize::new(start)),
        tail: CachePadded::new(AtomicUsize::new(start)),
        ends: Ends::new(),
        cells: Cells::new(capacity),
    });
    let producer = Producer { shared: shared.clone(), tail: start, head_cached: start };
    (producer, Consumer { shared, head: start, tail_cached: start, found_some: false })
}

#[derive(Debug)]
pub(super) struct Shared {
    /// Position of the next index to pop; written by the consumer. Counts on past the capacity.
    head: CachePadded<AtomicUsize>,
    /// Position of the next index to push; written by the producer. `tail - head` is in `0..=capacity`.
    tail: CachePadded<AtomicUsize>,
    pub ends: Ends,
    cells: Cells,
}

impl Shared {
    /// Indices in the ring, as of some moment during the call.
    pub fn depth(&self) -> usize {
        let head = self.head.load(Relaxed);
        self.tail.load(Relaxed).wrapping_sub(head).min(self.cells.capacity())
    }

    /// Hands out what was pushed and never popped. Both ends have left, and the caller has seen it.
    pub fn drain(&self, mut take: impl FnMut(u32)) {
        let (head, tail) = (self.head.load(Relaxed), self.tail.load(Relaxed));
        for offset in 0..tail.wrapping_sub(head) {
            // SAFETY: the cell was written before the producer left, and nobody writes any more.
            take(unsafe { self.cells.read_one(head.wrapping_add(offset)) });
        }
    }
}

/// Calls `hint` for each line that a batch from `position` on has left behind, `ahead` lines further on, as far as `end`.
#[inline]
fn ahead(position: usize, count: usize, ahead: usize, end: usize, hint: impl Fn(usize)) {
    let lines = (position % LINE + count) / LINE;
    for line in 1..=lines {
        // Distances from `position`, for positions wrap around.
        let distance = (line + ahead) * LINE - position % LINE;
        if distance + LINE > end.wrapping_sub(position) {
            return;
        }
        hint(position.wrapping_add(distance));
    }
}

#[derive(Debug)]
pub(super) struct Producer {
    pub shared: Arc<Shared>,
    tail: usize,
    /// At most the true head: the ring may have more room than this says.
    head_cached: usize,
}

impl Producer {
    #[inline]
    pub fn push_batch(&mut self, indices: &[u32]) -> usize {
        match indices {
            [index] => usize::from(self.push(*index)),
            _ => self.push_many(indices),
        }
    }

    /// A lone index takes half the time that it does as a batch of one.
    #[inline]
    fn push(&mut self, index: u32) -> bool {
        if self.room() == 0 {
            self.look(1);
            if self.room() == 0 {
                return false;
            }
        }
        let cells = &self.shared.cells;
        // SAFETY: the cell is free, as in `push_many`.
        unsafe { cells.write_one(self.tail, index) };
        self.publish(1);
        true
    }

    /// Out of line, so that [`push`](Self::push) is small enough to be inlined where it is called.
    #[inline(never)]
    fn push_many(&mut self, indices: &[u32]) -> usize {
        if self.room() < indices.len() {
            self.look(indices.len());
        }
        let count = indices.len().min(self.room());
        if count == 0 {
            return 0;
        }
        let cells = &self.shared.cells;
        // SAFETY: the cells from `tail` on are free: the consumer has released them, which the acquire load in `look`
        // has seen, and it reads them only after the store below.
        unsafe { cells.write(self.tail, &indices[..count]) };
        self.publish(count);
        count
    }

    /// The next `count` cells are written.
    #[inline]
    fn publish(&mut self, count: usize) {
        let cells = &self.shared.cells;
        let end = self.head_cached.wrapping_add(cells.capacity());
        ahead(self.tail, count, WRITE_AHEAD, end, |position| cells.will_write(position));
        self.tail = self.tail.wrapping_add(count);
        // Pairs with the acquire load of `tail` in `Consumer::look`: cells, and what the indices stand for, are
        // visible.
        self.shared.tail.store(self.tail, Release);
    }

    #[inline]
    fn room(&self) -> usize {
        self.shared.cells.capacity() - self.tail.wrapping_sub(self.head_cached)
    }

    #[cold]
    fn look(&mut self, wanted: usize) {
        // Pairs with the release store of `head` in `Consumer::give_back`: the cells before it have been read.
        self.head_cached = self.shared.head.load(Acquire);
        if self.room() < wanted.max(self.shared.cells.capacity() / LITTLE_FULL) {
            (0..PAUSES).for_each(|_| pause());
            // Pairs with the release store in `give_back`, as above.
            self.head_cached = self.shared.head.load(Acquire);
        }
    }
}

#[derive(Debug)]
pub(super) struct Consumer {
    pub shared: Arc<Shared>,
    head: usize,
    /// At most the true tail: the ring may hold more than this says.
    tail_cached: usize,
    /// The last look found something.
    found_some: bool,
}

impl Consumer {
    #[inline]
    pub fn pop_batch(&mut self, indices: &mut [u32]) -> usize {
        match indices {
            [index] => match self.pop() {
                Some(popped) => {
                    *index = popped;
                    1
                }
                None => 0,
            },
            _ => self.pop_many(indices),
        }
    }

    #[inline]
    fn pop(&mut self) -> Option<u32> {
        if self.known(1) == 0 {
            return None;
        }
        // SAFETY: the cell was written, as in `pop_many`.
        let index = unsafe { self.shared.cells.read_one(self.head) };
        self.pass(1);
        Some(index)
    }

    /// Out of line, as `push_many`.
    #[inline(never)]
    fn pop_many(&mut self, indices: &mut [u32]) -> usize {
        let count = self.known(indices.len());
        if count == 0 {
            return 0;
        }
        let cells = &self.shared.cells;
        // SAFETY: the cells up to `tail_cached` were written before the release store that `look` has acquired; the
        // producer writes them again only after it has acquired the store in `give_back`.
        unsafe { cells.read(self.head, &mut indices[..count]) };
        self.pass(count);
        count
    }

    /// The next `count` cells are read.
    #[inline]
    fn pass(&mut self, count: usize) {
        let cells = &self.shared.cells;
        ahead(self.head, count, READ_AHEAD, self.tail_cached, |position| cells.will_read(position));
        self.head = self.head.wrapping_add(count);
        self.give_back();
    }

    #[inline]
    pub fn pop_each(&mut self, most: usize, mut take: impl FnMut(u32) -> bool) -> usize {
        let count = self.known(most);
        let mut taken = 0;
        while taken < count {
            // SAFETY: as in `pop_many`.
            let index = unsafe { self.shared.cells.read_one(self.head) };
            // Popped before it is given away: if `take` panics, nobody gets it twice.
            self.head = self.head.wrapping_add(1);
            taken += 1;
            if !take(index) {
                break;
            }
        }
        if taken > 0 {
            self.give_back();
        }
        taken
    }

    #[inline]
    fn give_back(&self) {
        // Pairs with the acquire load of `head` in `Producer::look`: the cells may be overwritten from here on.
        self.shared.head.store(self.head, Release);
    }

    /// How many of `wanted` are there.
    #[inline]
    fn known(&mut self, wanted: usize) -> usize {
        if self.tail_cached.wrapping_sub(self.head) < wanted {
            self.look();
        }
        wanted.min(self.tail_cached.wrapping_sub(self.head))
    }

    #[cold]
    fn look(&mut self) {
        // Pairs with the release store of `tail` in `Producer::push_batch`.
        self.tail_cached = self.shared.tail.load(Acquire);
        let little = (self.shared.cells.capacity() / LITTLE_EMPTY).max(1);
        if self.found_some && self.tail_cached.wrapping_sub(self.head) < little {
            (0..PAUSES).for_each(|_| pause());
            // Pairs with the release store in `push_batch`, as above.
            self.tail_cached = self.shared.tail.load(Acquire);
        }
        self.found_some = self.tail_cached != self.head;
    }

    pub fn is_empty(&self) -> bool {
        // Whoever pops acquires; a look that takes nothing need not.
        self.head == self.shared.tail.load(Relaxed)
    }
}
