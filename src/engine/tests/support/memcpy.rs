//! `memcpy` and `memmove` of the test program, replaced by ones that count: the check that the payload counters tell the
//! truth about copies, those of C code linked into the program included.
//!
//! A test that includes this module measures its whole process: keep it alone in its program. Copies made inside shared
//! libraries, and those the compiler turns into instructions, are not seen; no payload is copied in either way.
#![expect(
    clippy::unnecessary_safety_comment,
    reason = "an unsafe attribute needs its reason too, which clippy takes for one of the function"
)]

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Shorter copies are not counted: they are of headers and handles.
pub const CALL_BYTES_MIN: usize = 1 << 10;

static COPIED_BYTES: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// Without a destructor and constant, hence reachable from the first copy of a thread to its last.
    static COUNTED: Cell<bool> = const { Cell::new(true) };
    static COPIED_BYTES_OF_THREAD: Cell<u64> = const { Cell::new(0) };
}

/// Bytes moved by calls of at least [`CALL_BYTES_MIN`], on every thread that has not been left out.
pub fn copied_bytes() -> u64 {
    COPIED_BYTES.load(Relaxed)
}

/// Those of the calling thread.
pub fn copied_bytes_of_thread() -> u64 {
    COPIED_BYTES_OF_THREAD.get()
}

/// Whether the calling thread's copies count; those of a new thread do.
pub fn count_this_thread(counted: bool) {
    COUNTED.set(counted);
}

fn count(bytes: usize) {
    if bytes >= CALL_BYTES_MIN && COUNTED.get() {
        COPIED_BYTES.fetch_add(bytes as u64, Relaxed);
        COPIED_BYTES_OF_THREAD.set(COPIED_BYTES_OF_THREAD.get() + bytes as u64);
    }
}

/// C's `memcpy`, counted.
///
/// # Safety
/// As in C: `bytes` bytes may be read from `from` and written to `to`, and the two do not overlap.
// SAFETY: the name is the C library's, and so is the contract that this function keeps.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memcpy(to: *mut u8, from: *const u8, bytes: usize) -> *mut u8 {
    count(bytes);
    // SAFETY: the caller's contract.
    unsafe { copy_upwards(to, from, bytes) };
    to
}

/// C's `memmove`, counted.
///
/// # Safety
/// As in C: `bytes` bytes may be read from `from` and written to `to`.
// SAFETY: the name is the C library's, and so is the contract that this function keeps.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memmove(to: *mut u8, from: *const u8, bytes: usize) -> *mut u8 {
    count(bytes);
    // Upwards is wrong only if the copy would overwrite what it has not read yet.
    if to.addr().wrapping_sub(from.addr()) >= bytes {
        // SAFETY: the caller's contract; no byte of `from` is written before it is read.
        unsafe { copy_upwards(to, from, bytes) };
    } else {
        // SAFETY: as above.
        unsafe { copy_downwards(to, from, bytes) };
    }
    to
}

/// By hand, because a loop or `copy_nonoverlapping` would be compiled into a call of the function it stands in.
///
/// # Safety
/// `bytes` bytes may be read from `from` and written to `to`; `to` does not lie inside `from`.
#[cfg(target_arch = "x86_64")]
unsafe fn copy_upwards(to: *mut u8, from: *const u8, bytes: usize) {
    // SAFETY: the caller's contract; the direction flag is clear, as the ABI has it.
    unsafe {
        std::arch::asm!(
            "rep movsb",
            inout("rcx") bytes => _, inout("rdi") to => _, inout("rsi") from => _,
            options(nostack, preserves_flags)
        );
    }
}

/// # Safety
/// `bytes` bytes may be read from `from` and written to `to`; `from` does not lie inside `to`.
#[cfg(target_arch = "x86_64")]
unsafe fn copy_downwards(to: *mut u8, from: *const u8, bytes: usize) {
    let last = bytes.wrapping_sub(1);
    // SAFETY: the caller's contract; with no bytes the addresses are never used; the direction flag is cleared again.
    unsafe {
        std::arch::asm!(
            "std", "rep movsb", "cld",
            inout("rcx") bytes => _, inout("rdi") to.wrapping_add(last) => _, inout("rsi") from.wrapping_add(last) => _,
            options(nostack)
        );
    }
}

/// Volatile, because a plain loop would be compiled into a call of the function it stands in.
///
/// # Safety
/// `bytes` bytes may be read from `from` and written to `to`; `to` does not lie inside `from`.
#[cfg(not(target_arch = "x86_64"))]
unsafe fn copy_upwards(to: *mut u8, from: *const u8, bytes: usize) {
    let mut offset = 0;
    while offset < bytes {
        // SAFETY: the caller's contract.
        unsafe { to.add(offset).write_volatile(from.add(offset).read_volatile()) };
        offset += 1;
    }
}

/// # Safety
/// `bytes` bytes may be read from `from` and written to `to`; `from` does not lie inside `to`.
#[cfg(not(target_arch = "x86_64"))]
unsafe fn copy_downwards(to: *mut u8, from: *const u8, bytes: usize) {
    let mut offset = bytes;
    while offset > 0 {
        offset -= 1;
        // SAFETY: the caller's contract.
        unsafe { to.add(offset).write_volatile(from.add(offset).read_volatile()) };
    }
}
