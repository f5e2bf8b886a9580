//! The dense tables: a 64-byte header per envelope, and the user's record beside it.

use std::cell::UnsafeCell;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

use crate::arena::Record;
use crate::arena::class::Class;
use crate::sync::AtomicU32;

/// Slots that the header of another names beside itself while they are free.
#[cfg(not(loom))]
pub(super) const MEMBERS: usize = 6;
#[cfg(loom)]
pub(super) const MEMBERS: usize = 1;

/// What the engine knows of an envelope. One cache line, so that two workers on two envelopes never share one.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct Header {
    /// Handles to the envelope. While the slot is free, the one that it will be claimed with: so neither a claim nor the
    /// drop of an only handle has anything to write here.
    references: AtomicU32,
    /// Grows by one each time the slot is claimed or returned, hence odd while it is held; tells a stale handle from a
    /// live one, where that is checked.
    generation: AtomicU32,
    /// Payload bytes in use; written while the handle is unique.
    pub length: AtomicU32,
    /// While this slot is the first of a free bundle: the first slot of the bundle below.
    pub link: AtomicU32,
    /// The same: how many slots the bundle is, and the others of it.
    pub bundle: AtomicU32,
    pub members: [AtomicU32; MEMBERS],
    /// Position of the class in the arena.
    pub class: u32,
    /// What the slot holds.
    pub capacity: u32,
    /// What a slot of the next smaller class holds, for which this one would be too good; [`TOO_GOOD`] when there are so
    /// few slots in the class that no thread keeps one for itself.
    too_good_below: u32,
    /// Start of the slot, fixed for life.
    pub slot: *mut u8,
}

/// Handles to an envelope, far from where their count would come round.
const HANDLES_MAX: u32 = u32::MAX / 2;

/// Too good for any payload.
const TOO_GOOD: u32 = u32::MAX;

#[cfg(not(any(loom, shuttle)))]
const _: () = assert!(size_of::<Header>() == 64);

// SAFETY: `slot` is an address, not an access; the handles decide who may read or write behind it.
unsafe impl Send for Header {}
// SAFETY: as above; every other field is atomic or never changes.
unsafe impl Sync for Header {}

impl Header {
    /// Marks a claimed slot as held by one handle.
    #[inline]
    pub fn claim(&self) {
        debug_assert_eq!(self.references.load(Relaxed), 1, "a free slot counts one handle, that of its next holder");
        #[cfg(any(debug_assertions, feature = "paranoid"))]
        self.next_generation();
        self.length.store(0, Relaxed);
    }

    /// The slot's class is the smallest that holds `payload_bytes`, and threads may keep its slots.
    #[inline]
    pub fn is_made_for(&self, payload_bytes: usize) -> bool {
        payload_bytes <= self.capacity as usize && (self.too_good_below as usize) < payload_bytes.max(1)
    }

    /// Threads may keep its slot for themselves.
    #[inline]
    pub fn is_kept(&self) -> bool {
        self.too_good_below != TOO_GOOD
    }

    /// Adds handles; the caller holds one, which others may be cloning at the same time.
    pub fn retain(&self, more: u32) {
        let before = self.references.fetch_add(more, Relaxed);
        debug_assert!(before > 0, "only the holder of a handle may share it");
        if before >= HANDLES_MAX {
            self.references.fetch_sub(more, Relaxed);
            panic!("an envelope has too many handles");
        }
    }

    /// Adds handles; the caller holds one that nobody else can reach.
    pub fn retain_exclusively(&self, more: u32) {
        // The only handle, out of everybody's reach, needs no read-modify-write: nobody can add or drop one meanwhile.
        // Pairs with the release decrement in `drop_reference`, so that what earlier holders did lies before what
        // later ones do.
        if self.references.load(Acquire) == 1 {
            assert!(more < HANDLES_MAX, "an envelope has too many handles");
            self.references.store(1 + more, Relaxed);
        } else {
            self.retain(more);
        }
    }

