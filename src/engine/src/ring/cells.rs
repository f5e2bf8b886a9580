//! The memory of an index ring: plain `u32` cells, copied in and out as wide as the processor can.
//!
//! They are not atomics: the rings have no other unsafe code than this, and the calls of it. A store buffer holds about a hundred stores:
//! one store per index makes seven cache lines wait for each other where one store per 16 bytes lets all of them be
//! under way, and a ring between two cores is as fast as lines can be under way at once. Atomic cells took twice the
//! time per index at a batch of 8 (`benches/versus`, spsc_batch_8).

#[cfg(not(loom))]
use std::cell::UnsafeCell;

#[cfg(loom)]
use loom::cell::UnsafeCell;

/// A power of two of cells, addressed by positions that count on past the end and wrap around.
pub(super) struct Cells(Box<[UnsafeCell<u32>]>);

// SAFETY: `write` and `read` demand of their callers that no thread writes a cell while another touches it.
unsafe impl Sync for Cells {}

impl std::fmt::Debug for Cells {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Cells({})", self.0.len())
    }
}

impl Cells {
    /// `capacity` must be a power of two.
    pub fn new(capacity: usize) -> Self {
        Self((0..capacity).map(|_| UnsafeCell::new(0)).collect())
    }

    pub fn capacity(&self) -> usize {
        self.0.len()
    }

    fn place(&self, position: usize) -> usize {
        position & (self.0.len() - 1)
    }
}

#[cfg(not(loom))]
impl Cells {
    /// Writes `indices` from `position` on.
    ///
    /// # Safety
    /// No other thread touches these cells until a release store made after this call has been acquired.
    #[inline]
    pub unsafe fn write(&self, position: usize, indices: &[u32]) {
        let place = self.place(position);
        assert!(indices.len() <= self.capacity(), "a batch is no longer than the ring");
        let before = indices.len().min(self.capacity() - place);
        let base = UnsafeCell::raw_get(self.0.as_ptr());
        // SAFETY: `before` cells lie between the place and the end; by the contract nobody else touches them.
        unsafe { copy(indices.as_ptr(), base.add(place), before) };
        if before < indices.len() {
            let after = &indices[before..];
            // SAFETY: the rest starts at the first cell and is shorter than the ring.
            unsafe { copy(after.as_ptr(), base, after.len()) };
        }
    }

    /// Reads into `indices` from `position` on.
    ///
    /// # Safety
    /// These cells were written by calls before a release store that this thread has acquired, and no thread writes
    /// them until a release store made after this call has been acquired.
    #[inline]
    pub unsafe fn read(&self, position: usize, indices: &mut [u32]) {
        let place = self.place(position);
        assert!(indices.len() <= self.capacity(), "a batch is no longer than the ring");
        let before = indices.len().min(self.capacity() - place);
        let base = UnsafeCell::raw_get(self.0.as_ptr());
        // SAFETY: as in `write`.
        unsafe { copy(base.add(place), indices.as_mut_ptr(), before) };
        if before < indices.len() {
            let after = &mut indices[before..];
            // SAFETY: as in `write`.
            unsafe { copy(base, after.as_mut_ptr(), after.len()) };
        }
    }

    /// Writes one index.
    ///
    /// # Safety
    /// As for [`write`](Self::write).
    #[inline]
    pub unsafe fn write_one(&self, position: usize, index: u32) {
        // SAFETY: the contract covers this cell.
        unsafe { *self.0[self.place(position)].get() = index };
    }

    /// Reads one index.
    ///
    /// # Safety
    /// As for [`read`](Self::read).
    #[inline]
    pub unsafe fn read_one(&self, position: usize) -> u32 {
        // SAFETY: the contract covers this cell.
        unsafe { *self.0[self.place(position)].get() }
    }

    /// Tells the processor that the line at `position` will be read soon.
    #[inline]
    pub fn will_read(&self, position: usize) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a hint; it reads nothing the program can see and cannot fault. The place lies inside the cells.
        unsafe {
            std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(
                self.0.as_ptr().add(self.place(position)).cast(),
            );
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = position;
    }

    /// Tells the processor that the line at `position` will be written soon.
    #[inline]
    pub fn will_write(&self, position: usize) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a hint, as in `will_read`; processors that do not know it take it for no operation.
        unsafe {
            let line = self.0.as_ptr().add(self.place(position));
            std::arch::asm!("prefetchw [{}]", in(reg) line, options(nostack, preserves_flags, readonly));
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = position;
    }
}

/// Copies `count` indices. Short copies are made in place: a call to the C library costs more than they do.
///
/// # Safety
/// `count` indices may be read from `from` and written to `to`, and the two do not overlap.
#[cfg(not(loom))]
#[inline]
unsafe fn copy(from: *const u32, to: *mut u32, count: usize) {
    const WIDE: usize = 8;
    const CALL_MIN: usize = 32;
    if count >= CALL_MIN {
        // SAFETY: the caller's contract.
        unsafe { std::ptr::copy_nonoverlapping(from, to, count) };
        return;
    }
    let mut done = 0;
    while count - done >= WIDE {
        // SAFETY: `done + WIDE` is at most `count`.
        unsafe {
            to.add(done).cast::<[u32; WIDE]>().write_unaligned(from.add(done).cast::<[u32; WIDE]>().read_unaligned())
        };
        done += WIDE;
    }
    while done < count {
        // SAFETY: `done` is below `count`.
        unsafe { to.add(done).write(from.add(done).read()) };
        done += 1;
    }
}

/// Under loom every cell is watched by itself: an access that the ring did not order is reported.
#[cfg(loom)]
impl Cells {
    /// # Safety
    /// As in the real one.
    pub unsafe fn write(&self, position: usize, indices: &[u32]) {
        for (offset, index) in indices.iter().enumerate() {
            // SAFETY: the caller's contract, which loom checks.
            self.0[self.place(position.wrapping_add(offset))].with_mut(|cell| unsafe { *cell = *index });
        }
    }

    /// # Safety
    /// As in the real one.
    pub unsafe fn read(&self, position: usize, indices: &mut [u32]) {
        for (offset, index) in indices.iter_mut().enumerate() {
            // SAFETY: the caller's contract, which loom checks.
            *index = self.0[self.place(position.wrapping_add(offset))].with(|cell| unsafe { *cell });
        }
    }

    /// # Safety
    /// As in the real one.
    pub unsafe fn write_one(&self, position: usize, index: u32) {
        // SAFETY: the caller's contract, which loom checks.
        self.0[self.place(position)].with_mut(|cell| unsafe { *cell = index });
    }

    /// # Safety
    /// As in the real one.
    pub unsafe fn read_one(&self, position: usize) -> u32 {
        // SAFETY: the caller's contract, which loom checks.
        self.0[self.place(position)].with(|cell| unsafe { *cell })
    }

    /// No hint is needed in a model.
    pub fn will_read(&self, _position: usize) {}

    /// No hint is needed in a model.
    pub fn will_write(&self, _position: usize) {}
}
