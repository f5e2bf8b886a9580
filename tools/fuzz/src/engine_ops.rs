//! Rings and arena beside a plain model. The first byte says which of them, the others are operations.
#![no_main]
#![expect(clippy::unwrap_used, reason = "a target fails by panicking")]

#[path = "../../../src/engine/tests/support/operations.rs"]
mod operations;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((which, ops)) = data.split_first() else { return };
    match which % 5 {
        0 => operations::run_spsc_vector(ops),
        1 => operations::run_spsc_index(ops),
        2 => operations::run_mpmc(ops),
        3 => operations::run_drop_oldest(ops),
        _ => operations::run_arena(ops),
    }
});
