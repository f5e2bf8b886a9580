//! What a topology does with envelopes, turned by hand: every step is the test's own.
#![cfg(not(loom))]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "common/by_hand.rs"]
mod by_hand;
mod common;
#[path = "common/notes.rs"]
mod notes;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use by_hand::{config, pop_all, push_all, silent};
use common::{Pass, arena, numbered};
use levada_engine::{Batch, Held, Outputs, Policy, Stage, TopologyBuilder, Waker};
use notes::{Notes, line};

#[test]
fn stages_run_in_the_order_of_the_graph_however_drawn() {
    let arena = arena(8);
    let mut drawing = TopologyBuilder::new(arena.clone());
    let worker = drawing.worker("w0");
    let [c, b, a] = ["c", "b", "a"].map(|name| drawing.stage(worker, name, Pass));
    let source = drawing.source("in", a, 256);
    // A link that may drop orders the stages as well.
    drawing.link_with(b, "out", c, config(Policy::DropNewest));
    drawing.link(a, "out", b);
    let mut sink = drawing.sink("end", c, "out", config(Policy::Reliable), silent());
    let mut invoker = drawing.build().unwrap().invoker();
    let names = |stats: &levada_engine::TopologyStats| stats.stages.iter().map(|s| s.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&invoker.stats()), ["a", "b", "c"]);
    assert!(!invoker.turn(), "nothing to do yet");
    push_all(&source, [1, 2]);
    assert!(invoker.turn());
    assert_eq!(pop_all(&mut sink), [1, 2], "one turn goes all the way");
    assert_eq!(arena.slots_in_use(), 0);
}

#[test]
fn batches_keep_to_both_limits() {
    for (envelopes, payload_bytes, batches) in [
        (5, usize::MAX, &[5, 5, 2][..]),
        (32, usize::MAX, &[12]),
        (32, 20, &[3, 3, 3, 3]),
        (32, 24, &[3, 3, 3, 3]),
        (32, 25, &[4, 4, 4]),
        (0, usize::MAX, &[1; 12]),
        (usize::MAX, 1, &[1; 12]),
    ] {
        let arena = arena(16);
        let mut drawing = TopologyBuilder::new(arena.clone());
        let worker = drawing.worker("w0");
        let notes = Notes::new(envelopes, payload_bytes, usize::MAX);
        let seen = notes.batches.clone();
        let stage = drawing.stage(worker, "notes", notes);
        let source = drawing.source("in", stage, 2048);
        let mut invoker = drawing.build().unwrap().invoker();
        push_all(&source, 0..12);
        invoker.turn_until_idle();
        assert_eq!(*seen.lock().unwrap(), batches, "limits {envelopes} and {payload_bytes}");
        let stats = &invoker.stats().stages[0];
        assert_eq!((stats.envelopes_total(), stats.batches_total()), (12, batches.len() as u64));
    }
}

#[test]
fn leftovers_are_presented_again_and_topped_up() {
    let arena = arena(16);
    let mut drawing = TopologyBuilder::new(arena.clone());
    let worker = drawing.worker("w0");
    let notes = Notes::new(4, usize::MAX, 1);
    let (batches, taken) = (notes.batches.clone(), notes.taken.clone());
    let stage = drawing.stage(worker, "notes", notes);
    let source = drawing.source("in", stage, 256);
    let mut invoker = drawing.build().unwrap().invoker();
    push_all(&source, 0..6);
    invoker.turn_until_idle();
    assert_eq!(*batches.lock().unwrap(), [4, 4, 4, 3, 2, 1]);
    assert_eq!(*taken.lock().unwrap(), [0, 1, 2, 3, 4, 5]);
}

#[test]
fn a_stage_that_takes_nothing_ends_neither_turning_nor_draining_in_a_loop() {
    let arena = arena(16);
    let mut drawing = TopologyBuilder::new(arena.clone());
    let worker = drawing.worker("w0");
    let stage = drawing.stage(worker, "notes", Notes::new(4, usize::MAX, 0));
    let source = drawing.source("in", stage, 256);
    let mut invoker = drawing.build().unwrap().invoker();
    push_all(&source, 0..6);
    invoker.turn_until_idle();
    assert!(!invoker.drain());
    assert_eq!(arena.slots_in_use(), 6);
    drop(invoker);
    assert_eq!(arena.slots_in_use(), 0);
}

