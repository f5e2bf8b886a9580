//! Pushes to the subscribers of a node: what they cost, and what one that does not read costs the others.

use levada::bench_service::{Order, Outcome, run};
use levada_benches::machine::{Disturbance, Watch};

use crate::row::{Row, absolute, contested};

const SUBSCRIBERS: usize = 100;

/// Of one push, however many subscribers there are.
const ENCODES_MAX: f64 = 1.0;
/// Above the streams, which copy as their transport does.
const COPIES_MAX: f64 = 0.0;

/// The undisturbed 99th percentile over that beside a subscriber that does not read: at most 1.5 times as long.
const LATENCY_BAR: f64 = 1.0 / 1.5;
/// A message takes at most a tenth longer then.
const RATE_BAR: f64 = 0.9;

fn order(quick: bool, one_paused: bool) -> Order {
    let (messages, warmup) = if quick { (30, 10) } else { (1_000, 100) };
    Order { subscribers: SUBSCRIBERS, one_paused, messages, warmup }
}

fn per_message(measure: &'static str, limit: f64, quick: bool, figure: impl Fn(&Outcome) -> f64) -> Row {
    eprintln!("{measure} ..");
    let messages = if quick { 30 } else { 300 };
    absolute(measure, "per message", limit, 1, || figure(&run(Order { messages, ..order(quick, false) })))
}

/// How often a message is framed for all its subscribers together.
pub fn encodes(measure: &'static str, quick: bool) -> Row {
    per_message(measure, ENCODES_MAX, quick, |outcome| outcome.encodes)
}

/// How often its payload is copied between the stream it came by and those it leaves by.
pub fn copies(measure: &'static str, quick: bool) -> Row {
    per_message(measure, COPIES_MAX, quick, |outcome| outcome.copies)
}

/// Runs with a paused subscriber among the hundred and runs without, in turns. A run in which a reader misses a message does not end well.
pub struct Isolation {
    paused: Vec<Outcome>,
    undisturbed: Vec<Outcome>,
    machine: Disturbance,
}

impl Isolation {
    pub fn take(quick: bool) -> Self {
        let rounds = if quick { 1 } else { 5 };
        let watch = Watch::begin();
        let (mut paused, mut undisturbed) = (Vec::new(), Vec::new());
        for round in 1..=rounds {
            eprintln!("filter_isolation, round {round} of {rounds} ..");
            paused.push(run(order(quick, true)));
            undisturbed.push(run(order(quick, false)));
        }
        Self { paused, undisturbed, machine: Disturbance { kept: rounds, ..watch.end() } }
    }

    pub fn latency(&self, measure: &'static str) -> Row {
        self.row(measure, "us, p99", LATENCY_BAR, |outcome| outcome.latency_p99_us)
    }

    pub fn rate(&self, measure: &'static str) -> Row {
        self.row(measure, "us/message", RATE_BAR, |outcome| outcome.us_per_message)
    }

    fn row(&self, measure: &'static str, unit: &'static str, bar: f64, figure: fn(&Outcome) -> f64) -> Row {
        let of = |outcomes: &[Outcome]| outcomes.iter().map(figure).collect::<Vec<f64>>();
        let samples =
            vec![("one paused".to_owned(), of(&self.paused)), ("undisturbed".to_owned(), of(&self.undisturbed))];
        contested(measure, unit, bar, samples, self.machine)
    }
}
