//! What a stage may ask to be done about its panics, and what becomes of the envelopes it held.
#![cfg(not(loom))]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "common/by_hand.rs"]
mod by_hand;
mod common;

use std::panic::panic_any;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Once};
use std::time::Duration;

use by_hand::{config, pop_all, push_all, silent};
use common::{Pass, arena, numbered};
use levada_engine::{
    Batch, Drained, Held, Invoker, LinkConfig, OnPanic, Outputs, Policy, PushError, Sink, Source, Stage,
    TopologyBuilder, TopologyError, Wait, Waker,
};

/// Far beyond what any of this takes: reaching it is a failure, never a measurement.
const LONG: Duration = Duration::from_secs(60);

/// The panics are meant: their messages would drown a real one.
fn silence() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let report = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if info.payload().downcast_ref::<&str>() != Some(&"on purpose") {
                report(info);
            }
        }));
    });
}

/// What the stages of a test have in common.
#[derive(Default)]
struct Marks {
    made: AtomicU64,
    dropped: AtomicU64,
}

/// Passes on, keeps a handle to everything, and panics when it has taken one of `bad`.
struct Fragile {
    bad: &'static [u64],
    kept: Vec<Held<u64>>,
    marks: Arc<Marks>,
    panics_when_dropped: bool,
}

impl Fragile {
    fn new(bad: &'static [u64], marks: &Arc<Marks>) -> Self {
        marks.made.fetch_add(1, Relaxed);
        Self { bad, kept: Vec::new(), marks: marks.clone(), panics_when_dropped: false }
    }
}

impl Drop for Fragile {
    fn drop(&mut self) {
        self.marks.dropped.fetch_add(1, Relaxed);
        if self.panics_when_dropped {
            panic_any("on purpose");
        }
    }
}

impl Stage<u64> for Fragile {
    fn ports(&self) -> &'static [&'static str] {
        &["out"]
    }

    fn on_panic(&self) -> OnPanic {
        OnPanic::RestartStage
    }

    fn process(&mut self, batch: &mut Batch<'_, u64>, outputs: &mut Outputs<'_, u64>) {
        for envelope in batch {
            self.kept.push(envelope.clone().hold());
            if self.bad.contains(envelope.record()) {
                panic_any("on purpose");
            }
            outputs.send(0, envelope);
        }
    }
}

type Line = (Source<u64>, Invoker<u64>, Sink<u64>);

fn line_with<S: Stage<u64> + 'static>(
    arena: &Arc<levada_engine::Arena<u64>>,
    factory: impl FnMut() -> S + Send + 'static,
) -> Line {
    silence();
    let mut drawing = TopologyBuilder::new(arena.clone());
    let worker = drawing.worker("w0");
    let stage = drawing.stage_with(worker, "fragile", factory);
    let source = drawing.source("in", stage, 1024);
    let sink = drawing.sink("end", stage, "out", config(Policy::Reliable), silent());
    (source, drawing.build().unwrap().invoker(), sink)
}

#[test]
fn a_restarted_stage_goes_on_with_the_rest_and_lets_go_of_what_it_held() {
    let arena = arena(64);
    let marks = Arc::new(Marks::default());
    let for_factory = marks.clone();
    let (source, mut invoker, mut sink) = line_with(&arena, move || Fragile::new(&[3, 7, 19], &for_factory));
    push_all(&source, 0..20);
    invoker.turn_until_idle();
    let stats = invoker.stats();
    let stage = &stats.stages[0];
    assert_eq!((stage.panics_total(), stage.restarts_total(), stage.envelopes_total()), (3, 3, 20));
    assert_eq!((marks.made.load(Relaxed), marks.dropped.load(Relaxed)), (4, 3));
    let expected: Vec<u64> = (0..20).filter(|number| ![3, 7, 19].contains(number)).collect();
    assert_eq!(pop_all(&mut sink), expected);
    assert_eq!(arena.slots_in_use(), 0, "the last panic made the stage drop all it kept");
    push_all(&source, [1, 2]);
    assert!(invoker.drain() && !invoker.has_failed());
    assert_eq!(pop_all(&mut sink), [1, 2]);
    drop((invoker, sink));
    assert_eq!(arena.slots_in_use(), 0);
}

