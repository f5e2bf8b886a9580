//! Links: named rings between two stages, and the ends that workers and outsiders hold.

use std::sync::Arc;

use crate::queue::{LocalQueue, Overwritten};
use crate::ring::{mpmc, spsc};
use crate::stats::{Depth, LinkStats, add};
use crate::wait::Waker;

/// What a link does with an envelope when it is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Policy {
    /// The producer waits: nothing is lost.
    #[default]
    Reliable,
    /// The envelope is dropped and counted: the producer never waits, and the consumer gets what came first.
    DropNewest,
    /// The oldest envelope in the link is dropped and counted, to make room: the producer never waits, and the consumer gets what
    /// came last. While the consumer is just taking from a full link, the newest goes instead.
    DropOldest,
}

impl Policy {
    /// The producer waits for room, so that a circle of such links would wait for itself.
    pub(crate) fn is_reliable(self) -> bool {
        self == Self::Reliable
    }
}

/// How a link is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkConfig {
    /// Indices the link holds: a power of two, at least 256.
    pub capacity: usize,
    /// What happens when it is full.
    pub policy: Policy,
}

impl Default for LinkConfig {
    fn default() -> Self {
        Self { capacity: 1024, policy: Policy::Reliable }
    }
}

/// The producing end, with a staging place for one call of the stage.
#[derive(Debug)]
pub(crate) struct Outlet {
    pub target: OutletTarget,
    pub stats: Arc<LinkStats>,
    pub policy: Policy,
    staged: Vec<u32>,
    staged_max: usize,
}

/// Where staged indices go.
#[derive(Debug)]
pub(crate) enum OutletTarget {
    /// A queue of the same worker, by its number there.
    Local(usize),
    /// A ring to another worker or to an outsider.
    Remote { producer: spsc::Producer, waker: Waker },
    /// A ring of which the producer takes the oldest itself when it is full.
    Overwriting { ring: Arc<mpmc::Ring>, waker: Waker },
}

/// Makes a ring that leads out of a worker: both its ends, and where its depth is read.
///
/// A link has one producer and one consumer: links that meet in a stage are as many rings, the ends of a ring for one producer
/// cannot be cloned, and a drawing that names a second producer is refused. Only a link that drops its oldest has a ring with two that pop.
pub(crate) fn remote(config: LinkConfig, waker: Waker) -> (OutletTarget, InletEnd, Depth) {
    if config.policy == Policy::DropOldest {
        let ring = Arc::new(mpmc::Ring::new(config.capacity));
        let target = OutletTarget::Overwriting { ring: ring.clone(), waker };
        return (target, InletEnd::Mpmc(ring.clone()), Depth::Mpmc(ring));
    }
    let (producer, consumer) = spsc::ring(config.capacity);
    let depth = Depth::Spsc(producer.gauge());
    (OutletTarget::Remote { producer, waker }, InletEnd::Spsc(consumer), depth)
}

impl Outlet {
    /// `staged_max`: most envelopes the stage may send in one call.
    pub fn new(target: OutletTarget, stats: Arc<LinkStats>, policy: Policy, staged_max: usize) -> Self {
        Self { target, stats, policy, staged: Vec::with_capacity(staged_max), staged_max }
    }

    #[inline]
    pub fn room(&self) -> usize {
        self.staged_max.saturating_sub(self.staged.len())
    }

    pub fn staged_len(&self) -> usize {
        self.staged.len()
    }

    #[inline]
    pub fn stage(&mut self, index: u32) {
        self.staged.push(index);
    }

    /// Stages what `indices` gives, at most `most`; where that panics, what came before.
    #[inline]
    pub fn stage_all(&mut self, indices: impl Iterator<Item = u32>, most: usize) {
        self.staged.reserve(most);
        let cells = self.staged.as_mut_ptr();
        let mut growing = Growing { length: self.staged.len(), array: &mut self.staged };
        for index in indices.take(most) {
            // SAFETY: room for `most` was reserved beyond the array's length, no more are written, and nobody else
            // touches the array meanwhile.
            unsafe { cells.add(growing.length).write(index) };
            growing.length += 1;
        }
    }

    /// Publishes what is staged; what finds no room stays staged, unless the policy drops it.
    /// `release` gets the indices that are dropped.
    pub fn flush(&mut self, locals: &mut [LocalQueue], release: impl FnMut(u32)) {
        if self.staged.is_empty() {
            return;
        }
        let count = match &mut self.target {
            OutletTarget::Local(queue) if self.policy == Policy::DropOldest => {
                let done = locals[*queue].push_over_oldest(self.staged.drain(..), release);
                return self.stats.overwrote(done.pushed, done.dropped);
            }
            OutletTarget::Overwriting { .. } => return self.overwrite(release),
            OutletTarget::Local(queue) => locals[*queue].push_from(&mut self.staged),
            OutletTarget::Remote { producer, .. } if producer.is_abandoned() => return self.drop_staged(release),
            OutletTarget::Remote { producer, .. } => {
                let count = producer.push_batch(&self.staged);
                // What was published is no longer owned here, before anybody else's code runs.
                self.staged.drain(..count);
                count
            }
        };
        add(&self.stats.passed, count as u64);
        if let OutletTarget::Remote { waker, .. } = &self.target
            && count > 0
        {
            waker.wake();
        }
        if !self.staged.is_empty() {
            add(&self.stats.full, 1);
            if self.policy == Policy::DropNewest {
                self.drop_staged(release);
            }
        }
    }

