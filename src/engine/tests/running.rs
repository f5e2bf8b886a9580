//! Topologies on threads of their own: delivery, endings, and the ways to wait.
#![cfg(not(loom))]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use common::{Pass, arena, numbered};
use levada_engine::{
    Arena, Batch, Drained, LinkConfig, Outputs, Policy, PushError, Regime, Running, Sink, Source, Stage,
    TopologyBuilder, Wait, Waker,
};

/// Far beyond what any of this takes: reaching it is a failure, never a measurement.
const LONG: Duration = Duration::from_secs(60);

/// Worker "near" runs the first and the last stage, "far" the one between.
fn there_and_back(arena: &Arc<Arena<u64>>, wait: Wait) -> (Source<u64>, Running, Sink<u64>) {
    let mut drawing = TopologyBuilder::new(arena.clone());
    let (near, far) = (drawing.worker("near"), drawing.blocking_worker("far"));
    let first = drawing.stage(near, "first", Pass);
    let middle = drawing.stage(far, "middle", Pass);
    let last = drawing.stage(near, "last", Pass);
    drawing.link_with(first, "out", middle, LinkConfig { capacity: 256, policy: Policy::Reliable });
    drawing.link(middle, "out", last);
    let source = drawing.source("in", first, 256);
    let config = LinkConfig { capacity: 256, policy: Policy::Reliable };
    let sink = drawing.sink("end", last, "out", config, Waker::from_callback(|| ()));
    drawing.default_wait(wait);
    (source, drawing.build().unwrap().run().unwrap(), sink)
}

fn push(source: &Source<u64>, number: u64) {
    let mut envelope = numbered(source.arena(), number);
    loop {
        match source.push(envelope) {
            Ok(()) => return,
            Err(PushError::Full(back)) => envelope = back,
            Err(PushError::Closed(_)) => panic!("the topology is open"),
        }
        std::thread::yield_now();
    }
}

fn wait_for(what: &str, happened: impl Fn() -> bool) {
    let start = Instant::now();
    while !happened() {
        assert!(start.elapsed() < LONG, "{what} did not come about");
        std::thread::yield_now();
    }
}

fn pop_until_finished(sink: &mut Sink<u64>) -> Vec<u64> {
    let mut popped = Vec::new();
    while !sink.is_finished() {
        match sink.pop() {
            Some(held) => popped.push(held.record()),
            None => std::thread::yield_now(),
        }
    }
    popped
}

#[test]
fn a_drain_delivers_everything_that_was_pushed() {
    const EACH: u64 = 5_000;
    for wait in [Wait::Balanced, Wait::Eco] {
        let arena = arena(4096);
        let (source, running, mut sink) = there_and_back(&arena, wait);
        let popped = std::thread::scope(|scope| {
            let pushers = [0, 1].map(|lane| {
                let source = &source;
                scope.spawn(move || (0..EACH).for_each(|number| push(source, lane * EACH + number)))
            });
            let sink = &mut sink;
            let popper = scope.spawn(move || pop_until_finished(sink));
            pushers.into_iter().for_each(|pusher| pusher.join().unwrap());
            // Much is still inside.
            assert_eq!(running.drain(LONG), Drained::Complete);
            popper.join().unwrap()
        });
        let lane = |lane| popped.iter().copied().filter(move |number| number / EACH == lane);
        assert!(lane(0).eq(0..EACH) && lane(1).eq(EACH..2 * EACH), "nothing lost, doubled or out of order");
        assert_eq!(arena.slots_in_use(), 0);
    }
}

#[test]
fn one_worker_may_spin() {
    let arena = arena(64);
    let mut drawing = TopologyBuilder::new(arena.clone());
    let worker = drawing.worker("w0");
    let pass = drawing.stage(worker, "pass", Pass);
    let source = drawing.source("in", pass, 256);
    let mut sink = drawing.sink("end", pass, "out", LinkConfig::default(), Waker::from_callback(|| ()));
    drawing.default_wait(Wait::Spin);
    let running = drawing.build().unwrap().run().unwrap();
    (0..10).for_each(|number| push(&source, number));
    assert_eq!(running.drain(Duration::MAX), Drained::Complete);
    assert!(pop_until_finished(&mut sink).into_iter().eq(0..10));
}

