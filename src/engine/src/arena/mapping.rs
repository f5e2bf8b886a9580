//! One anonymous mapping per size class, aligned for huge pages and kept until the arena goes.

use std::ptr::NonNull;

use crate::error::ArenaError;

const HUGE_PAGE_BYTES: usize = 2 << 20;

/// What came of the wish for huge pages ([`ArenaConfig::huge_pages`](crate::ArenaConfig::huge_pages)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HugePages {
    /// Nobody wished for them.
    Unwished,
    /// The kernel has taken the advice: memory that is touched lies in huge pages, as far as there are free ones.
    Advised,
    /// The kernel has refused the advice, or never gives huge pages (`transparent_hugepage/enabled` says `never`): memory lies in
    /// ordinary pages, unless the system gives everybody others.
    Refused,
}

/// Zeroed memory that belongs to one class.
#[derive(Debug)]
pub(super) struct Mapping {
    /// What the system gave; `base` lies inside, on a huge-page boundary.
    mapped: NonNull<u8>,
    mapped_bytes: usize,
    base: NonNull<u8>,
    bytes: usize,
    huge_pages: HugePages,
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
        let mut mapping = Self { mapped, mapped_bytes, base, bytes, huge_pages: HugePages::Unwished };
        if huge_pages {
            mapping.huge_pages = mapping.advise();
        }
        if prefault {
            mapping.touch();
        }
        Ok(mapping)
    }

    /// A wish: a kernel that refuses it leaves memory that works, only slower.
    #[cfg(target_os = "linux")]
    fn advise(&self) -> HugePages {
        // SAFETY: the range is inside the mapping.
        let refused = unsafe { libc::madvise(self.base.as_ptr().cast(), self.bytes, libc::MADV_HUGEPAGE) } != 0;
        let setting = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled");
        let is_never = setting.is_ok_and(|setting| setting.contains("[never]"));
        if refused || is_never { HugePages::Refused } else { HugePages::Advised }
    }

    #[cfg(not(target_os = "linux"))]
    fn advise(&self) -> HugePages {
        HugePages::Refused
    }

    /// Makes every page resident.
    fn touch(&self) {
        for offset in (0..self.bytes).step_by(4096) {
            // SAFETY: the offset is inside the mapping, which nobody else knows yet.
            unsafe { self.base.add(offset).write_volatile(0) };
        }
    }

    pub fn huge_pages(&self) -> HugePages {
        self.huge_pages
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
