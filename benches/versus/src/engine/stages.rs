//! Four trivial stages in a row against the same work by direct calls: nanoseconds per envelope, from claim to release.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use levada_engine::{
    Arena, ArenaConfig, Batch, BatchLimit, ClassConfig, Drained, Envelope, Outputs, Placement, Stage, StageId,
    Topology, TopologyBuilder, Unique,
};

use crate::engine::Effort;
use crate::machine::{involuntary_switches, involuntary_switches_of_all};
use crate::pair::{Sample, bind};
use crate::row::{Contest, Row};

/// Envelopes in a sample: soon over, for a thread is seldom switched out meanwhile.
const ENVELOPES: usize = 1 << 14;

const BATCH: usize = 32;

const PAYLOAD_BYTES: usize = 8;

type Number = u64;

fn arena() -> Arc<Arena<Number>> {
    let classes = vec![ClassConfig { payload_bytes: 128, slots: 4_096 }];
    Arena::new(&ArenaConfig { classes, huge_pages: false, prefault: true }).expect("the layout is valid and small")
}

/// When the first envelope was claimed and the last released, each stamped where it happened, and the sum of what came
/// out.
#[derive(Debug, Default)]
struct Stamps {
    began: Option<Instant>,
    ended: Option<Instant>,
    sum: u64,
}

type Clock = Arc<Mutex<Stamps>>;

fn stamp(clock: &Clock, set: impl FnOnce(&mut Stamps)) {
    set(&mut clock.lock().unwrap_or_else(PoisonError::into_inner));
}

/// The work of each stage.
#[inline]
fn add_one(envelope: &mut Envelope<'_, Number>) {
    *envelope.record_mut().expect("the stages hand the only handle on") += 1;
}

/// The first stage: claims.
struct First {
    count: usize,
    left: usize,
    clock: Clock,
}

impl Stage<Number> for First {
    fn ports(&self) -> &'static [&'static str] {
        &["out"]
    }

    fn batch_limit(&self) -> BatchLimit {
        BatchLimit { envelopes: BATCH, ..BatchLimit::default() }
    }

    fn process(&mut self, _batch: &mut Batch<'_, Number>, _outputs: &mut Outputs<'_, Number>) {}

    fn is_source(&self) -> bool {
        true
    }

    fn is_ready(&self) -> bool {
        self.left > 0
    }

    fn poll(&mut self, outputs: &mut Outputs<'_, Number>) {
        if self.left == self.count {
            stamp(&self.clock, |stamps| stamps.began = Some(Instant::now()));
        }
        let mut slots = outputs.arena().claims(PAYLOAD_BYTES, BATCH.min(self.left).min(outputs.room(0)));
        let claimed = slots.by_ref().map(|slot| {
            let mut envelope = slot.share();
            add_one(&mut envelope);
            envelope
        });
        self.left -= outputs.send_all(0, claimed);
    }
}

/// A stage between: passes on.
struct Middle;

impl Stage<Number> for Middle {
    fn ports(&self) -> &'static [&'static str] {
        &["out"]
    }

    fn process(&mut self, batch: &mut Batch<'_, Number>, outputs: &mut Outputs<'_, Number>) {
        batch.pass(outputs, 0, add_one);
    }
}

/// The last stage: releases.
struct Last {
    left: usize,
    sum: u64,
    clock: Clock,
}

impl Stage<Number> for Last {
    fn ports(&self) -> &'static [&'static str] {
        &[]
    }

    fn process(&mut self, batch: &mut Batch<'_, Number>, _outputs: &mut Outputs<'_, Number>) {
        self.left -= batch.len();
        let mut sum = 0;
        batch.release_each(|envelope| {
            add_one(envelope);
            sum += *envelope.record();
        });
        self.sum += sum;
        if self.left == 0 {
            let sum = self.sum;
            stamp(&self.clock, |stamps| (stamps.ended, stamps.sum) = (Some(Instant::now()), sum));
        }
    }
}

/// The four stages; where each runs is the one thing that differs between the rows.
fn topology(arena: &Arc<Arena<Number>>, placement: Placement, count: usize, clock: &Clock) -> Topology<Number> {
    let mut drawing = TopologyBuilder::placed(arena.clone(), placement);
    let first = drawing.place(0, "a", First { count, left: count, clock: clock.clone() });
    let middle: [StageId; 2] = ["b", "c"].map(|name| drawing.place(0, name, Middle));
    let last = drawing.place(0, "d", Last { left: count, sum: 0, clock: clock.clone() });
    drawing.link(first, "out", middle[0]);
    drawing.link(middle[0], "out", middle[1]);
    drawing.link(middle[1], "out", last);
    drawing.build().expect("the drawing is valid")
}