#[test]
fn a_stuck_sink_ends_the_drain_at_its_limit_and_leaks_nothing() {
    let arena = arena(1024);
    let (source, running, sink) = there_and_back(&arena, Wait::Balanced);
    (0..1000).for_each(|number| push(&source, number));
    assert_eq!(running.drain(Duration::from_millis(20)), Drained::TimedOut);
    assert!(matches!(source.push(numbered(&arena, 0)), Err(PushError::Closed(_))));
    // What lies in the sink is still there to be taken; the rest goes as the workers end.
    wait_for("the workers' release", || arena.slots_in_use() == 256);
    drop(sink);
    assert_eq!(arena.slots_in_use(), 0);
}

#[test]
fn dropping_a_running_topology_releases_everything() {
    let arena = arena(1024);
    let (source, running, sink) = there_and_back(&arena, Wait::Balanced);
    (0..1000).for_each(|number| push(&source, number));
    drop(running);
    assert!(matches!(source.push(numbered(&arena, 0)), Err(PushError::Closed(_))));
    drop(sink);
    wait_for("the workers' release", || arena.slots_in_use() == 0);
}

#[test]
fn a_sink_dropped_early_stops_nothing() {
    let arena = arena(1024);
    let (source, running, mut sink) = there_and_back(&arena, Wait::Balanced);
    push(&source, 0);
    let mut first = None;
    while first.is_none() {
        first = sink.pop();
        std::thread::yield_now();
    }
    drop(sink);
    (0..5000).for_each(|number| {
        wait_for("a free slot", || arena.slots_in_use() < 1000);
        push(&source, number);
    });
    drop(first);
    assert_eq!(running.drain(LONG), Drained::Complete);
    assert_eq!(arena.slots_in_use(), 0);
}

#[test]
fn closing_the_source_ends_the_topology_without_a_drain() {
    let arena = arena(64);
    let (source, running, mut sink) = there_and_back(&arena, Wait::Eco);
    (0..50).for_each(|number| push(&source, number));
    source.close();
    assert!(pop_until_finished(&mut sink).into_iter().eq(0..50));
    assert_eq!(running.drain(LONG), Drained::Complete);
    assert_eq!(arena.slots_in_use(), 0);
}

#[test]
fn pushes_racing_with_the_drain_are_delivered_or_refused() {
    for _ in 0..20 {
        let arena = arena(1024);
        let (source, running, mut sink) = there_and_back(&arena, Wait::Balanced);
        let (pushed, popped) = std::thread::scope(|scope| {
            let pusher = scope.spawn(|| {
                let mut pushed = 0;
                loop {
                    match arena.claim(8).map(|unique| source.push(unique.share())) {
                        Ok(Ok(())) => pushed += 1,
                        Ok(Err(PushError::Closed(_))) => return pushed,
                        Ok(Err(PushError::Full(_))) | Err(_) => std::thread::yield_now(),
                    }
                }
            });
            let sink = &mut sink;
            let popper = scope.spawn(move || pop_until_finished(sink).len());
            wait_for("some traffic", || running.stats().links[0].passed_total() > 100);
            assert_eq!(running.drain(LONG), Drained::Complete);
            (pusher.join().unwrap(), popper.join().unwrap())
        });
        assert_eq!(pushed, popped);
        assert_eq!(arena.slots_in_use(), 0);
    }
}

