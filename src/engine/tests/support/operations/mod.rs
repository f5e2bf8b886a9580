//! Operations on rings, arena and seen set beside a plain model, told by bytes: what the model test draws at random and the
//! fuzzer makes up. Under shuttle the same operations come from several threads at once.
//!
//! The first byte says where the counters start, and the others, in pairs, what is done and how much of it. Each `run`
//! interprets such bytes on one thread and fails by panicking.
#![cfg_attr(
    shuttle,
    expect(dead_code, reason = "what several threads do together is judged by other rules than what one does")
)]

pub mod arena;
pub mod drop_oldest;
pub mod mpmc;
pub mod seen;
pub mod spsc;

/// Two bytes per operation: what, and how much.
pub fn operations(ops: &[u8]) -> impl Iterator<Item = (u8, u8)> + '_ {
    ops.chunks_exact(2).map(|pair| (pair[0], pair[1]))
}

/// Where counters start, by the first byte, and the operations behind it: at zero, or up to 63 steps before one of `ends`, which
/// are numbers that a counter does not reach, or the one after the greatest that it has.
pub fn start<'o>(bytes: &'o [u8], ends: &[u64]) -> (u64, &'o [u8]) {
    let (first, ops) = bytes.split_first().unwrap_or((&0, &[]));
    let before = u64::from(*first >> 2);
    match (usize::from(*first) % 4).checked_sub(1) {
        None => (0, ops),
        Some(which) => (ends[which % ends.len()].wrapping_sub(before), ops),
    }
}
