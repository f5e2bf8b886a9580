//! Handles. They move, never copy; the last one to go returns the slot.
//!
//! Soundness: a slot's bytes are written only through [`Unique`], of which there is one per claim and no [`Envelope`]
//! beside it; a record is written only through a handle that is the only one (`&mut` on it, reference count 1).

use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::sync::atomic::Ordering::Relaxed;

use crate::arena::held::{Held, HeldUnique};
use crate::arena::table::Header;
use crate::arena::{Arena, Record};

/// A claimed slot nobody else knows: write the payload, then [`share`](Self::share) it.
#[derive(Debug)]
pub struct Unique<'a, M: Record>(Envelope<'a, M>);

impl<'a, M: Record> Unique<'a, M> {
    #[inline]
    pub(super) fn claimed(arena: &'a Arena<M>, index: u32, header: &Header) -> Self {
        header.claim();
        // The handle comes first: should the default panic, it returns the slot.
        let unique = Self(Envelope::new(arena, index, header));
        // SAFETY: this is the only handle, and nobody else has it yet.
        unsafe { unique.0.record_cell().write(M::default()) };
        unique
    }

    /// The whole slot. Bytes not yet written hold whatever the slot held before.
    pub fn payload_mut(&mut self) -> &mut [u8] {
        let header = self.0.header();
        // SAFETY: the slot is `capacity` bytes long and initialised (zero at first); this is the only handle, and the
        // borrow of `self` makes this the only reference to the bytes.
        unsafe { std::slice::from_raw_parts_mut(header.slot, header.capacity as usize) }
    }

    /// Says how many of the slot's bytes are payload.
    ///
    /// # Panics
    /// When that is more than the slot holds.
    pub fn set_len(&mut self, payload_bytes: usize) {
        let header = self.0.header();
        assert!(
            payload_bytes <= header.capacity as usize,
            "a slot of {} bytes cannot hold {payload_bytes}",
            header.capacity
        );
        header.length.store(payload_bytes as u32, Relaxed);
    }

    /// Copies `payload` in, counts the copy, and sets the length.
    ///
    /// # Panics
    /// When the slot is smaller: claim it by the payload's length.
    pub fn fill(&mut self, payload: &[u8]) {
        self.payload_mut()[..payload.len()].copy_from_slice(payload);
        crate::counters::count_copy(payload.len());
        self.set_len(payload.len());
    }

    /// The record beside the envelope, defaulted at the claim.
    pub fn record_mut(&mut self) -> &mut M {
        self.0.record_mut().expect("the only handle may write the record")
    }

    /// Freezes the payload.
    pub fn share(self) -> Envelope<'a, M> {
        self.0
    }

    /// A handle that owns its share of the arena.
    pub fn hold(self) -> HeldUnique<M> {
        HeldUnique::new(self.0.hold())
    }

    /// The only handle, as what it is.
    pub(super) fn of(only: Envelope<'a, M>) -> Self {
        debug_assert!(only.header().is_unique());
        Self(only)
    }
}

/// A handle to a filled slot. Cloning adds a handle; the payload is never written again until all are gone.
#[derive(Debug)]
pub struct Envelope<'a, M: Record> {
    arena: &'a Arena<M>,
    /// Below the number of the arena's envelopes.
    index: u32,
    #[cfg(any(debug_assertions, feature = "paranoid"))]
    generation: u32,
    /// A handle is as good as `&mut M` while it is the only one.
    record: PhantomData<&'a mut M>,
}

impl<'a, M: Record> Envelope<'a, M> {
    #[inline]
    fn new(arena: &'a Arena<M>, index: u32, header: &Header) -> Self {
        // Where nothing is checked, nothing is read.
        _ = header;
        #[cfg(any(debug_assertions, feature = "paranoid"))]
        assert!(header.is_live(), "an index without a handle is stale");
        Self {
            arena,
            index,
            #[cfg(any(debug_assertions, feature = "paranoid"))]
            generation: header.generation(),
            record: PhantomData,
        }
    }

    /// Takes over a handle that [`into_index`](Self::into_index) gave up, or one that [`retain`](Self::retain) added.
    ///
    /// # Safety
    /// `index` comes from there, in this arena, and each handle is taken over once.
    #[inline]
    pub(crate) unsafe fn from_index(arena: &'a Arena<M>, index: u32) -> Self {
        // SAFETY: by the contract the index was a handle's.
        Self::new(arena, index, unsafe { arena.table.header_unchecked(index) })
    }

    /// Gives the handle up for a ring to carry.
    #[inline]
    pub(crate) fn into_index(self) -> u32 {
        self.check_generation();
        ManuallyDrop::new(self).index
    }

