//! The ring for latency: slots of two cache lines that hold up to 31 indices and say themselves whether they are full.
//!
//! A batch is one slot, a single index too. The consumer waits on the very line that brings the first indices, so a
//! hand-over is one line on its way (two for a long batch, and those together), and no shared index is looked at. The
//! producer learns from the consumer's count of popped indices how much room there is, when the count it remembers says
//! too little. A slot is full when its header carries the number of the lap: nobody has to clear it.
//!
//! There are as many slots as indices: however short the batches, the ring holds its capacity. That is 128 bytes per
//! index, which only a short ring can afford.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crossbeam_utils::CachePadded;

use crate::ring::ends::Ends;
use crate::sync::{Arc, AtomicU64, AtomicUsize};

/// Words of a slot: the header, with the first index in its low half, and pairs of indices.
const WORDS: usize = 16;

/// Most indices in a slot.
const SLOT: usize = 2 * WORDS - 1;

/// In the header, above the first index: how many indices, and above that the lap.
const COUNT_SHIFT: u32 = 32;
const LAP_SHIFT: u32 = 40;
const COUNT_MASK: u64 = (1 << (LAP_SHIFT - COUNT_SHIFT)) - 1;
const LAP_MASK: u64 = u64::MAX >> LAP_SHIFT;

const _: () = assert!(SLOT as u64 <= COUNT_MASK);

/// Two cache lines, which the processor fetches as a pair.
#[derive(Debug)]
#[repr(align(128))]
struct Slot([AtomicU64; WORDS]);

impl Slot {
    /// Empty on every lap but `lap`, which has passed.
    fn after(lap: u64) -> Self {
        Self(std::array::from_fn(|word| AtomicU64::new(if word == 0 { lap << LAP_SHIFT } else { 0 })))
    }

    /// Reads the first indices, of which `header` holds one; `indices` is not empty.
    #[inline]
    fn read(&self, header: u64, indices: &mut [u32]) {
        indices[0] = header as u32;
        let (pairs, last) = indices[1..].as_chunks_mut::<2>();
        let mut words = self.0[1..].iter();
        for (pair, word) in pairs.iter_mut().zip(&mut words) {
            let word = word.load(Relaxed);
            *pair = [word as u32, (word >> 32) as u32];
        }
        if let ([last], Some(word)) = (last, words.next()) {
            *last = word.load(Relaxed) as u32;
        }
    }

    /// The index `place` places after the first.
    fn index(&self, place: usize) -> u32 {
        let word = self.0[place.div_ceil(2)].load(Relaxed);
        // The header has the first index in its low half; the pairs follow.
        (if place == 0 || place % 2 == 1 { word } else { word >> 32 }) as u32
    }
}

/// Makes a ring of `capacity` indices, a power of two, whose positions go on from `start`, as after that many slots of one
/// index each.
pub(super) fn ring(capacity: usize, start: usize) -> (Producer, Consumer) {
    // The position that comes to a place first belongs to the lap after the one that its slot is left from.
    let first = |place: usize| start.wrapping_add(place.wrapping_sub(start) & (capacity - 1));
    let before = |place| lap(capacity, first(place)).wrapping_sub(1) & LAP_MASK;
    let shared = Arc::new(Shared {
        popped: CachePadded::new(AtomicUsize::new(start)),
        pushed: CachePadded::new(AtomicUsize::new(start)),
        left_at: AtomicUsize::new(0),
        left_taken: AtomicUsize::new(0),
        ends: Ends::new(),
        slots: (0..capacity).map(|place| Slot::after(before(place))).collect(),
    });
    let producer = Producer { shared: shared.clone(), slot: start, pushed: start, popped_cached: start };
    (producer, Consumer { shared, slot: start, taken: 0, popped: start })
}

/// The lap that `position` belongs to, as it stands in headers. The first is 1, for an empty slot is all zero.
#[inline]
fn lap(capacity: usize, position: usize) -> u64 {
    ((position >> capacity.trailing_zeros()) as u64 + 1) & LAP_MASK
}

#[derive(Debug)]
pub(super) struct Shared {
    /// Indices popped so far; written by the consumer.
    popped: CachePadded<AtomicUsize>,
    /// Indices pushed so far; written by the producer, for the gauge alone.
    pushed: CachePadded<AtomicUsize>,
    /// Where the consumer stood when it retired: the slot, and how many of its indices it had taken.
    left_at: AtomicUsize,
    left_taken: AtomicUsize,
    pub ends: Ends,
    slots: Box<[Slot]>,
}

impl Shared {
    #[inline]
    fn slot(&self, position: usize) -> &Slot {
        &self.slots[position & (self.slots.len() - 1)]
    }

    #[inline]
    fn lap(&self, position: usize) -> u64 {
        lap(self.slots.len(), position)
    }

    /// Header of the slot at `position`, if it has been filled.
    #[inline]
    fn header(&self, position: usize) -> Option<u64> {
        // Pairs with the release store in `Producer::fill`: the other words, and what the indices stand for, are
        // visible.
        let header = self.slot(position).0[0].load(Acquire);
        (header >> LAP_SHIFT == self.lap(position)).then_some(header)
    }