#[test]
fn threads_of_a_lossy_circle_drain() {
    let arena = arena(1024);
    let mut drawing = TopologyBuilder::new(arena.clone());
    let (near, far) = (drawing.worker("near"), drawing.worker("far"));
    let (a, b) = (drawing.stage(near, "a", Pass), drawing.stage(far, "b", Pass));
    let source = drawing.source("in", a, 256);
    drawing.link(a, "out", b);
    drawing.link_with(b, "out", a, LinkConfig { capacity: 256, policy: Policy::DropNewest });
    let running = drawing.build().unwrap().run().unwrap();
    (0..10).for_each(|number| push(&source, number));
    let stats = running.stats();
    wait_for("a few rounds", || stats.links.iter().all(|link| link.passed_total() > 9));
    // These go round for ever, unless "a" finds its way in empty for a moment and ends: the limit or that ends them.
    assert_ne!(running.drain(Duration::from_millis(20)), Drained::Failed);
    wait_for("the workers' release", || arena.slots_in_use() == 0);
}

/// Tells each time its chores are done.
struct Chores(Sender<()>);

impl Stage<u64> for Chores {
    fn ports(&self) -> &'static [&'static str] {
        &[]
    }

    fn process(&mut self, batch: &mut Batch<'_, u64>, _: &mut Outputs<'_, u64>) {
        batch.for_each(drop);
    }

    fn housekeeping(&mut self) {
        // The test may have heard enough.
        let _ = self.0.send(());
    }
}

#[test]
fn housekeeping_comes_round_on_an_idle_and_on_a_busy_worker() {
    for busy in [false, true] {
        let arena = arena(64);
        let (done, heard) = channel();
        let mut drawing = TopologyBuilder::new(arena.clone());
        let worker = drawing.worker("w0");
        let chores = drawing.stage(worker, "chores", Chores(done));
        let source = drawing.source("in", chores, 256);
        let running = drawing.build().unwrap().run().unwrap();
        let mut rounds = 0;
        while rounds < 2 {
            if busy && let Ok(unique) = arena.claim(1) {
                drop(source.push(unique.share()));
            }
            rounds += if busy { heard.try_iter().count() } else { heard.iter().take(1).count() };
        }
        let worker = &running.stats().workers[0];
        wait_for("its account", || worker.regime_ns(Regime::Housekeeping) > 0);
        assert_eq!(running.drain(LONG), Drained::Complete);
        assert_eq!(arena.slots_in_use(), 0);
    }
}

#[test]
fn an_empty_topology_ends_at_once() {
    let mut drawing = TopologyBuilder::new(arena(1));
    drawing.worker("w0");
    assert_eq!(drawing.build().unwrap().run().unwrap().drain(LONG), Drained::Complete);
}

/// Has one envelope to bring in, but only once it was asked whether it has.
struct Shy {
    asked: AtomicBool,
    sent: bool,
}

impl Stage<u64> for Shy {
    fn ports(&self) -> &'static [&'static str] {
        &["out"]
    }

    fn process(&mut self, _: &mut Batch<'_, u64>, _: &mut Outputs<'_, u64>) {}

    fn is_source(&self) -> bool {
        true
    }

    fn poll(&mut self, outputs: &mut Outputs<'_, u64>) {
        if self.asked.load(Relaxed) && !self.sent {
            self.sent = true;
            outputs.send(0, numbered(outputs.arena(), 7));
        }
    }

    fn is_ready(&self) -> bool {
        self.asked.store(true, Relaxed);
        !self.sent
    }
}

#[test]
fn a_source_stage_is_asked_once_more_before_its_worker_sleeps() {
    for wait in [Wait::Balanced, Wait::Eco] {
        let arena = arena(4);
        let mut drawing = TopologyBuilder::new(arena.clone());
        let worker = drawing.worker("w0");
        let shy = drawing.stage(worker, "shy", Shy { asked: AtomicBool::new(false), sent: false });
        let (told, tells) = channel();
        let waker = Waker::from_callback(move || _ = told.send(()));
        let mut sink = drawing.sink("end", shy, "out", LinkConfig::default(), waker);
        drawing.default_wait(wait);
        let running = drawing.build().unwrap().run().unwrap();
        tells.recv_timeout(LONG).unwrap();
        assert_eq!(sink.pop().map(|held| held.record()), Some(7));
        assert_eq!(running.drain(LONG), Drained::Complete);
    }
}
