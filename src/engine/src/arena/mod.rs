//! The slab arena: payload memory claimed once, cut into slots of a few size classes, lent out by move-only handles.
//!
//! Every slot has one envelope for life: slot, envelope header and user record share one `u32` index. A handle is
//! either [`Unique`] (the payload may be written) or [`Envelope`] (the payload is frozen for good, and shared).
//! Dropping the last handle returns the slot. Nothing here allocates after [`Arena::new`].
//!
//! After a `fork` the arena belongs to the parent. The child has a copy, as of all private memory, and none of the threads that kept
//! slots of it: what they kept, and what they were just doing with it, stays so. A child that calls `exec` is not concerned; any
//! other makes an arena of its own.

mod claims;
mod class;
mod door;
mod envelope;
mod free;
mod held;
mod keep;
mod magazine;
mod mapping;
mod stack;
mod table;

use std::mem::ManuallyDrop;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Weak};

pub use claims::Claims;
pub use class::{ArenaConfig, ClassConfig};
pub use envelope::{Envelope, Unique};
pub use held::{Held, HeldPayload, HeldUnique};
pub use mapping::HugePages;

use crate::counters::Counter;
use crate::error::{ArenaError, ClaimError};
use crate::sync::{pause, yield_now};
use class::Class;
use door::Loot;
use keep::{Keeps, Own};
use table::{Header, Table};

/// What a user keeps beside each envelope. Implemented for every plain-data type.
pub trait Record: Copy + Default + Send + Sync + 'static {}

impl<M: Copy + Default + Send + Sync + 'static> Record for M {}

/// Rounds in which a claim looks everywhere before it says that the arena is full, while slots are only out of reach.
#[cfg(not(loom))]
const LOOKS: usize = 64;
#[cfg(loom)]
const LOOKS: usize = 1;

/// Payload memory, envelope headers, and records of type `M`.
#[derive(Debug)]
pub struct Arena<M: Record> {
    keeps: Keeps,
    classes: Box<[Class]>,
    table: Table<M>,
    full: Counter,
    /// Those of them for which there was a slot.
    out_of_reach: Counter,
    myself: Weak<Arena<M>>,
}

impl<M: Record> Arena<M> {
    /// Maps the memory of every class and builds the tables.
    ///
    /// # Errors
    /// [`ArenaError`] when the configuration has no class, an empty or an unaligned one, or the system refuses the memory.
    pub fn new(config: &ArenaConfig) -> Result<Arc<Self>, ArenaError> {
        Self::starting_at(config, 0)
    }

    /// The same with the tags of the free stacks, and the generations of the slots, as after `changes` claims and returns: for
    /// the proofs, which let both come round.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    #[doc(hidden)]
    pub fn starting_at(config: &ArenaConfig, changes: u32) -> Result<Arc<Self>, ArenaError> {
        config.check()?;
        let mut first = 0;
        let mut classes = Vec::with_capacity(config.classes.len());
        for class in &config.classes {
            classes.push(Class::new(class, first, config)?);
            first += class.slots;
        }
        // A slot that nobody holds has an even generation.
        let table = Table::new(&classes, changes & !1);
        for class in &classes {
            class.fill_pool(&table);
            class.free().start_at(changes);
        }
        Ok(Arc::new_cyclic(|myself| Self {
            keeps: Keeps::new(classes.len()),
            classes: classes.into(),
            table,
            full: Counter::new(),
            out_of_reach: Counter::new(),
            myself: myself.clone(),
        }))
    }

