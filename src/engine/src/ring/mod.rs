//! Bounded lock-free queues of envelope indices, the only thing that crosses from one worker to another.
//!
//! Cells are atomics, so a ring needs no unsafe code: a torn or stale cell cannot exist, and what an index stands for
//! is published by the release store each ring names.

pub mod mpmc;
pub mod spsc;

/// Smallest capacity of a ring that joins two workers: below it, index rings slow down several times over because
/// producer and consumer keep meeting on the same cache line.
pub const CAPACITY_MIN: usize = 256;

/// Largest capacity of a ring, in indices: 4 MiB of cells.
pub const CAPACITY_MAX: usize = 1 << 20;
