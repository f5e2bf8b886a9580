//! One anonymous mapping per size class, aligned for huge pages and kept until the arena goes.

use std::ptr::NonNull;

use crate::error::ArenaError;

const HUGE_PAGE_BYTES: usize = 2 << 20;

/// Zeroed memory that belongs to one class.
#[derive(Debug)]
pub(super) struct Mapping {
    /// What the system gave; `base` lies inside, on a huge-page boundary.
    mapped: NonNull<u8>,
    mapped_bytes: usize,
    base: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the mapping is plain memory owned by this value; who may touch which slot is decided by the handles.
unsafe impl Send for Mapping {}
// SAFETY: as above; `&Mapping` only computes addresses.
unsafe impl Sync for Mapping {}

impl Mapping {
    pub fn new(bytes: usize, huge_pages: bool, prefault: bool) -> Result<Self, ArenaError> {
        let mapped_bytes = bytes + HUGE_PAGE_BYTES;
        // SAFETY: an anonymous private mapping at an address of the kernel's choice touches no existing memory.
        let mapped = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                mapped_bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if mapped == libc::MAP_FAILED {
            return Err(ArenaError::Memory { bytes, source: std::io::Error::last_os_error() });
        }
        let mapped = NonNull::new(mapped.cast::<u8>()).expect("a successful mapping is not at address zero");
        let skip = mapped.align_offset(HUGE_PAGE_BYTES);
        // SAFETY: `skip` is below one huge page, and the mapping is one huge page longer than `bytes`.
        let base = unsafe { mapped.add(skip) };
        let mapping = Self { mapped, mapped_bytes, base, bytes };
        mapping.advise(huge_pages, prefault);
        Ok(mapping)
    }

    /// Both are wishes: a kernel that refuses them leaves memory that works, only slower.
    fn advise(&self, huge_pages: bool, prefault: bool) {
        #[cfg(target_os = "linux")]
        if huge_pages {
            // SAFETY: the range is inside the mapping.
            unsafe { libc::madvise(self.base.as_ptr().cast(), self.bytes, libc::MADV_HUGEPAGE) };
        }
        if prefault {
            for offset in (0..self.bytes).step_by(4096) {
                // SAFETY: the offset is inside the mapping, which nobody else knows yet.
                unsafe { self.base.add(offset).write_volatile(0) };
            }
        }
    }

    /// The address `offset` bytes in.
    pub fn at(&self, offset: usize) -> *mut u8 {
        assert!(offset < self.bytes, "slot offset {offset} outside the mapping of {} bytes", self.bytes);
        // SAFETY: the offset was checked to lie inside the mapping.
        unsafe { self.base.as_ptr().add(offset) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the range is what `mmap` returned, and no handle outlives the arena that owns this mapping.
        unsafe { libc::munmap(self.mapped.as_ptr().cast(), self.mapped_bytes) };
    }
}
