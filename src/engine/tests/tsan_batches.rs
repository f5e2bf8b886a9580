//! Slots handled by the dozen, between two threads and between four, for ThreadSanitizer; without it, a quick check like any other.
//!
//! A plain binary, as `tsan_engine.rs` is, and for its reasons.
#![cfg_attr(not(any(loom, shuttle)), expect(clippy::print_stdout, reason = "its one line is its result"))]

#[cfg(not(any(loom, shuttle)))]
#[path = "support/batches.rs"]
mod batches;

/// Models have no threads of this kind.
#[cfg(any(loom, shuttle))]
fn main() {}

#[cfg(not(any(loom, shuttle)))]
fn main() {
    use std::time::Duration;

    use levada_engine::Drained;

    const TOTAL: u64 = 20_000;
    const CAPACITY: usize = 256;

    let mut passed = 0;
    // So few that threads keep none and claims find the arena full, so few that they take each other's, and enough.
    for (workers, slots) in [2, 4].into_iter().flat_map(|workers| [8, 64, 2048].map(|slots| (workers, slots))) {
        let (drawing, through) = batches::draw(workers, slots, TOTAL, CAPACITY);
        let running = drawing.build().expect("a sound drawing").run().expect("threads");
        while !through.is_complete() {
            std::thread::yield_now();
        }
        assert_eq!(running.drain(Duration::from_secs(60)), Drained::Complete);
        through.check();
        passed += 1;
    }
    println!("tsan_batches: {passed} passed, 0 failed");
}