fn taken(clock: &Clock, count: usize, switches: u64) -> Sample {
    let stamps = clock.lock().unwrap_or_else(PoisonError::into_inner);
    assert_eq!(stamps.sum, 4 * count as u64, "every envelope goes through every stage once");
    let (began, ended) = (stamps.began.expect("the first stage ran"), stamps.ended.expect("the last stage ran"));
    Sample::per(count, ended - began, switches)
}

/// On threads. How often they were switched out is read while they do nothing: it takes longer than 1 000 envelopes.
fn threads(arena: &Arc<Arena<Number>>, placement: Placement, count: usize) -> Sample {
    let clock = Clock::default();
    let topology = topology(arena, placement, count, &clock);
    let before = involuntary_switches_of_all();
    let running = topology.run().expect("threads start");
    while clock.lock().unwrap_or_else(PoisonError::into_inner).ended.is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
    let switches = involuntary_switches_of_all() - before;
    assert_eq!(running.drain(Duration::from_secs(10)), Drained::Complete);
    taken(&clock, count, switches)
}

/// Turned by hand, on a thread bound like a worker.
fn by_hand(arena: &Arc<Arena<Number>>, count: usize) -> Sample {
    std::thread::scope(|scope| {
        let turn = || {
            bind(0);
            let clock = Clock::default();
            let mut invoker = topology(arena, Placement::Invoker, count, &clock).invoker();
            let before = involuntary_switches();
            while invoker.turn() {}
            let switches = involuntary_switches() - before;
            assert!(invoker.drain());
            taken(&clock, count, switches)
        };
        scope.spawn(turn).join().expect("a contestant does not panic")
    })
}

/// No engine: four functions, each called for a whole batch.
fn direct(arena: &Arc<Arena<Number>>, count: usize) -> Sample {
    let run = || {
        bind(0);
        let (mut batch, mut sum, mut left) = (Vec::with_capacity(BATCH), 0, count);
        let (before, began) = (involuntary_switches(), Instant::now());
        while left > 0 {
            call_first(arena, &mut batch, BATCH.min(left));
            left -= batch.len();
            call_middle(&mut batch);
            call_middle(&mut batch);
            sum += call_last(&mut batch);
        }
        let elapsed = began.elapsed();
        assert_eq!(sum, 4 * count as u64);
        Sample::per(count, elapsed, involuntary_switches() - before)
    };
    std::thread::scope(|scope| scope.spawn(run).join().expect("a contestant does not panic"))
}

#[inline(never)]
fn call_first<'a>(arena: &'a Arena<Number>, batch: &mut Vec<Envelope<'a, Number>>, count: usize) {
    let mut slots = arena.claims(PAYLOAD_BYTES, count);
    batch.extend(slots.by_ref().map(Unique::share));
    batch.iter_mut().for_each(add_one);
}

#[inline(never)]
fn call_middle(batch: &mut [Envelope<'_, Number>]) {
    batch.iter_mut().for_each(add_one);
}

#[inline(never)]
fn call_last(batch: &mut Vec<Envelope<'_, Number>>) -> u64 {
    batch.iter_mut().for_each(add_one);
    batch.drain(..).map(|envelope| *envelope.record()).sum()
}

/// `times`: how many times the direct calls a run may take.
fn contest<'a>(
    measure: &'static str,
    times: f64,
    effort: Effort,
    arena: &'a Arc<Arena<Number>>,
    mut ours: impl FnMut(usize) -> Sample + 'a,
) -> Contest<'a> {
    let count = ENVELOPES / effort.less;
    Contest::new(measure, "ns/envelope", 1.0 / times)
        .with("levada", move || ours(count))
        .with("direct calls", move || direct(arena, count))
}

pub fn percore(measure: &'static str, effort: Effort) -> Row {
    let arena = arena();
    contest(measure, 1.6, effort, &arena, |count| threads(&arena, Placement::PerCore, count)).run(effort.rounds)
}

pub fn invoker(measure: &'static str, effort: Effort) -> Row {
    let arena = arena();
    contest(measure, 1.2, effort, &arena, |count| by_hand(&arena, count)).run(effort.rounds)
}

/// Four workers: where there are two cores they share them, and are switched out all the time.
pub fn dedicated(measure: &'static str, effort: Effort) -> Row {
    let arena = arena();
    contest(measure, 12.0, effort, &arena, |count| threads(&arena, Placement::Dedicated, count))
        .tolerate_switches()
        .run(effort.rounds)
}
