//! Rings and arena against a plain model, over random operations.
#![cfg(not(loom))]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/operations.rs"]
mod operations;

use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, any};
use proptest::test_runner::TestRunner;

/// Runs about 10⁵ operations, ten times as many when `LEVADA_DEEP` is set.
fn check(run: fn(&[u8])) {
    let cases = if std::env::var_os("LEVADA_DEEP").is_some() { 2_000 } else { 200 };
    let mut runner = TestRunner::new(ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() });
    let operations = vec(any::<u8>(), 1000..=1000);
    runner
        .run(&operations, |ops| {
            run(&ops);
            Ok(())
        })
        .unwrap();
}

#[test]
fn spsc_vector_behaves_like_a_queue() {
    check(operations::run_spsc_vector);
}

#[test]
fn spsc_index_behaves_like_a_queue() {
    check(operations::run_spsc_index);
}

#[test]
fn mpmc_behaves_like_a_queue() {
    check(operations::run_mpmc);
}

#[test]
fn a_ring_that_drops_its_oldest_keeps_the_newest() {
    check(operations::run_drop_oldest);
}

#[test]
fn arena_behaves_like_a_set_of_numbers() {
    check(operations::run_arena);
}