#[test]
fn no_inlet_starves_whatever_the_batch_limit() {
    for envelopes in [1, 2, 3] {
        let arena = arena(128);
        let mut drawing = TopologyBuilder::new(arena.clone());
        let worker = drawing.worker("w0");
        let notes = Notes::new(envelopes, usize::MAX, usize::MAX);
        let taken = notes.taken.clone();
        let stage = drawing.stage(worker, "notes", notes);
        let sources = [0, 1, 2].map(|lane| drawing.source(&format!("in:{lane}"), stage, 256));
        let mut invoker = drawing.build().unwrap().invoker();
        sources.iter().enumerate().for_each(|(lane, source)| push_all(source, (0..30).map(|_| lane as u64)));
        (0..12).for_each(|_| assert!(invoker.turn()));
        let taken = taken.lock().unwrap();
        for lane in 0..3 {
            assert_eq!(taken.iter().filter(|of| **of == lane).count(), 4 * envelopes, "lane {lane}");
        }
    }
}

#[test]
fn every_link_of_a_port_gets_every_envelope() {
    let arena = arena(64);
    let mut drawing = TopologyBuilder::new(arena.clone());
    let (near, far) = (drawing.worker("near"), drawing.worker("far"));
    let pass = drawing.stage(near, "pass", Pass);
    let notes = [(near, "x"), (far, "y")].map(|(worker, name)| {
        let notes = Notes::new(32, usize::MAX, usize::MAX);
        let taken = notes.taken.clone();
        let stage = drawing.stage(worker, name, notes);
        drawing.link(pass, "out", stage);
        taken
    });
    let mut sink = drawing.sink("end", pass, "out", config(Policy::Reliable), silent());
    let source = drawing.source("in", pass, 256);
    let mut invoker = drawing.build().unwrap().invoker();
    push_all(&source, 0..50);
    invoker.turn_until_idle();
    notes.iter().for_each(|taken| assert!(taken.lock().unwrap().iter().copied().eq(0..50)));
    assert_eq!(arena.slots_in_use(), 50, "the sink has not let go");
    assert!(pop_all(&mut sink).into_iter().eq(0..50));
    assert_eq!(arena.slots_in_use(), 0);
    let passed: Vec<u64> = invoker.stats().links.iter().map(|link| link.passed_total()).collect();
    assert_eq!(passed, [50; 4]);
}

#[test]
fn discarded_ports_release() {
    let arena = arena(8);
    let mut drawing = TopologyBuilder::new(arena.clone());
    let worker = drawing.worker("w0");
    let pass = drawing.stage(worker, "pass", Pass);
    drawing.discard(pass, "out");
    let source = drawing.source("in", pass, 256);
    let mut invoker = drawing.build().unwrap().invoker();
    push_all(&source, 0..8);
    invoker.turn_until_idle();
    assert_eq!((arena.slots_in_use(), invoker.stats().stages[0].envelopes_total()), (0, 8));
}

/// Keeps everything until the end.
struct Keep(Vec<Held<u64>>);

impl Stage<u64> for Keep {
    fn ports(&self) -> &'static [&'static str] {
        &["out"]
    }

    fn process(&mut self, batch: &mut Batch<'_, u64>, _: &mut Outputs<'_, u64>) {
        self.0.extend(batch.map(|envelope| envelope.hold()));
    }

    fn finish(&mut self, outputs: &mut Outputs<'_, u64>) {
        for held in self.0.drain(..) {
            outputs.send(0, held.attach(outputs.arena()).unwrap());
        }
    }
}

#[test]
fn what_finish_sends_goes_all_the_way() {
    let arena = arena(64);
    let mut drawing = TopologyBuilder::new(arena.clone());
    let (near, far) = (drawing.worker("near"), drawing.worker("far"));
    let keep = drawing.stage(near, "keep", Keep(Vec::new()));
    let pass = drawing.stage(far, "pass", Pass);
    let again = drawing.stage(near, "again", Keep(Vec::new()));
    drawing.link(keep, "out", pass);
    drawing.link(pass, "out", again);
    let source = drawing.source("in", keep, 256);
    let mut sink = drawing.sink("end", again, "out", config(Policy::Reliable), silent());
    let mut invoker = drawing.build().unwrap().invoker();
    push_all(&source, 0..40);
    invoker.turn_until_idle();
    assert_eq!(sink.pop().map(|held| held.record()), None);
    assert!(!sink.is_finished());
    assert!(invoker.drain());
    assert!(pop_all(&mut sink).into_iter().eq(0..40));
    assert!(sink.is_finished());
    assert_eq!(arena.slots_in_use(), 0);
}

/// Brings in numbers as far as there is room.
struct Count(u64);

