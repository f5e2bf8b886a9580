//! Rings, arena and seen set against a plain model, over random operations, from the beginning of their counters and across the
//! ends of them.
#![cfg(not(any(loom, shuttle)))]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/operations/mod.rs"]
mod operations;

use operations::{arena, drop_oldest, mpmc, seen, spsc};
use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, any};
use proptest::test_runner::TestRunner;

/// Runs about 10⁵ operations, ten times as many with `LEVADA_DEEP=1`.
fn check(run: fn(&[u8])) {
    let cases = if std::env::var_os("LEVADA_DEEP").is_some_and(|deep| deep == "1") { 2_000 } else { 200 };
    let mut runner = TestRunner::new(ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() });
    let operations = vec(any::<u8>(), 1001..=1001);
    runner
        .run(&operations, |ops| {
            run(&ops);
            Ok(())
        })
        .unwrap();
}

#[test]
fn spsc_vector_behaves_like_a_queue() {
    check(spsc::run_vector);
}

#[test]
fn spsc_index_behaves_like_a_queue() {
    check(spsc::run_index);
}

#[test]
fn mpmc_behaves_like_a_queue() {
    check(mpmc::run);
}

#[test]
fn a_ring_that_drops_its_oldest_keeps_the_newest() {
    check(drop_oldest::run);
}

#[test]
fn arena_behaves_like_a_set_of_numbers() {
    check(arena::run);
}

#[test]
fn seen_set_behaves_like_a_map_that_forgets() {
    check(seen::run);
}
