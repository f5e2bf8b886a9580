//! Links that drop their oldest: the producer never waits, the consumer gets what came last, and the counters tell the rest.
#![cfg(not(loom))]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "common/by_hand.rs"]
mod by_hand;
mod common;
#[path = "common/notes.rs"]
mod notes;

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use by_hand::{config, pop_all, push_all, silent};
use common::{Pass, arena, numbered};
use levada_engine::{Drained, Policy, TopologyBuilder, TopologyError};
use notes::{Notes, line};

#[test]
fn a_sink_keeps_the_newest() {
    let arena = arena(1024);
    let (source, mut invoker, mut sink) = line(&arena, Policy::DropOldest);
    push_all(&source, 0..1000);
    invoker.turn_until_idle();
    assert_eq!(arena.slots_in_use(), 256, "the dropped have come back");
    let stats = invoker.stats();
    let end = &stats.links[1];
    assert_eq!((end.passed_total(), end.dropped_total(), end.depth()), (1000, 744, 256));
    assert!(end.full_total() > 0 && end.fill() == 1.0);
    assert!(pop_all(&mut sink).into_iter().eq(744..1000), "the newest stay, in order");
    assert_eq!(end.fill(), 0.0);
    push_all(&source, [7, 8]);
    assert!(invoker.drain());
    assert_eq!((pop_all(&mut sink), sink.is_finished()), (vec![7, 8], true));
    assert_eq!((end.passed_total(), end.dropped_total(), arena.slots_in_use()), (1002, 744, 0));
}

#[test]
fn links_within_a_worker_and_between_two_keep_the_newest() {
    for workers in [1, 2] {
        let arena = arena(1024);
        let mut drawing = TopologyBuilder::new(arena.clone());
        let worker: Vec<_> = (0..workers).map(|number| drawing.worker(&format!("w{number}"))).collect();
        let pass = drawing.stage(worker[0], "pass", Pass);
        let notes = Notes::new(4, usize::MAX, 0);
        let seen = notes.batches.clone();
        let stuck = drawing.stage(worker[workers - 1], "stuck", notes);
        let source = drawing.source("in", pass, 1024);
        drawing.link_with(pass, "out", stuck, config(Policy::DropOldest));
        let mut invoker = drawing.build().unwrap().invoker();
        push_all(&source, 0..1000);
        invoker.turn_until_idle();
        assert!(seen.lock().unwrap().iter().all(|batch| *batch == 4));
        let stats = invoker.stats();
        let link = &stats.links[1];
        assert_eq!(
            (link.passed_total(), link.dropped_total(), link.depth()),
            (1000, 740, 256),
            "4 are in the stage's hands"
        );
        assert_eq!((arena.slots_in_use(), link.fill()), (260, 1.0));
        drop(invoker);
        assert_eq!(arena.slots_in_use(), 0);
    }
}

#[test]
fn a_circle_may_be_closed_by_a_link_that_drops_its_oldest() {
    for (policy, refused) in [(Policy::DropOldest, false), (Policy::Reliable, true)] {
        for workers in [1, 2] {
            let arena = arena(1024);
            let mut drawing = TopologyBuilder::new(arena.clone());
            let worker: Vec<_> = (0..workers).map(|number| drawing.worker(&format!("w{number}"))).collect();
            let (a, b) = (drawing.stage(worker[0], "a", Pass), drawing.stage(worker[workers - 1], "b", Pass));
            let source = drawing.source("in", a, 256);
            drawing.link(a, "out", b);
            drawing.link_with(b, "out", a, config(policy));
            let topology = match drawing.build() {
                Ok(topology) => topology,
                Err(error) => {
                    assert!(refused && matches!(error, TopologyError::ReliableCycle { .. }), "{error}");
                    assert!(error.to_string().contains("make one of them drop-newest or drop-oldest"), "{error}");
                    continue;
                }
            };
            assert!(!refused);
            push_all(&source, 0..10);
            let mut invoker = topology.invoker();
            (0..100).for_each(|_| assert!(invoker.turn(), "they go round for ever"));
            assert_eq!(arena.slots_in_use(), 10);
            drop(invoker);
            assert_eq!(arena.slots_in_use(), 0);
        }
    }
}

#[test]
fn an_abandoned_sink_drops_and_counts_everything() {
    let arena = arena(1024);
    let (source, mut invoker, sink) = line(&arena, Policy::DropOldest);
    push_all(&source, 0..500);
    invoker.turn_until_idle();
    drop(sink);
    assert_eq!(arena.slots_in_use(), 0, "the sink took what was in it");
    push_all(&source, 0..100);
    assert!(invoker.drain());
    let stats = invoker.stats();
    let end = &stats.links[1];
    assert_eq!((end.passed_total(), end.dropped_total()), (500, 244 + 100));
    assert_eq!(arena.slots_in_use(), 0);
}

#[test]
fn a_producer_that_goes_first_leaves_the_rest_to_the_consumer() {
    let arena = arena(1024);
    let (source, mut invoker, mut sink) = line(&arena, Policy::DropOldest);
    push_all(&source, 0..100);
    invoker.turn_until_idle();
    drop(invoker);
    assert!(!sink.is_finished());
    assert!(pop_all(&mut sink).into_iter().eq(0..100));
    assert!(sink.is_finished());
    assert_eq!(arena.slots_in_use(), 0);
}

#[test]
fn producer_and_consumer_race_for_the_oldest_and_lose_nothing_uncounted() {
    const ENVELOPES: u64 = 50_000;
    let arena = arena(4096);
    let mut drawing = TopologyBuilder::new(arena.clone());
    let worker = drawing.worker("w0");
    let pass = drawing.stage(worker, "pass", Pass);
    let source = drawing.source("in", pass, 1024);
    let mut sink = drawing.sink("end", pass, "out", config(Policy::DropOldest), silent());
    let running = drawing.build().unwrap().run().unwrap();
    let stats = running.stats();
    let pushed_all = AtomicBool::new(false);
    let popped = std::thread::scope(|scope| {
        let popper = scope.spawn(|| {
            let mut popped = Vec::new();
            while !sink.is_finished() {
                // Slow at first, so that the producer has something to drop; then as fast as can be.
                if let Some(held) = sink.pop() {
                    popped.push(held.record());
                }
                if popped.len() % 32 == 0 && !pushed_all.load(Relaxed) {
                    std::thread::yield_now();
                }
            }
            popped
        });
        let mut number = 0;
        while number < ENVELOPES {
            match source.push(numbered(&arena, number)) {
                Ok(()) => number += 1,
                Err(_) => std::thread::yield_now(),
            }
        }
        pushed_all.store(true, Relaxed);
        assert_eq!(running.drain(Duration::from_secs(60)), Drained::Complete);
        popper.join().unwrap()
    });
    assert!(popped.is_sorted_by(|a, b| a < b), "in order, none twice");
    let end = &stats.links[1];
    assert_eq!(popped.len() as u64 + end.dropped_total(), ENVELOPES, "each is delivered or counted");
    assert_eq!(arena.slots_in_use(), 0);
}
