//! Handles that own a share of the arena: for queues outside the engine, and for `bytes::Bytes`.

use std::mem::ManuallyDrop;
use std::sync::Arc;

use bytes::Bytes;

use crate::arena::{Arena, Envelope, Record, Unique};

/// An [`Envelope`] without a lifetime. It costs a reference count on the arena: for the edges, not for the rings.
#[derive(Debug)]
pub struct Held<M: Record> {
    arena: Arc<Arena<M>>,
    index: u32,
}

impl<M: Record> Held<M> {
    pub(super) fn new(arena: Arc<Arena<M>>, index: u32) -> Self {
        Self { arena, index }
    }

    /// The payload.
    pub fn payload(&self) -> &[u8] {
        let envelope = self.borrowed();
        let payload: *const [u8] = envelope.payload();
        // SAFETY: the payload stays frozen and mapped while this handle lives, and the reference borrows this handle.
        unsafe { &*payload }
    }

    /// Bytes of the slot: what the handle keeps from others, whatever its payload's length.
    pub fn slot_bytes(&self) -> usize {
        self.borrowed().slot_bytes()
    }

    /// A copy of the record beside the envelope.
    pub fn record(&self) -> M {
        *self.borrowed().record()
    }

    /// The handle as stages take it.
    pub fn attach<'a>(self, arena: &'a Arc<Arena<M>>) -> Result<Envelope<'a, M>, Self> {
        if !Arc::ptr_eq(&self.arena, arena) {
            return Err(self);
        }
        let index = self.index;
        // The share of the arena is given back; the slot's handle lives on in the envelope.
        let this = ManuallyDrop::new(self);
        // SAFETY: `this` is never used again and its drop does not run, so the arena is moved out exactly once.
        drop(unsafe { std::ptr::read(&this.arena) });
        // SAFETY: this value owned one handle to `index` and gave it up above.
        Ok(unsafe { Envelope::from_index(arena, index) })
    }

    /// The payload as `Bytes`, without a copy (and with one allocation, for the owner). The slot is free again when the
    /// last clone is dropped.
    pub fn into_bytes(self) -> Bytes {
        Bytes::from_owner(HeldPayload(self))
    }

    fn borrowed(&self) -> ManuallyDrop<Envelope<'_, M>> {
        // SAFETY: this value owns one handle to `index`; the copy made here is never dropped.
        ManuallyDrop::new(unsafe { Envelope::from_index(&self.arena, self.index) })
    }
}

/// Another handle to the same slot: two reference counts, and no allocation.
impl<M: Record> Clone for Held<M> {
    fn clone(&self) -> Self {
        let index = Envelope::clone(&self.borrowed()).into_index();
        Self { arena: self.arena.clone(), index }
    }
}

impl<M: Record> Drop for Held<M> {
    fn drop(&mut self) {
        // SAFETY: this value owns one handle to `index` and ends here.
        drop(unsafe { Envelope::from_index(&self.arena, self.index) });
    }
}

/// A [`Unique`] without a lifetime: for code that fills a slot over several calls, as a socket gives the bytes.
#[derive(Debug)]
pub struct HeldUnique<M: Record>(Held<M>);

impl<M: Record> HeldUnique<M> {
    pub(super) fn new(held: Held<M>) -> Self {
        Self(held)
    }

    /// The whole slot. Bytes not yet written hold whatever the slot held before.
    pub fn payload_mut(&mut self) -> &mut [u8] {
        let slot: *mut [u8] = self.unique().payload_mut();
        // SAFETY: the slot stays mapped while this handle lives, it is the only one, and the reference borrows it.
        unsafe { &mut *slot }
    }

    /// Says how many of the slot's bytes are payload.
    ///
    /// # Panics
    /// When that is more than the slot holds.
    pub fn set_len(&mut self, payload_bytes: usize) {
        self.unique().set_len(payload_bytes);
    }

    /// The record beside the envelope, defaulted at the claim.
    pub fn record_mut(&mut self) -> &mut M {
        let record: *mut M = self.unique().record_mut();
        // SAFETY: as for the payload.
        unsafe { &mut *record }
    }

    /// Freezes the payload.
    pub fn share(self) -> Held<M> {
        self.0
    }

    fn unique(&mut self) -> ManuallyDrop<Unique<'_, M>> {
        // SAFETY: this value owns the only handle to the index; the copy made here is never dropped.
        ManuallyDrop::new(Unique::of(unsafe { Envelope::from_index(&self.0.arena, self.0.index) }))
    }
}

/// The owner behind a `Bytes` made from a slot.
#[derive(Debug)]
pub struct HeldPayload<M: Record>(Held<M>);

impl<M: Record> AsRef<[u8]> for HeldPayload<M> {
    fn as_ref(&self) -> &[u8] {
        self.0.payload()
    }
}