    pub fn depth(&self) -> usize {
        let popped = self.popped.load(Relaxed);
        self.pushed.load(Relaxed).wrapping_sub(popped).min(self.slots.len())
    }

    /// Hands out what was pushed and never popped. Both ends have left, and the caller has seen it.
    pub fn drain(&self, mut take: impl FnMut(u32)) {
        let (mut position, mut taken) = (self.left_at.load(Relaxed), self.left_taken.load(Relaxed));
        while let Some(header) = self.header(position) {
            (taken..count_of(header)).for_each(|place| take(self.slot(position).index(place)));
            (position, taken) = (position.wrapping_add(1), 0);
        }
    }
}

#[inline]
fn count_of(header: u64) -> usize {
    (header >> COUNT_SHIFT & COUNT_MASK) as usize
}

fn pair(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

#[derive(Debug)]
pub(super) struct Producer {
    pub shared: Arc<Shared>,
    /// Position of the next slot.
    slot: usize,
    pushed: usize,
    /// At most the true count: the ring may have more room than this says.
    popped_cached: usize,
}

impl Producer {
    /// Out of line, so that the other layout's push of one index is inlined where it is called.
    #[inline(never)]
    pub fn push_batch(&mut self, indices: &[u32]) -> usize {
        if self.room() < indices.len() {
            // Pairs with the release store of `popped` in `Consumer::give_back`: those slots have been read.
            self.popped_cached = self.shared.popped.load(Acquire);
        }
        let count = indices.len().min(self.room());
        indices[..count].chunks(SLOT).for_each(|batch| self.fill(batch));
        if count > 0 {
            self.pushed = self.pushed.wrapping_add(count);
            self.shared.pushed.store(self.pushed, Relaxed);
        }
        count
    }

    /// Slots not read yet hold an index each at least, so while there is room for an index there is a free slot.
    #[inline]
    fn room(&self) -> usize {
        self.shared.slots.len() - self.pushed.wrapping_sub(self.popped_cached)
    }

    #[inline]
    fn fill(&mut self, batch: &[u32]) {
        let words = &self.shared.slot(self.slot).0;
        let (pairs, last) = batch[1..].as_chunks::<2>();
        for (word, [low, high]) in words[1..].iter().zip(pairs) {
            word.store(pair(*low, *high), Relaxed);
        }
        if let [last] = last {
            words[1 + pairs.len()].store(u64::from(*last), Relaxed);
        }
        let header =
            u64::from(batch[0]) | (batch.len() as u64) << COUNT_SHIFT | self.shared.lap(self.slot) << LAP_SHIFT;
        // Pairs with the acquire load in `Shared::header`.
        words[0].store(header, Release);
        self.slot = self.slot.wrapping_add(1);
    }
}

#[derive(Debug)]
pub(super) struct Consumer {
    pub shared: Arc<Shared>,
    /// Position of the oldest slot not read to its end.
    slot: usize,
    /// Indices taken from it.
    taken: usize,
    popped: usize,
}

impl Consumer {
    #[inline]
    pub fn pop_batch(&mut self, indices: &mut [u32]) -> usize {
        let mut popped = 0;
        while popped < indices.len() {
            let Some(header) = self.shared.header(self.slot) else { break };
            let (slot, rest) = (self.shared.slot(self.slot), &mut indices[popped..]);
            let count = rest.len().min(count_of(header) - self.taken);
            let batch = &mut rest[..count];
            if self.taken == 0 {
                slot.read(header, batch);
            } else {
                batch.iter_mut().zip(self.taken..).for_each(|(index, place)| *index = slot.index(place));
            }
            popped += count;
            self.taken += count;
            if self.taken == count_of(header) {
                (self.slot, self.taken) = (self.slot.wrapping_add(1), 0);
            }
        }
        self.popped = self.popped.wrapping_add(popped);
        self.give_back(popped);
        popped
    }

    #[inline]
    pub fn pop_each(&mut self, most: usize, mut take: impl FnMut(u32) -> bool) -> usize {
        let mut popped = 0;
        let mut more = true;
        while more && popped < most {
            let Some(header) = self.shared.header(self.slot) else { break };
            let (slot, count) = (self.slot, count_of(header));
            while more && popped < most && self.slot == slot {
                let index = self.shared.slot(slot).index(self.taken);
                // Popped before it is given away: if `take` panics, nobody gets it twice.
                popped += 1;
                self.popped = self.popped.wrapping_add(1);
                self.taken += 1;
                if self.taken == count {
                    (self.slot, self.taken) = (slot.wrapping_add(1), 0);
                }
                more = take(index);
            }
        }
        self.give_back(popped);
        popped
    }

    #[inline]
    fn give_back(&self, popped: usize) {
        if popped > 0 {
            // Pairs with the acquire load of `popped` in `Producer::push_batch`: the slots may be overwritten from
            // here on.
            self.shared.popped.store(self.popped, Release);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.shared.header(self.slot).is_none()
    }

    /// Says where it stands, for whoever drains the ring. The caller's `leave` publishes it.
    pub fn note_position(&self) {
        self.shared.left_at.store(self.slot, Relaxed);
        self.shared.left_taken.store(self.taken, Relaxed);
    }
}