    /// Claims a slot that holds `payload_bytes`, from the smallest class that can, or from a larger one when that is empty.
    ///
    /// # Errors
    /// [`ClaimError::TooLarge`] when no class holds so much, [`ClaimError::Full`] (counted) when all that could are lent out,
    /// or stayed out of reach: a thread that loses its core while it is busy with the few it keeps holds them back, and a claim
    /// looks only so often, and does not wait. [`out_of_reach_total`](Self::out_of_reach_total) counts these apart.
    #[inline(always)]
    pub fn claim(&self, payload_bytes: usize) -> Result<Unique<'_, M>, ClaimError> {
        let made_for_it = |index| self.table.find_header(index).filter(|header| header.is_made_for(payload_bytes));
        let own = self.keeps.own();
        match own.as_ref().and_then(|own| own.take_hot(made_for_it)) {
            Some((index, header)) => {
                // Before the record's default runs, which is not ours.
                drop(own);
                Ok(Unique::claimed(self, index, header))
            }
            None => self.claim_from_class(own, payload_bytes),
        }
    }

    /// Claims up to `count` slots for payloads of `payload_bytes` each, one whenever the iterator is asked; it ends early
    /// where [`claim`](Self::claim) would fail. Quicker than as many claims; in exchange up to half of what a thread may keep
    /// is held back from others until the iterator goes.
    #[inline]
    pub fn claims(&self, payload_bytes: usize, count: usize) -> Claims<'_, M> {
        Claims::new(self, payload_bytes, count)
    }

    /// Out of line, to keep the quick way short.
    #[inline(never)]
    fn claim_from_class(&self, own: Option<Own<'_>>, payload_bytes: usize) -> Result<Unique<'_, M>, ClaimError> {
        let fits = self.classes.iter().position(|class| class.payload_bytes >= payload_bytes);
        let Some(smallest) = fits else {
            return Err(ClaimError::TooLarge { payload_bytes, payload_bytes_max: self.payload_bytes_max() });
        };
        let found = own.as_ref().and_then(|own| own.magazine(smallest).pop());
        drop(own);
        match found.or_else(|| self.find_anywhere(smallest)) {
            Some(index) => Ok(self.claimed(index)),
            None => {
                self.full.add(1);
                Err(ClaimError::Full { payload_bytes })
            }
        }
    }

    /// Looks everywhere, and again while there is something that is out of reach for a moment.
    #[cold]
    fn find_anywhere(&self, smallest: usize) -> Option<u32> {
        for look in 0..LOOKS {
            let mut loot = Loot::Nothing;
            for (number, class) in self.classes.iter().enumerate().skip(smallest) {
                if let Some(index) = self.find_free(number, class) {
                    return Some(index);
                }
                match self.keeps.steal(number, |index| class.owns(index)) {
                    Loot::Slots(slots) => {
                        let (index, others) = slots.split();
                        self.put_all(number, others);
                        return Some(index);
                    }
                    Loot::OutOfReach => loot = Loot::OutOfReach,
                    Loot::Nothing => {}
                }
            }
            if matches!(loot, Loot::Nothing) {
                return None;
            }
            // Whoever keeps them from us is through in no time, unless it has lost its core.
            if look < LOOKS / 2 { pause() } else { yield_now() }
        }
        self.out_of_reach.add(1);
        None
    }

    /// A slot that the calling thread keeps, or one of the shared stack.
    fn find_free(&self, number: usize, class: &Class) -> Option<u32> {
        let own = self.keeps.own_or_new();
        let hot = own.as_ref().and_then(|own| own.take_hot(|index| class.owns(index).then_some(())));
        match hot {
            Some((index, ())) => Some(index),
            None => class.free().take(own.as_ref().map(|own| own.magazine(number)), &self.table),
        }
    }

    #[inline]
    fn claimed(&self, index: u32) -> Unique<'_, M> {
        Unique::claimed(self, index, self.table.header(index))
    }

    /// The largest payload any slot holds, in bytes.
    pub fn payload_bytes_max(&self) -> usize {
        self.classes.last().map_or(0, |class| class.payload_bytes)
    }

    /// Bytes of payload memory over all classes.
    pub fn bytes(&self) -> usize {
        self.classes.iter().map(|class| class.payload_bytes * class.slots as usize).sum()
    }

    /// What came of the wish for huge pages: refused when the kernel refused it for any class.
    pub fn huge_pages(&self) -> HugePages {
        let mut classes = self.classes.iter().map(Class::huge_pages);
        let first = classes.next().unwrap_or(HugePages::Unwished);
        if classes.any(|class| class == HugePages::Refused) { HugePages::Refused } else { first }
    }

    /// Claims refused because no fitting slot was to be had.
    pub fn full_total(&self) -> u64 {
        self.full.value()
    }

    /// Those of them for which there would have been a slot, behind the back of a thread that lost its core while it was busy with
    /// what it keeps.
    pub fn out_of_reach_total(&self) -> u64 {
        self.out_of_reach.value()
    }

    /// One row per class, smallest first.
    pub fn usage(&self) -> impl Iterator<Item = ClassUsage> + '_ {
        let usage = |(number, class): (usize, &Class)| class.usage(self.keeps.kept(number, |index| class.owns(index)));
        self.classes.iter().enumerate().map(usage)
    }

    /// Slots lent out now, exact when no other thread claims or releases at this moment.
    pub fn slots_in_use(&self) -> u64 {
        self.usage().map(|class| class.slots_in_use).sum()
    }

    /// Payload and record of an envelope that somebody else's handle keeps.
    ///
    /// # Safety
    /// A handle to `index` exists, and is neither dropped nor mutably borrowed, for as long as the references live.
    pub(crate) unsafe fn peek(&self, index: u32) -> (&[u8], &M) {
        // SAFETY: by the contract there is a handle; the copy made here is never dropped.
        let envelope = ManuallyDrop::new(unsafe { Envelope::from_index(self, index) });
        let (payload, record): (*const [u8], *const M) = (envelope.payload(), envelope.record());
        // SAFETY: by the contract the payload stays frozen and nobody gets `&mut` to the record.
        unsafe { (&*payload, &*record) }
    }

    /// Gives up a handle that a ring carried.
    ///
    /// # Safety
    /// As for [`Envelope::from_index`].
    pub(crate) unsafe fn release_index(&self, index: u32) {
        // SAFETY: the caller's contract.
        drop(unsafe { Envelope::from_index(self, index) });
    }

    pub(crate) fn payload_bytes(&self, index: u32) -> usize {
        self.table.header(index).length.load(Relaxed) as usize
    }

    /// Returns a slot whose last handle is gone; `header` is its own.
    #[inline]
    fn release(&self, index: u32, header: &Header) {
        header.retire();
        if !(header.is_kept() && self.keeps.put_hot(index)) {
            self.release_to_class(index, header);
        }
    }

    /// Most slots of a class that go back together.
    pub(crate) fn together_max(&self, class: u32) -> usize {
        self.classes[class as usize].free().together_max()
    }

    /// Returns slots of one class that nobody holds: never given out, or [given up](Envelope::give_up). One visit to what
    /// the thread keeps, for all of them.
    pub(crate) fn put_all(&self, class: usize, indices: &[u32]) {
        let own = self.keeps.own_or_new();
        self.classes[class].free().put_all(indices, own.as_ref().map(|own| own.magazine(class)), &self.table);
    }

    /// Out of line, to keep the quick way short.
    #[inline(never)]
    fn release_to_class(&self, index: u32, header: &Header) {
        let (class, own) = (header.class as usize, self.keeps.own_or_new());
        self.classes[class].free().put(index, own.as_ref().map(|own| own.magazine(class)), &self.table);
    }

    /// The arena as an owner, for handles that outlive a borrow.
    fn owner(&self) -> Arc<Self> {
        self.myself.upgrade().expect("a borrowed arena is alive")
    }
}

