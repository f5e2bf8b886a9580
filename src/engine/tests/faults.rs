//! Stages that panic, at random and on purpose: no slot is lost, and everybody is told.
#![cfg(not(loom))]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::panic::{panic_any, set_hook, take_hook};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Once};
use std::time::{Duration, Instant};

use common::{Pass, arena, numbered};
use levada_engine::{
    Arena, Batch, Drained, Held, Invoker, LinkConfig, OnPanic, Outputs, PushError, Sink, Source, Stage, Topology,
    TopologyBuilder, Waker,
};

/// Far beyond what any of this takes: reaching it is a failure, never a measurement.
const LONG: Duration = Duration::from_secs(60);

/// What the engine says to a stage that sends more than it may.
const TOO_MANY: &str = "more envelopes were sent than one per envelope taken";

/// The panics are meant: their messages would drown a real one.
fn silence() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let report = take_hook();
        set_hook(Box::new(move |info| {
            let payload = info.payload();
            let meant = match payload.downcast_ref::<&str>() {
                Some(text) => ["at random", "on purpose", "again", TOO_MANY].contains(text),
                None => payload.is::<Bomb>(),
            };
            if !meant {
                report(info);
            }
        }));
    });
}

/// Where a [`Faulty`] stage panics.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    Never,
    /// At random, anywhere.
    Random,
    /// When it has taken this number.
    Taken(u64),
    /// When it has passed this number on.
    Sent(u64),
    /// When it only sees this number.
    Peeked(u64),
    Finish,
    Housekeeping,
    /// In the stage's own answers, where the engine catches nothing per batch.
    Policy,
}

/// Passes everything on, but for its fault.
struct Faulty {
    fault: Fault,
    on_panic: OnPanic,
    random: u64,
    kept: Vec<Held<u64>>,
    /// The engine has run it: drawing it asks for its policy as well.
    ran: bool,
}

impl Faulty {
    fn new(fault: Fault, on_panic: OnPanic) -> Self {
        Self { fault, on_panic, random: 42, kept: Vec::new(), ran: false }
    }

    /// One time in `of`, when faults are random.
    fn chance(&mut self, of: u64) -> bool {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.fault == Fault::Random && self.random.is_multiple_of(of)
    }

    fn maybe(&mut self, of: u64) {
        if self.chance(of) {
            panic_any("at random");
        }
    }

    fn panic_if(&self, fault: Fault) {
        if self.fault == fault {
            panic_any("on purpose");
        }
    }
}

impl Stage<u64> for Faulty {
    fn ports(&self) -> &'static [&'static str] {
        &["out"]
    }

    fn on_panic(&self) -> OnPanic {
        if self.ran {
            self.panic_if(Fault::Policy);
        }
        self.on_panic
    }

    fn is_source(&self) -> bool {
        self.fault == Fault::Random
    }

    fn process(&mut self, batch: &mut Batch<'_, u64>, outputs: &mut Outputs<'_, u64>) {
        self.ran = true;
        self.panic_if(Fault::Policy);
        self.maybe(8);
        for view in batch.peek() {
            self.panic_if(Fault::Peeked(*view.record));
            self.maybe(64);
        }
        for envelope in batch.by_ref() {
            let number = *envelope.record();
            self.panic_if(Fault::Taken(number));
            let copy = envelope.clone();
            self.maybe(16);
            if self.chance(16) {
                self.kept.push(copy.hold());
            }
            outputs.send(0, envelope);
            self.panic_if(Fault::Sent(number));
            self.maybe(16);
            if self.chance(16) {
                return;
            }
        }
        self.kept.truncate(8);
    }

    fn poll(&mut self, outputs: &mut Outputs<'_, u64>) {
        if self.chance(4) {
            // More than there is room for, sooner or later: the stage's own mistake.
            let arena = outputs.arena();
            while let Ok(unique) = arena.claim(1) {
                outputs.send(0, unique.share());
            }
        }
        let _claimed = outputs.arena().claim(1);
        self.maybe(4);
    }

    fn housekeeping(&mut self) {
        self.panic_if(Fault::Housekeeping);
        self.maybe(2);
    }

    fn finish(&mut self, _: &mut Outputs<'_, u64>) {
        self.panic_if(Fault::Finish);
        self.maybe(2);
    }
}

