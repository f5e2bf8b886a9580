//! Full links and missing consumers, turned by hand: what waits, what is dropped and counted, and that nothing leaks.
#![cfg(not(loom))]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "common/by_hand.rs"]
mod by_hand;
mod common;
#[path = "common/notes.rs"]
mod notes;

use by_hand::{config, pop_all, push_all};
use common::{Pass, arena, numbered};
use levada_engine::{Policy, PushError, TopologyBuilder};
use notes::{Notes, line};

#[test]
fn a_reliable_link_holds_everything_back_and_loses_nothing() {
    let arena = arena(2048);
    let (source, mut invoker, mut sink) = line(&arena, Policy::Reliable);
    let mut pushed = 0;
    // The sink holds 256, the stage some, the source 1 024: then the pusher is told.
    let refused = loop {
        match source.push(numbered(&arena, pushed)) {
            Ok(()) => pushed += 1,
            Err(PushError::Full(envelope)) if invoker.turn() => drop(envelope),
            Err(refused) => break refused,
        }
    };
    let PushError::Full(envelope) = refused else { panic!("the topology is open") };
    assert_eq!(*envelope.record(), pushed, "the envelope came back");
    drop(envelope);
    assert!(pushed > 256 + 1024);
    assert_eq!(arena.slots_in_use(), pushed);
    let stats = invoker.stats();
    let [into, end] = &stats.links[..] else { panic!("a source and a sink") };
    assert_eq!((end.passed_total(), end.dropped_total(), end.depth(), end.capacity), (256, 0, 256, 256));
    assert!(end.full_total() > 0);
    assert_eq!((into.passed_total(), into.depth()), (pushed, 1024));
    assert!(into.full_total() > 0);
    let mut popped = Vec::new();
    while !invoker.drain() {
        let some = pop_all(&mut sink);
        assert!(!some.is_empty(), "a drain that cannot go on left something to pop");
        popped.extend(some);
    }
    popped.extend(pop_all(&mut sink));
    assert!(popped.into_iter().eq(0..pushed));
    assert!(sink.is_finished());
    assert!(matches!(source.push(numbered(&arena, 0)), Err(PushError::Closed(_))));
    assert_eq!(arena.slots_in_use(), 0);
}

#[test]
fn a_drop_newest_link_counts_and_releases_what_it_drops() {
    let arena = arena(1024);
    let (source, mut invoker, mut sink) = line(&arena, Policy::DropNewest);
    push_all(&source, 0..1000);
    invoker.turn_until_idle();
    assert_eq!(arena.slots_in_use(), 256);
    let end = &invoker.stats().links[1];
    assert_eq!((end.passed_total(), end.dropped_total(), end.depth()), (256, 744, 256));
    assert!(pop_all(&mut sink).into_iter().eq(0..256), "the oldest stay");
    assert!(invoker.drain());
    assert_eq!(arena.slots_in_use(), 0);
}

#[test]
fn a_full_local_link_blocks_or_drops_like_any_other() {
    for policy in [Policy::Reliable, Policy::DropNewest] {
        let arena = arena(1024);
        let mut drawing = TopologyBuilder::new(arena.clone());
        let worker = drawing.worker("w0");
        let pass = drawing.stage(worker, "pass", Pass);
        let stuck = drawing.stage(worker, "stuck", Notes::new(4, usize::MAX, 0));
        let source = drawing.source("in", pass, 1024);
        drawing.link_with(pass, "out", stuck, config(policy));
        let mut invoker = drawing.build().unwrap().invoker();
        push_all(&source, 0..1000);
        invoker.turn_until_idle();
        let stats = invoker.stats();
        let (into, link) = (&stats.links[0], &stats.links[1]);
        assert_eq!((link.passed_total(), link.depth()), (260, 256), "4 are in the stage's hands");
        let dropped = if policy == Policy::DropNewest { 740 } else { 0 };
        assert_eq!((link.dropped_total(), arena.slots_in_use()), (dropped, 1000 - dropped));
        assert_eq!(into.depth() > 0, policy == Policy::Reliable);
        drop(invoker);
        assert_eq!(arena.slots_in_use(), 0);
    }
}

#[test]
fn a_dropped_sink_releases_and_counts() {
    let arena = arena(1024);
    let (source, mut invoker, mut sink) = line(&arena, Policy::Reliable);
    push_all(&source, 0..1000);
    invoker.turn_until_idle();
    assert_eq!(sink.pop().map(|held| held.record()), Some(0));
    drop(sink);
    assert!(invoker.drain(), "a link without a consumer holds nothing back");
    assert_eq!(arena.slots_in_use(), 0);
    let end = &invoker.stats().links[1];
    assert_eq!((end.passed_total(), end.dropped_total()), (256, 744));
}

#[test]
fn whatever_is_dropped_undrained_releases_its_slots() {
    for stage in 0..3 {
        let arena = arena(1024);
        let (source, mut invoker, sink) = line(&arena, Policy::Reliable);
        push_all(&source, 0..1000);
        if stage > 0 {
            invoker.turn_until_idle();
        }
        assert_eq!(arena.slots_in_use(), 1000);
        if stage == 2 {
            drop(sink);
            drop(invoker);
        } else {
            drop(invoker);
            assert!(matches!(source.push(numbered(&arena, 0)), Err(PushError::Closed(_))));
            assert_eq!(arena.slots_in_use(), if stage == 0 { 0 } else { 256 }, "the sink still has its own");
            drop(sink);
        }
        assert_eq!(arena.slots_in_use(), 0);
    }
}
