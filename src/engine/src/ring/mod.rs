//! Bounded lock-free queues of envelope indices, the only thing that crosses from one worker to another.
//!
//! What an index stands for is published by the release store each ring names, and by nothing else: no ring has a
//! stand-alone fence. The cells of the rings are atomics, except in [`spsc`]'s layout for throughput, whose cells,
//! and the calls of them, are the only unsafe code here.

mod cells;
mod ends;
mod index;
pub mod mpmc;
mod oldest;
pub mod spsc;
mod vector;

/// Smallest capacity of a ring that joins two workers: below it, index rings slow down several times over because
/// producer and consumer keep meeting on the same cache line.
#[cfg(not(any(loom, shuttle)))]
pub const CAPACITY_MIN: usize = 256;
/// What a model can go through.
#[cfg(any(loom, shuttle))]
pub const CAPACITY_MIN: usize = 2;

/// Largest capacity of a ring, in indices: 4 MiB of cells.
pub const CAPACITY_MAX: usize = 1 << 20;
