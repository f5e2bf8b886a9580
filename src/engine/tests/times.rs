//! Every worker's time is accounted for, to the nanosecond, at any moment and in every way to run.
#![cfg(not(loom))]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "common/by_hand.rs"]
mod by_hand;
mod common;

use std::time::{Duration, Instant};

use by_hand::{config, pop_all, push_all, silent};
use common::{Pass, arena, numbered};
use levada_engine::{Batch, Drained, Outputs, Policy, Regime, Stage, TimeSplit, TopologyBuilder, Wait, WorkerStats};

/// Far beyond what any of this takes: reaching it is a failure, never a measurement.
const LONG: Duration = Duration::from_secs(60);

/// A reading adds up, and is not before a former one.
fn read(worker: &WorkerStats, former: &TimeSplit) -> TimeSplit {
    let split = worker.time_split();
    assert_eq!(split.regimes_ns.iter().sum::<u64>(), split.total_ns);
    let whole: f64 = Regime::ALL.iter().map(|regime| split.fraction(*regime)).sum();
    assert!(split.total_ns == 0 || (whole - 1.0).abs() < 1e-9, "{whole}");
    assert!(split.total_ns >= former.total_ns);
    split
}

fn wait_for(what: &str, mut happened: impl FnMut() -> bool) {
    let start = Instant::now();
    while !happened() {
        assert!(start.elapsed() < LONG, "{what} did not come about");
        std::thread::yield_now();
    }
}

/// Waits until it is told to go on.
struct Chores;

impl Stage<u64> for Chores {
    fn ports(&self) -> &'static [&'static str] {
        &["out"]
    }

    fn process(&mut self, batch: &mut Batch<'_, u64>, outputs: &mut Outputs<'_, u64>) {
        batch.for_each(|envelope| outputs.send(0, envelope));
    }

    fn housekeeping(&mut self) {
        let start = Instant::now();
        while start.elapsed() < Duration::from_micros(50) {}
    }
}

#[test]
fn the_regimes_of_threads_add_up_at_any_moment_and_at_the_end() {
    for wait in [Wait::Balanced, Wait::Eco] {
        let arena = arena(2048);
        let mut drawing = TopologyBuilder::new(arena.clone());
        let worker = drawing.worker("w0");
        let stage = drawing.stage(worker, "chores", Chores);
        let source = drawing.source("in", stage, 1024);
        let mut sink = drawing.sink("end", stage, "out", config(Policy::Reliable), silent());
        drawing.default_wait(wait);
        let topology = drawing.build().unwrap();
        let stats = topology.stats();
        assert_eq!(stats.workers[0].time_split(), TimeSplit::default(), "not started");
        let before = Instant::now();
        let running = topology.run().unwrap();
        let mut split = TimeSplit::default();
        // The sink is not emptied: work, then back-pressure; emptied: idle. Chores come by themselves.
        let mut number = 0;
        for regime in [Regime::Work, Regime::Backpressure, Regime::Idle, Regime::Housekeeping] {
            wait_for(regime.label(), || {
                split = read(&stats.workers[0], &split);
                match regime {
                    Regime::Work | Regime::Backpressure => {
                        if source.has_room() {
                            number += u64::from(source.push(numbered(&arena, number)).is_ok());
                        }
                    }
                    Regime::Idle | Regime::Housekeeping => drop(pop_all(&mut sink)),
                }
                split.ns(regime) > 0
            });
        }
        let popper = std::thread::spawn(move || {
            while !sink.is_finished() {
                sink.pop();
            }
        });
        assert_eq!(running.drain(LONG), Drained::Complete);
        let outside_ns = before.elapsed().as_nanos() as u64;
        popper.join().unwrap();
        let last = read(&stats.workers[0], &split);
        let charged = Regime::ALL.map(|regime| stats.workers[0].regime_ns(regime));
        assert_eq!(charged, last.regimes_ns, "nothing is left uncharged");
        assert!(charged.iter().all(|ns| *ns > 0));
        assert!(last.total_ns <= outside_ns, "no moment counts twice");
        assert_eq!(stats.workers[0].time_split(), last, "the account is closed");
    }
}

#[test]
fn a_reading_while_the_worker_sleeps_counts_the_sleep() {
    let arena = arena(4);
    let mut drawing = TopologyBuilder::new(arena);
    let worker = drawing.worker("w0");
    let stage = drawing.stage(worker, "pass", Pass);
    let _source = drawing.source("in", stage, 256);
    drawing.discard(stage, "out");
    drawing.default_wait(Wait::Eco);
    let running = drawing.build().unwrap().run().unwrap();
    let stats = running.stats();
    let mut former = TimeSplit::default();
    wait_for("the start", || {
        former = read(&stats.workers[0], &former);
        former.total_ns > 0
    });
    wait_for("a longer sleep", || {
        let split = read(&stats.workers[0], &former);
        split.ns(Regime::Idle) > former.ns(Regime::Idle) + 1_000_000
    });
    assert_eq!(running.drain(LONG), Drained::Complete);
}

#[test]
fn the_callers_time_between_turns_is_idle_once_nothing_is_left() {
    let arena = arena(2048);
    let mut drawing = TopologyBuilder::new(arena);
    let worker = drawing.worker("w0");
    let pass = drawing.stage(worker, "pass", Pass);
    let source = drawing.source("in", pass, 1024);
    let mut sink = drawing.sink("end", pass, "out", config(Policy::Reliable), silent());
    let mut invoker = drawing.build().unwrap().invoker();
    let stats = invoker.stats();
    push_all(&source, 0..100);
    invoker.turn_until_idle();
    let worked = read(&stats.workers[0], &TimeSplit::default());
    assert!(worked.ns(Regime::Work) > 0);
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(2) {}
    let rested = read(&stats.workers[0], &worked);
    assert_eq!(rested.ns(Regime::Work), worked.ns(Regime::Work));
    assert!(rested.ns(Regime::Idle) >= 2_000_000);
    // More than the sink and the stage hold: it is held up from here on.
    push_all(&source, 0..900);
    invoker.turn_until_idle();
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(2) {}
    assert!(read(&stats.workers[0], &rested).ns(Regime::Backpressure) >= 2_000_000);
    invoker.housekeep();
    assert!(read(&stats.workers[0], &rested).ns(Regime::Housekeeping) > 0);
    while !invoker.drain() {
        pop_all(&mut sink);
    }
    drop(invoker);
    let charged = Regime::ALL.map(|regime| stats.workers[0].regime_ns(regime));
    assert_eq!(stats.workers[0].time_split().regimes_ns, charged);
}