    /// Publishes all that is staged, at the price of the oldest where the ring is full.
    fn overwrite(&mut self, mut release: impl FnMut(u32)) {
        let OutletTarget::Overwriting { ring, waker } = &self.target else { return };
        let mut done = Overwritten::default();
        for index in self.staged.drain(..) {
            let pushed = ring.push_over_oldest(index, |lost| {
                done.dropped += 1;
                release(lost);
            });
            done.pushed += u64::from(pushed);
        }
        self.stats.overwrote(done.pushed, done.dropped);
        if done.pushed > 0 {
            waker.wake();
        }
    }

    fn drop_staged(&mut self, release: impl FnMut(u32)) {
        add(&self.stats.dropped, self.staged.len() as u64);
        self.staged.drain(..).for_each(release);
    }

    /// The worker ends: gives back what is staged, and what nobody will ever pop.
    pub fn retire(mut self, mut release: impl FnMut(u32)) {
        self.staged.drain(..).for_each(&mut release);
        match self.target {
            OutletTarget::Local(_) => {}
            OutletTarget::Remote { producer, waker } => {
                producer.retire(release);
                waker.wake();
            }
            OutletTarget::Overwriting { ring, waker } => {
                // Whoever consumes takes what is left, and did if it went before.
                ring.close();
                waker.wake();
            }
        }
    }
}

/// An array whose length is kept in a register while it grows, and told at the end, be it a panic.
struct Growing<'a> {
    array: &'a mut Vec<u32>,
    length: usize,
}

impl Drop for Growing<'_> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: whoever counted an element has written it, within the capacity.
        unsafe { self.array.set_len(self.length) };
    }
}

/// The consuming end.
#[derive(Debug)]
pub(crate) struct Inlet {
    pub end: InletEnd,
    /// The link leads back to a stage before its producer (and drops when it is full, then): at the end nobody waits for it to
    /// close, or the stages of the circle would wait for each other.
    pub feedback: bool,
}

/// Where indices come from.
#[derive(Debug)]
pub(crate) enum InletEnd {
    Local(usize),
    Spsc(spsc::Consumer),
    Mpmc(Arc<mpmc::Ring>),
}

impl Inlet {
    /// Moves at most `most` of what waits to the end of `input`, oldest first; returns how many.
    pub fn pop_into(&mut self, locals: &mut [LocalQueue], most: usize, input: &mut Vec<u32>) -> usize {
        match &mut self.end {
            InletEnd::Local(queue) => locals[*queue].pop_into(most, input),
            _ => self.pop_each(locals, most, |index| {
                input.push(index);
                true
            }),
        }
    }

    /// Gives what waits to `take`, oldest first, at most `most` and no more once it says false; returns how many.
    pub fn pop_each(&mut self, locals: &mut [LocalQueue], most: usize, mut take: impl FnMut(u32) -> bool) -> usize {
        match &mut self.end {
            InletEnd::Local(queue) => locals[*queue].pop_each(most, take),
            InletEnd::Spsc(consumer) => consumer.pop_each(most, take),
            InletEnd::Mpmc(ring) => {
                let (mut taken, mut more) = (0, true);
                // One by one: what was claimed cannot be put back, should `take` want no more.
                while more
                    && taken < most
                    && let Some(index) = ring.pop()
                {
                    taken += 1;
                    more = take(index);
                }
                taken
            }
        }
    }

    /// Takes the oldest of a link that leads out of the workers.
    pub fn pop(&mut self) -> Option<u32> {
        match &mut self.end {
            InletEnd::Local(_) => None,
            InletEnd::Spsc(consumer) => consumer.pop(),
            InletEnd::Mpmc(ring) => ring.pop(),
        }
    }

    /// Something waits. Local queues are filled by the same worker, which knows.
    pub fn has_work(&self) -> bool {
        match &self.end {
            InletEnd::Local(_) => false,
            InletEnd::Spsc(consumer) => !consumer.is_empty(),
            InletEnd::Mpmc(ring) => !ring.is_empty(),
        }
    }

    /// The worker ends: gives back what still waits and refuses what is yet to come.
    pub fn retire(self, mut release: impl FnMut(u32)) {
        match self.end {
            InletEnd::Local(_) => {}
            InletEnd::Spsc(mut consumer) => {
                while let Some(index) = consumer.pop() {
                    release(index);
                }
                consumer.retire(release);
            }
            InletEnd::Mpmc(ring) => {
                ring.close();
                while !ring.is_finished() {
                    // A push under way finishes within a few instructions.
                    ring.pop().map_or_else(std::thread::yield_now, &mut release);
                }
            }
        }
    }

    /// Closed and empty; a feedback link, empty.
    pub fn is_finished(&self, locals: &[LocalQueue]) -> bool {
        match &self.end {
            InletEnd::Local(queue) => (self.feedback || locals[*queue].closed) && locals[*queue].is_empty(),
            // The order matters: what was pushed before the close is visible once the flag is.
            InletEnd::Spsc(consumer) => (self.feedback || consumer.is_closed()) && consumer.is_empty(),
            InletEnd::Mpmc(ring) => (self.feedback && ring.is_empty()) || ring.is_finished(),
        }
    }
}
