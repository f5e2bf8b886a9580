//! Models of the end of a topology: real workers, from their first turn to what they give back, against whoever drains or stops them.
//!
//! A model has no clock: a worker that sleeps over an order sleeps for ever, which loom reports. (The fences that prevent this are
//! shown to be needed in `loom_wait.rs`: a topology that hangs cannot be taken apart, so that here the program would be aborted.)
#![cfg(loom)]

use std::sync::Arc as StdArc;
use std::time::Duration;

use levada_engine::{
    Arena, ArenaConfig, Batch, BatchLimit, ClassConfig, Drained, LinkConfig, OnPanic, Outputs, Policy, Running, Sink,
    Stage, Topology, TopologyBuilder, Wait,
};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use loom::thread::{self, JoinHandle};

#[path = "common/proof.rs"]
mod proof;
#[path = "common/sources.rs"]
mod sources;

use proof::Proof;

fn model(body: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(body);
}

/// What the stages of a model share with it.
#[derive(Default)]
struct Seen {
    taken: AtomicUsize,
    finished: AtomicUsize,
    /// Written before an order, and read by who obeys it.
    before: UnsafeCell<u32>,
}

// SAFETY: loom watches the cell, and the others are atomics.
unsafe impl Sync for Seen {}

impl Seen {
    fn write(&self) {
        // SAFETY: loom fails the model if another thread touches the cell without being ordered before or after.
        self.before.with_mut(|cell| unsafe { *cell = 1 });
    }

    fn read(&self) {
        // SAFETY: as above.
        self.before.with(|cell| assert_eq!(unsafe { *cell }, 1));
    }
}

/// Takes what comes, and counts it.
struct Taker(Arc<Seen>);

impl Stage<u32> for Taker {
    fn ports(&self) -> &'static [&'static str] {
        &[]
    }

    fn batch_limit(&self) -> BatchLimit {
        BatchLimit { envelopes: 2, ..BatchLimit::default() }
    }

    fn process(&mut self, batch: &mut Batch<'_, u32>, _: &mut Outputs<'_, u32>) {
        self.0.taken.fetch_add(batch.count(), Relaxed);
    }

    fn finish(&mut self, _: &mut Outputs<'_, u32>) {
        self.0.finished.fetch_add(1, Relaxed);
    }
}

/// Brings nothing in; what was done before the drain is seen as it finishes.
struct Waits(Arc<Seen>);

impl Stage<u32> for Waits {
    fn ports(&self) -> &'static [&'static str] {
        &[]
    }

    fn is_source(&self) -> bool {
        true
    }

    fn process(&mut self, _: &mut Batch<'_, u32>, _: &mut Outputs<'_, u32>) {}

    fn finish(&mut self, _: &mut Outputs<'_, u32>) {
        self.0.read();
        self.0.finished.fetch_add(1, Relaxed);
    }
}

/// Waits for ever, with a link that ends when it does.
struct Leads;

impl Stage<u32> for Leads {
    fn ports(&self) -> &'static [&'static str] {
        &["out"]
    }

    fn batch_limit(&self) -> BatchLimit {
        BatchLimit { envelopes: 2, ..BatchLimit::default() }
    }

    fn is_source(&self) -> bool {
        true
    }

    fn process(&mut self, _: &mut Batch<'_, u32>, _: &mut Outputs<'_, u32>) {}
}

/// Panics in its first turn, and takes the topology with it.
struct Panics;

impl Stage<u32> for Panics {
    fn ports(&self) -> &'static [&'static str] {
        &[]
    }

    fn is_source(&self) -> bool {
        true
    }

    fn on_panic(&self) -> OnPanic {
        OnPanic::StopTopology
    }

    fn process(&mut self, _: &mut Batch<'_, u32>, _: &mut Outputs<'_, u32>) {}

    fn poll(&mut self, _: &mut Outputs<'_, u32>) {
        // Not a panic's own way, which prints.
        std::panic::resume_unwind(Box::new(()));
    }
}

fn arena() -> StdArc<Arena<u32>> {
    let classes = vec![ClassConfig { payload_bytes: 128, slots: 1 }];
    Arena::new(&ArenaConfig { classes, huge_pages: false, prefault: false }).unwrap()
}

/// Workers sleep as soon as they have nothing to do.
fn drawing() -> TopologyBuilder<u32> {
    let mut drawing = TopologyBuilder::new(arena());
    drawing.default_wait(Wait::Eco);
    drawing
}

/// Starts a topology on loom's threads.
fn start(topology: Topology<u32>) -> (Running, Vec<JoinHandle<()>>) {
    let (running, bodies) = topology.run_on_threads();
    (running, bodies.into_iter().map(thread::spawn).collect())
}