impl Stage<u64> for Count {
    fn ports(&self) -> &'static [&'static str] {
        &["out"]
    }

    fn process(&mut self, batch: &mut Batch<'_, u64>, _: &mut Outputs<'_, u64>) {
        batch.for_each(drop);
    }

    fn is_source(&self) -> bool {
        true
    }

    fn poll(&mut self, outputs: &mut Outputs<'_, u64>) {
        for _ in 0..outputs.room(0) {
            let arena = outputs.arena();
            outputs.send(0, numbered(arena, self.0));
            self.0 += 1;
        }
    }
}

#[test]
fn a_source_stage_is_polled_while_there_is_room_and_until_the_drain() {
    let arena = arena(1024);
    let mut drawing = TopologyBuilder::new(arena.clone());
    let worker = drawing.worker("w0");
    let count = drawing.stage(worker, "count", Count(0));
    let mut sink = drawing.sink("end", count, "out", config(Policy::Reliable), silent());
    let mut invoker = drawing.build().unwrap().invoker();
    invoker.turn_until_idle();
    let held_back = arena.slots_in_use() - 256;
    assert!((1..=64).contains(&held_back), "{held_back} are staged, and no more is polled");
    let mut popped = pop_all(&mut sink);
    assert!(invoker.drain());
    popped.extend(pop_all(&mut sink));
    assert!(popped.into_iter().eq(0..256 + held_back));
    assert_eq!(arena.slots_in_use(), 0);
}

/// Sends what is above zero back, one smaller, and passes the rest on.
struct Countdown;

impl Stage<u64> for Countdown {
    fn ports(&self) -> &'static [&'static str] {
        &["again", "out"]
    }

    fn process(&mut self, batch: &mut Batch<'_, u64>, outputs: &mut Outputs<'_, u64>) {
        for mut envelope in batch {
            let record = envelope.record_mut().expect("the only handle");
            let port = usize::from(*record == 0);
            *record = record.saturating_sub(1);
            outputs.send(port, envelope);
        }
    }
}

#[test]
fn circles_of_drop_newest_links_turn_and_drain() {
    for workers in [1, 2] {
        let arena = arena(64);
        let mut drawing = TopologyBuilder::new(arena.clone());
        let worker: Vec<_> = (0..workers).map(|worker| drawing.worker(&format!("w{worker}"))).collect();
        let pass = drawing.stage(worker[0], "pass", Pass);
        let countdown = drawing.stage(worker[workers - 1], "countdown", Countdown);
        let source = drawing.source("in", pass, 256);
        drawing.link(pass, "out", countdown);
        drawing.link_with(countdown, "again", pass, config(Policy::DropNewest));
        let mut sink = drawing.sink("end", countdown, "out", config(Policy::Reliable), silent());
        let mut invoker = drawing.build().unwrap().invoker();
        push_all(&source, [3, 0, 5]);
        invoker.turn_until_idle();
        assert_eq!(pop_all(&mut sink), [0, 0, 0]);
        push_all(&source, [1, 1]);
        assert!(invoker.drain());
        drop((invoker, sink));
        assert_eq!(arena.slots_in_use(), 0);
    }
}

#[test]
fn the_sinks_waker_is_called_and_may_panic() {
    let arena = arena(64);
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    let waker = Waker::from_callback(move || {
        counted.fetch_add(1, Relaxed);
        panic!("a bad callback");
    });
    let mut drawing = TopologyBuilder::new(arena.clone());
    let worker = drawing.worker("w0");
    let pass = drawing.stage(worker, "pass", Pass);
    let source = drawing.source("in", pass, 256);
    let mut sink = drawing.sink("end", pass, "out", config(Policy::Reliable), waker);
    let mut invoker = drawing.build().unwrap().invoker();
    push_all(&source, 0..40);
    invoker.turn_until_idle();
    assert_eq!(calls.load(Relaxed), 2, "once per batch");
    assert!(pop_all(&mut sink).into_iter().eq(0..40));
    assert!(invoker.drain());
    assert_eq!(calls.load(Relaxed), 3, "the end is news as well");
    assert_eq!(arena.slots_in_use(), 0);
}

#[test]
fn envelopes_of_another_arena_are_refused() {
    let (ours, theirs) = (arena(8), arena(8));
    let (source, _invoker, _sink) = line(&ours, Policy::Reliable);
    let push = std::panic::AssertUnwindSafe(|| drop(source.push(numbered(&theirs, 1))));
    assert!(std::panic::catch_unwind(push).is_err());
    assert_eq!((ours.slots_in_use(), theirs.slots_in_use()), (0, 0));
}