/// How one class is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClassUsage {
    /// What a slot of this class holds.
    pub payload_bytes: usize,
    /// Slots in the class.
    pub slots: u64,
    /// Slots lent out now.
    pub slots_in_use: u64,
    /// Most slots that were ever out of the shared pool: lent out, or kept by a thread for its next claims.
    pub slots_out_max: u64,
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    /// As when a thread loses its core while it is busy with what it keeps.
    #[test]
    fn slots_that_stay_out_of_reach_are_counted_apart() {
        let classes = vec![ClassConfig { payload_bytes: 128, slots: 64 }];
        let config = ArenaConfig { classes, huge_pages: false, prefault: false };
        let arena = Arena::<u64>::new(&config).expect("a small arena");
        let ((tell, told), (go, wait)) = (channel(), channel::<()>());
        std::thread::scope(|threads| {
            let arena = &arena;
            let keeping = threads.spawn(move || {
                drop([arena.claim(1).expect("a free slot"), arena.claim(1).expect("another")]);
                let inside = arena.keeps.own().expect("it keeps one");
                tell.send(()).expect("the test goes on");
                wait.recv().expect("the test ends");
                drop(inside);
            });
            told.recv().expect("it is inside");
            let held: Vec<_> = arena.claims(1, 64).collect();
            let refused = 64 - held.len() as u64;
            assert!(refused > 0 && arena.claim(1).is_err());
            assert_eq!((arena.full_total(), arena.out_of_reach_total()), (2, 2));
            go.send(()).expect("it waits");
            keeping.join().expect("nothing fails there");
            let rest: Vec<_> = arena.claims(1, 64).collect();
            assert_eq!((rest.len() as u64, arena.full_total(), arena.out_of_reach_total()), (refused, 3, 2));
        });
    }
}