#[test]
fn a_stage_that_panics_as_it_goes_is_replaced_all_the_same() {
    let arena = arena(64);
    let marks = Arc::new(Marks::default());
    let for_factory = marks.clone();
    let (source, mut invoker, mut sink) = line_with(&arena, move || {
        let first = for_factory.made.load(Relaxed) == 0;
        let mut fragile = Fragile::new(&[5], &for_factory);
        fragile.panics_when_dropped = first;
        fragile
    });
    push_all(&source, 0..10);
    invoker.turn_until_idle();
    let stats = invoker.stats();
    assert_eq!((stats.stages[0].panics_total(), stats.stages[0].restarts_total()), (2, 1));
    assert_eq!(pop_all(&mut sink), [0, 1, 2, 3, 4, 6, 7, 8, 9]);
    assert!(!invoker.has_failed());
}

#[test]
fn a_factory_that_panics_stops_the_topology_and_the_producer_is_told() {
    let arena = arena(64);
    let marks = Arc::new(Marks::default());
    let for_factory = marks.clone();
    let (source, mut invoker, sink) = line_with(&arena, move || {
        if for_factory.made.load(Relaxed) == 1 {
            panic_any("on purpose");
        }
        Fragile::new(&[5], &for_factory)
    });
    push_all(&source, 0..10);
    invoker.turn_until_idle();
    assert!(invoker.has_failed());
    let stats = invoker.stats();
    assert_eq!((stats.stages[0].panics_total(), stats.stages[0].restarts_total()), (2, 0));
    assert!(matches!(source.push(numbered(&arena, 0)), Err(PushError::Closed(_))));
    drop(sink);
    assert_eq!(arena.slots_in_use(), 0);
}

#[test]
fn restarts_on_threads_lose_only_the_culprits() {
    const ENVELOPES: u64 = 2_000;
    silence();
    let arena = arena(4096);
    let mut drawing = TopologyBuilder::new(arena.clone());
    let (near, far) = (drawing.worker("near"), drawing.worker("far"));
    let marks = Arc::new(Marks::default());
    let for_factory = marks.clone();
    let fragile = drawing.stage_with(near, "fragile", move || Fragile::new(&[100, 101, 1500], &for_factory));
    let pass = drawing.stage(far, "pass", Pass);
    drawing.link(fragile, "out", pass);
    let source = drawing.source("in", fragile, 2048);
    let sink_config = LinkConfig { capacity: 4096, ..LinkConfig::default() };
    let mut sink = drawing.sink("end", pass, "out", sink_config, Waker::from_callback(|| ()));
    push_all(&source, 0..ENVELOPES);
    let running = drawing.build().unwrap().run().unwrap();
    let stats = running.stats();
    assert_eq!(running.drain(LONG), Drained::Complete);
    let expected: Vec<u64> = (0..ENVELOPES).filter(|number| ![100, 101, 1500].contains(number)).collect();
    assert_eq!(pop_all(&mut sink), expected);
    assert_eq!((stats.stages[0].panics_total(), stats.stages[0].restarts_total()), (3, 3));
    assert_eq!((marks.made.load(Relaxed), marks.dropped.load(Relaxed)), (4, 4));
    assert_eq!(arena.slots_in_use(), 0);
}

#[test]
fn a_stage_to_be_restarted_needs_a_factory() {
    let marks = Arc::new(Marks::default());
    let mut drawing = TopologyBuilder::new(arena(4));
    let worker = drawing.worker("w0");
    let stage = drawing.stage(worker, "fragile", Fragile::new(&[], &marks));
    drawing.source("in", stage, 256);
    drawing.discard(stage, "out");
    let error = drawing.build().err().unwrap();
    assert_eq!(error, TopologyError::RestartWithoutFactory { stage: "fragile".to_owned() });
    assert!(error.to_string().contains("stage_with"));
}

/// Panics at the sight of `bad`, sometimes with others, and takes envelopes only all at once.
struct Squeamish(u64);

impl Stage<u64> for Squeamish {
    fn ports(&self) -> &'static [&'static str] {
        &["out"]
    }

    fn process(&mut self, batch: &mut Batch<'_, u64>, outputs: &mut Outputs<'_, u64>) {
        if batch.peek().any(|view| *view.record == self.0) {
            panic_any("on purpose");
        }
        batch.for_each(|envelope| outputs.send(0, envelope));
    }
}

#[test]
fn of_envelopes_only_looked_at_none_but_the_culprit_is_lost() {
    for bad in [0, 1, 13, 31, 32, 99] {
        let arena = arena(128);
        let (source, mut invoker, mut sink) = line_with(&arena, move || Squeamish(bad));
        push_all(&source, 0..100);
        invoker.turn_until_idle();
        let expected: Vec<u64> = (0..100).filter(|number| *number != bad).collect();
        assert_eq!(pop_all(&mut sink), expected, "culprit {bad}");
        let stats = invoker.stats();
        assert_eq!((stats.stages[0].panics_total(), stats.stages[0].envelopes_total()), (2, 100));
        assert_eq!(arena.slots_in_use(), 0);
        assert!(invoker.drain());
    }
}