/// source -> "faulty" -> two lanes of "pass" -> a sink each, on two workers.
fn draw(arena: &Arc<Arena<u64>>, faulty: Faulty) -> (Source<u64>, Topology<u64>, Vec<Sink<u64>>) {
    let mut drawing = TopologyBuilder::new(arena.clone());
    let (near, far) = (drawing.worker("near"), drawing.worker("far"));
    let faulty = drawing.stage(near, "faulty", faulty);
    let lanes = [(near, "pass:0"), (far, "pass:1")].map(|(worker, name)| {
        let pass = drawing.stage(worker, name, Pass);
        drawing.link(faulty, "out", pass);
        drawing.sink(&format!("end of {name}"), pass, "out", LinkConfig::default(), Waker::from_callback(|| ()))
    });
    let source = drawing.source("in", faulty, 256);
    (source, drawing.build().unwrap(), lanes.into())
}

type ByHand = (Arc<Arena<u64>>, Source<u64>, Invoker<u64>, Vec<Sink<u64>>);

/// The same, to be turned by hand, with ten numbers waiting.
fn by_hand(fault: Fault, on_panic: OnPanic) -> ByHand {
    silence();
    let arena = arena(512);
    let (source, topology, sinks) = draw(&arena, Faulty::new(fault, on_panic));
    (0..10).for_each(|number| source.push(numbered(&arena, number)).unwrap());
    (arena, source, topology.invoker(), sinks)
}

fn pop_all(sink: &mut Sink<u64>) -> Vec<u64> {
    std::iter::from_fn(|| sink.pop()).map(|held| held.record()).collect()
}

fn wait_for(what: &str, happened: impl Fn() -> bool) {
    let start = Instant::now();
    while !happened() {
        assert!(start.elapsed() < LONG, "{what} did not come about");
        std::thread::yield_now();
    }
}

#[test]
fn random_panics_lose_no_slot() {
    silence();
    let panics = if std::env::var_os("LEVADA_DEEP").is_some_and(|deep| deep == "1") { 1_000_000 } else { 100_000 };
    let arena = arena(512);
    let (source, topology, mut sinks) = draw(&arena, Faulty::new(Fault::Random, OnPanic::SkipMessage));
    let mut invoker = topology.invoker();
    let faulty = invoker.stats().stages.iter().position(|stage| stage.name == "faulty").unwrap();
    let stats = invoker.stats();
    let mut pushed = 0;
    while stats.stages[faulty].panics_total() < panics {
        for _ in 0..8 {
            let Ok(unique) = arena.claim(8) else { break };
            if source.push(unique.share()).is_ok() {
                pushed += 1;
            }
        }
        invoker.turn();
        if pushed % 64 == 0 {
            invoker.housekeep();
        }
        sinks.iter_mut().for_each(|sink| drop(pop_all(sink)));
    }
    while !invoker.drain() {
        sinks.iter_mut().for_each(|sink| drop(pop_all(sink)));
    }
    assert_eq!(stats.stages[faulty].envelopes_total(), pushed, "every envelope was taken, by the stage or for it");
    drop((invoker, sinks));
    assert_eq!(arena.slots_in_use(), 0);
    let all: Vec<_> = (0..512).map(|_| arena.claim(1).expect("every slot is back")).collect();
    drop(all);
}

#[test]
fn random_panics_on_threads_lose_no_slot() {
    silence();
    let arena = arena(2048);
    let (source, topology, mut sinks) = draw(&arena, Faulty::new(Fault::Random, OnPanic::SkipMessage));
    let running = topology.run().unwrap();
    let stats = running.stats();
    while stats.stages.iter().map(|stage| stage.panics_total()).sum::<u64>() < 2000 {
        if let Ok(unique) = arena.claim(8) {
            drop(source.push(unique.share()));
        }
        sinks.iter_mut().for_each(|sink| drop(pop_all(sink)));
    }
    drop(sinks);
    assert_eq!(running.drain(LONG), Drained::Complete);
    assert_eq!(arena.slots_in_use(), 0);
}

#[test]
fn the_rest_of_the_batch_goes_on() {
    for (fault, lost, panics) in [
        (Fault::Never, vec![], 0),
        (Fault::Taken(3), vec![3], 1),
        (Fault::Sent(3), vec![], 1),
        // What is only looked at is shown again, one more each time, until it is clear which it was.
        (Fault::Peeked(2), vec![2], 2),
        (Fault::Peeked(0), vec![0], 2),
        (Fault::Peeked(9), vec![9], 2),
    ] {
        let (arena, _source, mut invoker, mut sinks) = by_hand(fault, OnPanic::SkipMessage);
        invoker.turn_until_idle();
        let expected: Vec<u64> = (0..10).filter(|number| !lost.contains(number)).collect();
        sinks.iter_mut().for_each(|sink| assert_eq!(pop_all(sink), expected));
        assert_eq!(arena.slots_in_use(), 0);
        let stats = invoker.stats();
        assert_eq!((stats.stages[0].panics_total(), stats.stages[0].envelopes_total()), (panics, 10));
        assert!(invoker.drain() && !invoker.has_failed());
    }
}

