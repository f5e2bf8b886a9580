//! Rings, arena and seen set beside a plain model. The first byte says which of them, the second where its counters start, the
//! others are operations.
#![no_main]

#[path = "../../../src/engine/tests/support/operations/mod.rs"]
mod operations;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((which, ops)) = data.split_first() else { return };
    match which % 6 {
        0 => operations::spsc::run_vector(ops),
        1 => operations::spsc::run_index(ops),
        2 => operations::mpmc::run(ops),
        3 => operations::drop_oldest::run(ops),
        4 => operations::arena::run(ops),
        _ => operations::seen::run(ops),
    }
});