    /// Drops one handle; true when it was the last.
    #[inline]
    pub fn drop_reference(&self) -> bool {
        // The sole holder needs no read-modify-write: nobody else can add a handle.
        // Pairs with the release decrement below: what other holders read or wrote lies before it.
        if self.references.load(Acquire) == 1 {
            return true;
        }
        // Release pairs with the acquire side of the last decrement, and with the acquire loads above and in
        // `is_unique`.
        let was_last = self.references.fetch_sub(1, AcqRel) == 1;
        if was_last {
            self.references.store(1, Relaxed);
        }
        was_last
    }

    /// The caller's handle is the only one.
    pub fn is_unique(&self) -> bool {
        // Pairs with the release decrement in `drop_reference`.
        self.references.load(Acquire) == 1
    }

    /// The slot goes back to the free list: handles of the old generation are stale. Counted where it is checked.
    #[inline]
    pub fn retire(&self) {
        #[cfg(any(debug_assertions, feature = "paranoid"))]
        self.next_generation();
    }

    #[cfg(any(debug_assertions, feature = "paranoid"))]
    fn next_generation(&self) {
        self.generation.store(self.generation.load(Relaxed).wrapping_add(1), Relaxed);
    }

    #[cfg(any(debug_assertions, feature = "paranoid"))]
    pub fn generation(&self) -> u32 {
        self.generation.load(Relaxed)
    }

    #[cfg(any(debug_assertions, feature = "paranoid"))]
    pub fn is_live(&self) -> bool {
        self.generation() % 2 == 1
    }
}

/// Headers and records of every envelope, by index.
#[derive(Debug)]
pub(super) struct Table<M> {
    headers: Box<[Header]>,
    records: Box<[RecordCell<M>]>,
}

/// A record; written only through a handle that is the only one.
#[derive(Debug)]
#[repr(transparent)]
struct RecordCell<M>(UnsafeCell<M>);

// SAFETY: the handles give `&M` to any number of threads (M is Sync) and `&mut M` to one (M is Send), never both at
// once.
unsafe impl<M: Record> Sync for RecordCell<M> {}

impl<M: Record> Table<M> {
    pub fn new(classes: &[Class], generation: u32) -> Self {
        let headers: Box<[Header]> = classes
            .iter()
            .enumerate()
            .flat_map(|(position, class)| {
                (class.first..class.first + class.slots).map(move |index| (position, class, index))
            })
            .map(|(position, class, index)| Header {
                references: AtomicU32::new(1),
                generation: AtomicU32::new(generation),
                length: AtomicU32::new(0),
                link: AtomicU32::new(0),
                bundle: AtomicU32::new(0),
                members: std::array::from_fn(|_| AtomicU32::new(0)),
                class: position as u32,
                capacity: class.payload_bytes as u32,
                too_good_below: match position.checked_sub(1) {
                    _ if !class.free().is_kept() => TOO_GOOD,
                    None => 0,
                    Some(smaller) => classes[smaller].payload_bytes as u32,
                },
                slot: class.slot(index),
            })
            .collect();
        let records = headers.iter().map(|_| RecordCell(UnsafeCell::new(M::default()))).collect();
        Self { headers, records }
    }

    #[inline]
    pub fn header(&self, index: u32) -> &Header {
        &self.headers[index as usize]
    }

    /// The header of an envelope, if there is one of that index.
    #[inline]
    pub fn find_header(&self, index: u32) -> Option<&Header> {
        self.headers.get(index as usize)
    }

    /// The header of an envelope, unchecked.
    ///
    /// # Safety
    /// The index is below the number of envelopes, as that of every handle is.
    #[inline]
    pub unsafe fn header_unchecked(&self, index: u32) -> &Header {
        debug_assert!((index as usize) < self.headers.len());
        // SAFETY: by the contract.
        unsafe { self.headers.get_unchecked(index as usize) }
    }

    /// Where the record of envelope `index` lies; the handles uphold the aliasing rules.
    ///
    /// # Safety
    /// As for [`header_unchecked`](Self::header_unchecked).
    #[inline]
    pub unsafe fn record_unchecked(&self, index: u32) -> *mut M {
        debug_assert!((index as usize) < self.records.len());
        // SAFETY: by the contract: there are as many records as headers.
        unsafe { self.records.get_unchecked(index as usize) }.0.get()
    }
}