    #[inline]
    fn header(&self) -> &'a Header {
        // SAFETY: the index is a handle's.
        unsafe { self.arena.table.header_unchecked(self.index) }
    }

    /// Where the record lies; see the rules above for who may look.
    #[inline]
    fn record_cell(&self) -> *mut M {
        // SAFETY: the index is a handle's.
        unsafe { self.arena.table.record_unchecked(self.index) }
    }

    /// The payload.
    pub fn payload(&self) -> &[u8] {
        self.check_generation();
        let header = self.header();
        // SAFETY: `length` is at most the slot's capacity; the bytes are initialised and, since this is no `Unique`,
        // frozen.
        unsafe { std::slice::from_raw_parts(header.slot, header.length.load(Relaxed) as usize) }
    }

    /// Bytes of the slot: what the envelope keeps from others, whatever its payload's length.
    pub fn slot_bytes(&self) -> usize {
        self.header().capacity as usize
    }

    /// The record beside the envelope.
    pub fn record(&self) -> &M {
        self.check_generation();
        // SAFETY: `&mut M` is only given out on a handle that is the only one and mutably borrowed; this one is
        // borrowed shared.
        unsafe { &*self.record_cell() }
    }

    /// The record, to write; `None` while other handles exist.
    pub fn record_mut(&mut self) -> Option<&mut M> {
        self.check_generation();
        if !self.header().is_unique() {
            return None;
        }
        // SAFETY: this is the only handle, and it is borrowed mutably for as long as the reference lives.
        Some(unsafe { &mut *self.record_cell() })
    }

    /// The slot to write again.
    ///
    /// # Errors
    /// The handle itself while others exist.
    pub fn into_unique(mut self) -> Result<Unique<'a, M>, Self> {
        if self.record_mut().is_some() { Ok(Unique(self)) } else { Err(self) }
    }

    /// The handle as `N` handles, for as many readers. The count is stored once, when this is the only handle: cheaper
    /// than cloning it `N - 1` times.
    ///
    /// # Panics
    /// When `N` is 0: dropping the handle says that.
    pub fn fan_out<const N: usize>(mut self) -> [Self; N] {
        const { assert!(N > 0, "a slot needs a reader") };
        self.retain(N as u32 - 1);
        let (arena, index) = (self.arena, self.into_index());
        // SAFETY: one handle was given up on the line before and the others were added.
        std::array::from_fn(|_| unsafe { Self::from_index(arena, index) })
    }

    /// A handle that owns its share of the arena, for code that keeps an envelope beyond a stage call.
    pub fn hold(self) -> Held<M> {
        let owner = self.arena.owner();
        Held::new(owner, self.into_index())
    }

    /// Drops the handle; class and index, if it was the last one, for the caller to release.
    #[inline]
    pub(crate) fn give_up(self) -> Option<(u32, u32)> {
        self.check_generation();
        let this = ManuallyDrop::new(self);
        let header = this.header();
        if !header.drop_reference() {
            return None;
        }
        header.retire();
        Some((header.class, this.index))
    }

    /// Adds `more` handles without objects, to be taken over one by one with [`from_index`](Self::from_index).
    pub(crate) fn retain(&mut self, more: u32) {
        self.header().retain_exclusively(more);
    }

    pub(crate) fn arena(&self) -> &'a Arena<M> {
        self.arena
    }

    pub(crate) fn is_of(&self, arena: &Arena<M>) -> bool {
        std::ptr::eq(self.arena, arena)
    }

    #[inline]
    fn check_generation(&self) {
        #[cfg(any(debug_assertions, feature = "paranoid"))]
        assert_eq!(self.generation, self.header().generation(), "stale handle");
    }
}

impl<M: Record> Clone for Envelope<'_, M> {
    fn clone(&self) -> Self {
        self.header().retain(1);
        Self::new(self.arena, self.index, self.header())
    }
}

impl<M: Record> Drop for Envelope<'_, M> {
    #[inline]
    fn drop(&mut self) {
        self.check_generation();
        let header = self.header();
        if header.drop_reference() {
            self.arena.release(self.index, header);
        }
    }
}

#[cfg(all(test, not(loom), any(debug_assertions, feature = "paranoid")))]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;
    use crate::arena::{ArenaConfig, ClassConfig};

    #[test]
    fn a_stale_handle_is_caught() {
        catch_a_stale_handle(0);
    }

    #[test]
    fn a_stale_handle_is_caught_when_generations_come_round() {
        [u32::MAX - 2, u32::MAX].into_iter().for_each(catch_a_stale_handle);
    }

    /// What a faulty ring could do, and safe code cannot: two handles from one index.
    fn catch_a_stale_handle(changes: u32) {
        let classes = vec![ClassConfig { payload_bytes: 128, slots: 1 }];
        let config = ArenaConfig { classes, huge_pages: false, prefault: false };
        let arena = Arena::<u64>::starting_at(&config, changes).expect("a small arena");
        let claim = || arena.claim(1).expect("a free slot").share();
        let index = claim().into_index();
        // SAFETY: not upheld, which is what is tested: the second handle is never used while the slot is another's.
        let [first, stale] = [0, 1].map(|_| unsafe { Envelope::from_index(&arena, index) });
        let stale = ManuallyDrop::new(stale);
        drop(first);
        let caught = |use_it: &dyn Fn()| catch_unwind(AssertUnwindSafe(use_it)).is_err();
        assert!(caught(&|| _ = stale.payload()), "the slot was returned");
        // SAFETY: not upheld either; the check comes before anything is touched.
        assert!(caught(&|| drop(unsafe { Envelope::from_index(&arena, index) })), "nobody holds the slot");
        let next = claim();
        assert_eq!(next.index, index, "the slot is in use again");
        assert!(caught(&|| _ = stale.record()) && caught(&|| _ = stale.payload()));
        assert_eq!((next.payload(), arena.slots_in_use()), (&[][..], 1));
    }
}