/// Waits for the workers, and asks how the drain ended. A panic that a stage was not meant to have fails the model here.
fn end(running: Running, threads: Vec<JoinHandle<()>>, panics: u64) -> Drained {
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(running.stats().stages.iter().map(|stage| stage.panics_total()).sum::<u64>(), panics);
    running.drain(Duration::ZERO)
}

/// One worker, and an envelope that waits for it.
fn one_taker(seen: &Arc<Seen>) -> (Topology<u32>, StdArc<Arena<u32>>) {
    let mut drawing = drawing();
    let worker = drawing.blocking_worker("worker");
    let taker = drawing.stage(worker, "taker", Taker(seen.clone()));
    let source = drawing.source("in", taker, 2);
    let arena = source.arena().clone();
    source.push(arena.claim(1).unwrap().share()).unwrap();
    (drawing.build().unwrap(), arena)
}

#[test]
fn a_drain_takes_all_that_was_pushed_through_and_ends_the_worker() {
    model(|| {
        let seen = Arc::new(Seen::default());
        let (topology, arena) = one_taker(&seen);
        let (running, threads) = start(topology);
        running.begin_drain();
        assert_eq!(end(running, threads, 0), Drained::Complete);
        assert_eq!((seen.taken.load(Relaxed), seen.finished.load(Relaxed)), (1, 1));
        assert_eq!(arena.slots_in_use(), 0);
    });
}

#[test]
fn a_stop_ends_a_worker_and_what_it_held_comes_back() {
    model(|| {
        let seen = Arc::new(Seen::default());
        let (topology, arena) = one_taker(&seen);
        let (running, threads) = start(topology);
        drop(running);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert!(seen.taken.load(Relaxed) <= 1);
        assert_eq!(arena.slots_in_use(), 0);
    });
}

#[test]
fn a_drain_comes_after_what_its_owner_did_before() {
    model(|| {
        let seen = Arc::new(Seen::default());
        let mut drawing = drawing();
        let worker = drawing.blocking_worker("worker");
        drawing.stage(worker, "waits", Waits(seen.clone()));
        let (running, threads) = start(drawing.build().unwrap());
        seen.write();
        running.begin_drain();
        assert_eq!(end(running, threads, 0), Drained::Complete);
        assert_eq!(seen.finished.load(Relaxed), 1);
    });
}

/// A worker that only waits, and the sink behind it.
fn one_lead() -> (TopologyBuilder<u32>, Sink<u32>) {
    let mut drawing = drawing();
    let worker = drawing.blocking_worker("leads");
    let leads = drawing.stage(worker, "leads", Leads);
    let config = LinkConfig { capacity: 2, policy: Policy::Reliable };
    let sink = drawing.sink("end", leads, "out", config, levada_engine::Waker::from_callback(|| ()));
    (drawing, sink)
}

#[test]
fn a_failure_ends_the_workers_that_sleep_and_is_known_to_who_sees_the_end() {
    model(|| {
        let (mut drawing, sink) = one_lead();
        let worker = drawing.blocking_worker("panics");
        drawing.stage(worker, "panics", Panics);
        let (running, threads) = start(drawing.build().unwrap());
        let is_known = !sink.is_finished() || running.has_failed();
        assert_eq!(end(running, threads, 1), Drained::Failed);
        assert!(is_known, "nothing else can have ended the sink");
        assert!(sink.is_finished());
    });
}

const MODELS: &[proof::Model] = &[
    ("a_drain_comes_after_what_its_owner_did_before", a_drain_comes_after_what_its_owner_did_before),
    (
        "a_failure_ends_the_workers_that_sleep_and_is_known_to_who_sees_the_end",
        a_failure_ends_the_workers_that_sleep_and_is_known_to_who_sees_the_end,
    ),
    (
        "a_drain_takes_all_that_was_pushed_through_and_ends_the_worker",
        a_drain_takes_all_that_was_pushed_through_and_ends_the_worker,
    ),
    ("a_stop_ends_a_worker_and_what_it_held_comes_back", a_stop_ends_a_worker_and_what_it_held_comes_back),
];

const PROOF: Proof =
    Proof { about: &["orders.rs"], elsewhere: &[], models: MODELS, spared: &[], fences_only_exclude: false };

#[test]
fn every_ordering_is_needed() {
    PROOF.check();
}

needed! {
    PROOF;
    without_the_release_of_a_drain:
        "orders.rs Orders::drain drain.store release", a_drain_comes_after_what_its_owner_did_before;
    without_the_acquire_of_a_drain:
        "orders.rs Orders::is_draining drain.load acquire", a_drain_comes_after_what_its_owner_did_before;
    without_the_release_of_a_stop:
        "orders.rs Orders::stop stop.store release",
        a_failure_ends_the_workers_that_sleep_and_is_known_to_who_sees_the_end;
    without_the_acquire_of_a_stop:
        "orders.rs Orders::is_stopping stop.load acquire",
        a_failure_ends_the_workers_that_sleep_and_is_known_to_who_sees_the_end;
}
