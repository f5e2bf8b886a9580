//! A running topology neither allocates nor copies payloads. One test alone in its process: it counts for the process.
#![cfg(not(loom))]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use common::{Pass, arena, numbered};
use levada_engine::{Arena, Drained, LinkConfig, PAYLOAD_COPIES, Sink, Source, Topology, TopologyBuilder, Waker};

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

/// The system's allocator, counted.
struct Counting;

// SAFETY: every call is passed on as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        // SAFETY: the caller's contract is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        // SAFETY: the caller's contract is the same.
        unsafe { System.realloc(old, layout, size) }
    }

    unsafe fn dealloc(&self, old: *mut u8, layout: Layout) {
        // SAFETY: the caller's contract is the same.
        unsafe { System.dealloc(old, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

const ENVELOPES: u64 = 100_000;
const WARM_UP: u64 = 2_000;

fn three_stages(arena: &Arc<Arena<u64>>, workers: usize) -> (Source<u64>, Topology<u64>, Sink<u64>) {
    let mut drawing = TopologyBuilder::new(arena.clone());
    let worker: Vec<_> = (0..workers).map(|worker| drawing.worker(&format!("w{worker}"))).collect();
    let stages: Vec<_> =
        (0..3).map(|stage| drawing.stage(worker[stage % workers], &format!("s{stage}"), Pass)).collect();
    drawing.link(stages[0], "out", stages[1]);
    drawing.link(stages[1], "out", stages[2]);
    let source = drawing.source("in", stages[0], 256);
    let sink = drawing.sink("end", stages[2], "out", LinkConfig::default(), Waker::from_callback(|| ()));
    (source, drawing.build().unwrap(), sink)
}

/// Passes `count` envelopes through, turning with `turn`; true when all came out in order.
fn pass(source: &Source<u64>, sink: &mut Sink<u64>, count: u64, mut turn: impl FnMut()) -> bool {
    let (mut pushed, mut popped, mut in_order) = (0, 0, true);
    while popped < count {
        while pushed < count && pushed - popped < 128 {
            in_order &= source.push(numbered(source.arena(), pushed)).is_ok();
            pushed += 1;
        }
        turn();
        while let Some(held) = sink.pop() {
            in_order &= held.record() == popped && held.payload() == popped.to_le_bytes();
            popped += 1;
        }
    }
    in_order
}

/// Allocations and payload copies during `work`.
fn counted(work: impl FnOnce() -> bool) -> (u64, u64) {
    let before = (ALLOCATIONS.load(Relaxed), PAYLOAD_COPIES.value());
    let right = work();
    let after = (ALLOCATIONS.load(Relaxed), PAYLOAD_COPIES.value());
    assert!(right, "every envelope comes through, in order");
    (after.0 - before.0, after.1 - before.1)
}

#[test]
fn nothing_is_allocated_or_copied_per_envelope() {
    let probe = counted(|| Vec::<u8>::with_capacity(std::hint::black_box(64)).capacity() > 0);
    assert!(probe.0 > 0, "the counter counts");

    let arena = arena(4096);
    for workers in [1, 3] {
        let (source, topology, mut sink) = three_stages(&arena, workers);
        let mut invoker = topology.invoker();
        let mut turn = || _ = invoker.turn();
        pass(&source, &mut sink, WARM_UP, &mut turn);
        assert_eq!(
            counted(|| pass(&source, &mut sink, ENVELOPES, &mut turn)),
            (0, 0),
            "{workers} workers, turned by hand"
        );
        assert!(invoker.drain());
    }

    for workers in [1, 3] {
        let (source, topology, mut sink) = three_stages(&arena, workers);
        let running = topology.run().unwrap();
        pass(&source, &mut sink, WARM_UP, std::thread::yield_now);
        let counts = counted(|| pass(&source, &mut sink, ENVELOPES, std::thread::yield_now));
        assert_eq!(counts, (0, 0), "{workers} workers, on threads");
        assert_eq!(running.drain(Duration::from_secs(60)), Drained::Complete);
    }
    assert_eq!(arena.slots_in_use(), 0);
}
