//! Four trivial stages in a row against the same work by direct calls: nanoseconds per envelope, from claim to release.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use levada_engine::{
    Arena, ArenaConfig, Batch, BatchLimit, ClassConfig, Drained, Envelope, Outputs, Stage, StageId, Topology,
    TopologyBuilder, Unique, Wait,
};

use crate::engine::Effort;
use crate::machine::involuntary_switches;
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
    switches: u64,
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
    left: usize,
    clock: Clock,
    switches: Option<u64>,
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
        if self.left > 0 && self.switches.is_none() {
            self.switches = Some(involuntary_switches());
            stamp(&self.clock, |stamps| stamps.began = Some(Instant::now()));
        }
        let mut slots = outputs.arena().claims(PAYLOAD_BYTES, BATCH.min(self.left).min(outputs.room(0)));
        let claimed = slots.by_ref().map(|slot| {
            let mut envelope = slot.share();
            add_one(&mut envelope);
            envelope
        });
        self.left -= outputs.send_all(0, claimed);
        if self.left == 0
            && let Some(before) = self.switches.take()
        {
            stamp(&self.clock, |stamps| stamps.switches += involuntary_switches() - before);
        }
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

/// The four stages on as many workers as asked for, the first ones on the first; the one line that differs between the
/// rows.
fn topology(arena: &Arc<Arena<Number>>, workers: usize, count: usize, clock: &Clock) -> Topology<Number> {
    let mut drawing = TopologyBuilder::new(arena.clone());
    let worker: Vec<_> = (0..workers).map(|number| drawing.worker(&format!("w{number}"))).collect();
    let on = |stage: usize| worker[stage * workers / 4];
    let first = drawing.stage(on(0), "a", First { left: count, clock: clock.clone(), switches: None });
    let middle: [StageId; 2] = [(1, "b"), (2, "c")].map(|(stage, name)| drawing.stage(on(stage), name, Middle));
    let last = drawing.stage(on(3), "d", Last { left: count, sum: 0, clock: clock.clone() });
    drawing.link(first, "out", middle[0]);
    drawing.link(middle[0], "out", middle[1]);
    drawing.link(middle[1], "out", last);
    drawing.build().expect("the drawing is valid")
}

fn taken(clock: &Clock, count: usize) -> Sample {
    let stamps = clock.lock().unwrap_or_else(PoisonError::into_inner);
    assert_eq!(stamps.sum, 4 * count as u64, "every envelope goes through every stage once");
    let (began, ended) = (stamps.began.expect("the first stage ran"), stamps.ended.expect("the last stage ran"));
    Sample::per(count, ended - began, stamps.switches)
}

/// On threads.
fn threads(arena: &Arc<Arena<Number>>, workers: usize, count: usize) -> Sample {
    let clock = Clock::default();
    let running = topology(arena, workers, count, &clock).run(Wait::Balanced).expect("threads start");
    while clock.lock().unwrap_or_else(PoisonError::into_inner).ended.is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(running.drain(Duration::from_secs(10)), Drained::Complete);
    taken(&clock, count)
}

/// Turned by hand, on a thread bound like a worker.
fn by_hand(arena: &Arc<Arena<Number>>, count: usize) -> Sample {
    std::thread::scope(|scope| {
        let turn = || {
            bind(0);
            let clock = Clock::default();
            let mut invoker = topology(arena, 1, count, &clock).invoker();
            while invoker.turn() {}
            assert!(invoker.drain());
            taken(&clock, count)
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
fn row(
    measure: &'static str,
    times: f64,
    effort: Effort,
    mut ours: impl FnMut(&Arc<Arena<Number>>, usize) -> Sample,
) -> Row {
    let (arena, count) = (arena(), ENVELOPES / effort.less);
    Contest::new(measure, "ns/envelope", 1.0 / times)
        .with("levada", || ours(&arena, count))
        .with("direct calls", || direct(&arena, count))
        .run(effort.rounds)
}

pub fn percore(measure: &'static str, effort: Effort) -> Row {
    row(measure, 1.6, effort, |arena, count| threads(arena, 1, count))
}

pub fn invoker(measure: &'static str, effort: Effort) -> Row {
    row(measure, 1.2, effort, by_hand)
}

pub fn dedicated(measure: &'static str, effort: Effort) -> Row {
    row(measure, 12.0, effort, |arena, count| threads(arena, 2, count))
}