/// A source that panics when it is asked whether it is ready, until it was asked `patience` times.
struct Moody {
    patience: u64,
    on_panic: OnPanic,
    asked: Arc<AtomicU64>,
    sent: bool,
}

impl Stage<u64> for Moody {
    fn ports(&self) -> &'static [&'static str] {
        &["out"]
    }

    fn on_panic(&self) -> OnPanic {
        self.on_panic
    }

    fn process(&mut self, _: &mut Batch<'_, u64>, _: &mut Outputs<'_, u64>) {}

    fn is_source(&self) -> bool {
        true
    }

    fn poll(&mut self, outputs: &mut Outputs<'_, u64>) {
        if self.asked.load(Relaxed) >= self.patience && !self.sent {
            self.sent = true;
            outputs.send(0, numbered(outputs.arena(), 7));
        }
    }

    fn is_ready(&self) -> bool {
        if self.asked.fetch_add(1, Relaxed) < self.patience {
            panic_any("on purpose");
        }
        !self.sent
    }
}

#[test]
fn a_panic_in_is_ready_is_counted_and_the_worker_lives() {
    silence();
    for (on_panic, drained) in [(OnPanic::SkipMessage, Drained::Complete), (OnPanic::StopTopology, Drained::Failed)] {
        let arena = arena(4);
        let mut drawing = TopologyBuilder::new(arena.clone());
        let worker = drawing.worker("w0");
        let moody = Moody { patience: 2, on_panic, asked: Arc::default(), sent: false };
        let stage = drawing.stage(worker, "moody", moody);
        let (told, tells) = std::sync::mpsc::channel();
        let waker = Waker::from_callback(move || _ = told.send(()));
        let mut sink = drawing.sink("end", stage, "out", LinkConfig::default(), waker);
        drawing.default_wait(Wait::Eco);
        let running = drawing.build().unwrap().run().unwrap();
        let stats = running.stats();
        // The envelope, or the end.
        tells.recv_timeout(LONG).unwrap();
        let expected = (drained == Drained::Complete).then_some(7);
        assert_eq!(sink.pop().map(|held| held.record()), expected);
        assert_eq!(running.drain(LONG), drained);
        let panics = if drained == Drained::Complete { 2 } else { 1 };
        assert_eq!(stats.stages[0].panics_total(), panics);
        assert_eq!(arena.slots_in_use(), 0);
    }
}

/// Keeps everything until the end.
struct Hoard(Vec<Held<u64>>);

impl Stage<u64> for Hoard {
    fn ports(&self) -> &'static [&'static str] {
        &["out"]
    }

    fn process(&mut self, batch: &mut Batch<'_, u64>, _: &mut Outputs<'_, u64>) {
        self.0.extend(batch.map(|envelope| envelope.hold()));
    }

    fn finish(&mut self, outputs: &mut Outputs<'_, u64>) {
        assert_eq!(outputs.room(0), usize::MAX);
        for held in self.0.drain(..) {
            outputs.send(0, held.attach(outputs.arena()).unwrap());
        }
    }
}

#[test]
fn what_a_stage_holds_at_the_end_goes_out_however_much_it_is() {
    const ENVELOPES: u64 = 3_000;
    for (policy, delivered) in [
        (Policy::Reliable, 0..ENVELOPES),
        (Policy::DropNewest, 0..256),
        (Policy::DropOldest, ENVELOPES - 256..ENVELOPES),
    ] {
        let arena = arena(4096);
        let mut drawing = TopologyBuilder::new(arena.clone());
        let worker = drawing.worker("w0");
        let hoard = drawing.stage(worker, "hoard", Hoard(Vec::new()));
        let source = drawing.source("in", hoard, 4096);
        let mut sink = drawing.sink("end", hoard, "out", config(policy), silent());
        let mut invoker = drawing.build().unwrap().invoker();
        push_all(&source, 0..ENVELOPES);
        invoker.turn_until_idle();
        assert_eq!(arena.slots_in_use(), ENVELOPES);
        let mut popped = Vec::new();
        while !invoker.drain() {
            popped.extend(pop_all(&mut sink));
        }
        popped.extend(pop_all(&mut sink));
        let dropped = ENVELOPES - (delivered.end - delivered.start);
        assert!(popped.into_iter().eq(delivered), "{policy:?}");
        assert_eq!((invoker.stats().links[1].dropped_total(), arena.slots_in_use()), (dropped, 0));
        assert!(sink.is_finished() && !invoker.has_failed());
    }
}