#[test]
fn a_panic_stops_the_topology_where_the_stage_says_so() {
    for fault in [Fault::Taken(3), Fault::Peeked(5), Fault::Sent(9), Fault::Housekeeping, Fault::Finish] {
        let (arena, source, mut invoker, sinks) = by_hand(fault, OnPanic::StopTopology);
        invoker.housekeep();
        invoker.turn_until_idle();
        assert!(invoker.drain());
        assert!(invoker.has_failed());
        assert!(!invoker.turn());
        assert_eq!(invoker.stats().stages[0].panics_total(), 1);
        assert!(matches!(source.push(numbered(&arena, 0)), Err(PushError::Closed(_))));
        drop(sinks);
        assert_eq!(arena.slots_in_use(), 0);
    }
}

#[test]
fn panics_in_finish_and_housekeeping_are_counted_and_nothing_else() {
    for fault in [Fault::Finish, Fault::Housekeeping] {
        let (arena, _source, mut invoker, mut sinks) = by_hand(fault, OnPanic::SkipMessage);
        invoker.housekeep();
        assert!(invoker.drain());
        assert!(!invoker.has_failed());
        assert_eq!(invoker.stats().stages[0].panics_total(), 1);
        sinks.iter_mut().for_each(|sink| assert!(pop_all(sink).into_iter().eq(0..10)));
        assert_eq!(arena.slots_in_use(), 0);
    }
}

#[test]
fn threads_stop_together_and_say_that_they_failed() {
    for fault in [Fault::Taken(3), Fault::Housekeeping, Fault::Policy] {
        silence();
        let arena = arena(512);
        let (source, topology, sinks) = draw(&arena, Faulty::new(fault, OnPanic::StopTopology));
        (0..10).for_each(|number| source.push(numbered(&arena, number)).unwrap());
        let running = topology.run().unwrap();
        wait_for("the failure", || running.has_failed());
        assert_eq!(running.drain(LONG), Drained::Failed);
        assert!(matches!(source.push(numbered(&arena, 0)), Err(PushError::Closed(_))));
        drop(sinks);
        assert_eq!(arena.slots_in_use(), 0);
    }
}

#[test]
fn a_stage_that_panics_in_its_own_policy_stops_the_topology() {
    let (arena, _source, mut invoker, sinks) = by_hand(Fault::Policy, OnPanic::SkipMessage);
    invoker.turn_until_idle();
    assert!(invoker.has_failed());
    drop((invoker, sinks));
    assert_eq!(arena.slots_in_use(), 0);
}

/// Panics with something that panics again when it is dropped.
struct Bomb(Arc<AtomicU64>);

impl Drop for Bomb {
    fn drop(&mut self) {
        self.0.fetch_add(1, Relaxed);
        panic_any("again");
    }
}

struct Bomber(Arc<AtomicU64>);

impl Stage<u64> for Bomber {
    fn ports(&self) -> &'static [&'static str] {
        &[]
    }

    fn process(&mut self, batch: &mut Batch<'_, u64>, _: &mut Outputs<'_, u64>) {
        let _taken = batch.next();
        panic_any(Bomb(self.0.clone()));
    }
}

#[test]
fn a_panic_that_panics_again_is_skipped_like_any_other() {
    silence();
    let arena = arena(16);
    let dropped = Arc::new(AtomicU64::new(0));
    let mut drawing = TopologyBuilder::new(arena.clone());
    let worker = drawing.worker("w0");
    let bomber = drawing.stage(worker, "bomber", Bomber(dropped.clone()));
    let source = drawing.source("in", bomber, 256);
    (0..10).for_each(|number| source.push(numbered(&arena, number)).unwrap());
    let running = drawing.build().unwrap().run().unwrap();
    assert_eq!(running.drain(LONG), Drained::Complete);
    assert_eq!((dropped.load(Relaxed), arena.slots_in_use()), (10, 0));
}
