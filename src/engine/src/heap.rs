//! An allocator that counts: how production and the benchmarks prove that steady state allocates nothing per message.
//!
//! Counting allocations costs one addition on the thread's own cache line and is always on; following the bytes in use
//! costs shared additions and is on only between [`track_bytes`] calls.

use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed};

use crate::counters::Counter;

static ALLOCATIONS: Counter = Counter::new();
static TRACKING: AtomicBool = AtomicBool::new(false);
static BYTES: AtomicI64 = AtomicI64::new(0);
static BYTES_MAX: AtomicI64 = AtomicI64::new(0);
static REQUESTED: AtomicU64 = AtomicU64::new(0);

/// Wraps the program's allocator: `#[global_allocator] static HEAP: CountingAllocator<A> = CountingAllocator(A);`.
#[derive(Debug, Default)]
pub struct CountingAllocator<A>(pub A);

/// Allocations and reallocations of the whole process so far; 0 where the allocator is not installed.
pub fn allocations_total() -> u64 {
    ALLOCATIONS.value()
}

/// Those of the calling thread, as [`Counter::value_of_thread`] counts.
pub fn allocations_of_thread() -> u64 {
    ALLOCATIONS.value_of_thread()
}

/// Starts following the bytes in use from zero, or stops.
pub fn track_bytes(on: bool) {
    BYTES.store(0, Relaxed);
    BYTES_MAX.store(0, Relaxed);
    REQUESTED.store(0, Relaxed);
    TRACKING.store(on, Relaxed);
}

/// Bytes allocated less bytes freed since tracking began, and the most that was at any time. Negative when more was
/// freed than allocated.
pub fn tracked_bytes() -> (i64, i64) {
    (BYTES.load(Relaxed), BYTES_MAX.load(Relaxed))
}

/// Bytes asked for since tracking began, whether or not they were freed; a reallocation asks for its new size.
pub fn requested_bytes() -> u64 {
    REQUESTED.load(Relaxed)
}

#[inline]
fn count(bytes: i64) {
    if bytes >= 0 {
        ALLOCATIONS.add(1);
    }
    if TRACKING.load(Relaxed) {
        let now = BYTES.fetch_add(bytes, Relaxed) + bytes;
        BYTES_MAX.fetch_max(now, Relaxed);
        REQUESTED.fetch_add(bytes.max(0) as u64, Relaxed);
    }
}

// SAFETY: every call goes to the wrapped allocator unchanged; counting allocates nothing and touches no block.
unsafe impl<A: GlobalAlloc> GlobalAlloc for CountingAllocator<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        // SAFETY: the caller's contract is the wrapped allocator's.
        unsafe { self.0.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        // SAFETY: the caller's contract is the wrapped allocator's.
        unsafe { self.0.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(-(layout.size() as i64));
        // SAFETY: the caller's contract is the wrapped allocator's.
        unsafe { self.0.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(-(layout.size() as i64));
        count(size as i64);
        // SAFETY: the caller's contract is the wrapped allocator's.
        unsafe { self.0.realloc(block, layout, size) }
    }
}
