//! Turns a topology and its oracle side by side: the same pushes, turns, pops and abandonments, and the same results or an
//! error that says what differs.

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

use levada_engine::{Arena, Held, Invoker, PushError, Sink, Source, TopologyStats};

use crate::common::{arena, numbered};
use crate::dice::Dice;
use crate::draw::{Built, Plan};
use crate::faulty::{Betrayal, Notes};
use crate::laws;
use crate::oracle::{Message, Oracle, Refused, Tally};

/// Far more turns than it takes to empty any topology: reaching it means that the run does not end.
const DRAIN_TURNS_MAX: usize = 200_000;

/// What outsiders keep of what they popped, for a while.
const KEPT_MAX: usize = 40;

/// Says what differs, and where.
macro_rules! agree {
    ($engine:expr, $oracle:expr, $($what:tt)+) => {
        let (engine, oracle) = ($engine, $oracle);
        if engine != oracle {
            return Err(format!("{}: the engine says {engine:?}, the oracle {oracle:?}", format!($($what)+)));
        }
    };
}

/// One topology in both worlds.
pub struct Drive {
    plan: Plan,
    dice: Dice,
    arena: Arc<Arena<u64>>,
    sources: Vec<Option<Source<u64>>>,
    sinks: Vec<Option<Sink<u64>>>,
    invoker: Option<Invoker<u64>>,
    stats: Arc<TopologyStats>,
    notes: Vec<Arc<Notes>>,
    oracle: Oracle,
    kept: VecDeque<(Held<u64>, Rc<Message>)>,
    next: u64,
}

/// Runs the topology of `seed` to its end. `betrayal`: its first stage does not do as its script says, from that many sends on;
/// whether it came to that is in the result too.
pub fn run(seed: u64, betrayal: Option<(Betrayal, u64)>) -> (Result<Tally, String>, bool) {
    let mut drive = Drive::new(seed, betrayal);
    let notes = drive.notes.clone();
    let result = drive.run();
    (result, notes[0].has_betrayed())
}

impl Drive {
    fn new(seed: u64, betrayal: Option<(Betrayal, u64)>) -> Self {
        const DRIVING: u64 = u64::MAX - 1;
        let plan = Plan::draw(seed);
        let arena = arena(plan.slots);
        let Built { topology, sources, sinks, notes } = plan.build(&arena, betrayal);
        let stats = topology.stats();
        let number = |name: &str| name[1..].parse().expect("stages are called by their numbers");
        let order: Vec<usize> = stats.stages.iter().map(|stage| number(&stage.name)).collect();
        Self {
            dice: Dice::of(&[seed, DRIVING]),
            oracle: Oracle::new(&plan, &order),
            arena,
            sources: sources.into_iter().map(Some).collect(),
            sinks: sinks.into_iter().map(Some).collect(),
            invoker: Some(topology.invoker()),
            stats,
            notes,
            plan,
            kept: VecDeque::new(),
            next: 0,
        }
    }

    fn run(&mut self) -> Result<Tally, String> {
        let turns = 20 + self.dice.below(200);
        // How much comes in, and how much is taken out, per turn: sometimes too much, sometimes too little.
        let (pushes, pops) = (self.dice.pick(&[4, 20, 100]), self.dice.pick(&[1, 16, 200]));
        let abandons = self.dice.pick(&[0, 30, 100, 100]);
        for turn in 0..turns {
            self.step(pushes, pops, abandons).map_err(|text| format!("turn {turn}: {text}"))?;
        }
        if self.dice.one_in(6) {
            self.abandon_topology()?;
        } else {
            self.drain().map_err(|text| format!("in the drain: {text}"))?;
        }
        self.end()?;
        Ok(self.oracle.tally())
    }

    /// Everything that can happen between two turns, and a turn.
    fn step(&mut self, pushes: usize, pops: usize, abandons: u64) -> Result<(), String> {
        const HOUSEKEEPING_TURNS: u64 = 10;
        for _ in 0..self.dice.below(pushes + 1) {
            self.push()?;
        }
        if self.dice.one_in(abandons) {
            self.abandon_an_end()?;
        }
        if self.dice.one_in(HOUSEKEEPING_TURNS) {
            self.invoker.iter_mut().for_each(Invoker::housekeep);
            self.oracle.housekeep();
        }
        self.turn()?;
        for _ in 0..self.dice.below(pops + 1) {
            self.pop()?;
        }
        self.compare()
    }

    fn push(&mut self) -> Result<(), String> {
        let Some(number) = (!self.sources.is_empty()).then(|| self.dice.below(self.sources.len())) else {
            return Ok(());
        };
        let Some(message) = self.oracle.claim(self.next) else {
            if self.arena.claim(1).is_ok() {
                return Err("the oracle's arena is full, the engine's is not".to_owned());
            }
            return Ok(());
        };
        if self.arena.slots_in_use() == u64::from(self.plan.slots) {
            return Err("the engine's arena is full, the oracle's is not".to_owned());
        }
        let envelope = numbered(&self.arena, self.next);
        self.next += 1;
        let Some(source) = &self.sources[number] else { return Ok(()) };
        agree!(source.has_room(), self.oracle.links[number].room() > 0, "room in source {number}");
        let pushed = source.push(envelope).map_err(|error| match error {
            PushError::Full(_) => Refused::Full,
            PushError::Closed(_) => Refused::Closed,
        });
        agree!(pushed, self.oracle.push(number, message), "push {} to source {number}", self.next - 1);
        Ok(())
    }

    fn turn(&mut self) -> Result<bool, String> {
        let worked = self.invoker.as_mut().is_some_and(Invoker::turn);
        let (expected, finished) = self.oracle.turn();
        agree!(worked, expected, "whether anything was done");
        Ok(finished)
    }

    /// Takes from some sink, and lets go of what was taken a while ago.
    fn pop(&mut self) -> Result<(), String> {
        if self.sinks.is_empty() {
            return Ok(());
        }
        let number = self.dice.below(self.sinks.len());
        let Some(sink) = &mut self.sinks[number] else { return Ok(()) };
        let place = self.plan.sources.len() + self.plan.links.len() + number;
        let link = &mut self.oracle.links[place];
        agree!(sink.is_finished(), link.is_finished(), "whether sink {number} has finished");
        let (popped, expected) = (sink.pop(), link.queue.pop_front());
        agree!(
            popped.as_ref().map(Held::record),
            expected.as_ref().map(|message| message.number),
            "from sink {number}"
        );
        if let (Some(held), Some(message)) = (popped, expected) {
            agree!(held.payload(), message.number.to_le_bytes(), "the payload from sink {number}");
            self.kept.push_back((held, message));
        }
        if self.kept.len() > self.dice.below(KEPT_MAX) {
            self.kept.pop_front();
        }
        Ok(())
    }

    fn abandon_an_end(&mut self) -> Result<(), String> {
        let ends = self.sources.len() + self.sinks.len();
        if ends == 0 {
            return Ok(());
        }
        self.oracle.count_abandonment();
        let place = self.dice.below(ends);
        if let Some(number) = place.checked_sub(self.sources.len()) {
            if self.sinks[number].take().is_some() {
                self.oracle.abandon(self.plan.links.len() + place);
            }
        } else if self.dice.one_in(2) {
            self.sources[place] = None;
        } else if let Some(source) = &self.sources[place] {
            source.close();
            self.oracle.close(place);
        }
        self.compare()
    }

    /// The topology goes with everything inside it; what is in the sinks can still be taken.
    fn abandon_topology(&mut self) -> Result<(), String> {
        self.oracle.count_abandonment();
        self.invoker = None;
        self.oracle.end();
        self.compare()?;
        for _ in 0..self.dice.below(100) {
            self.push()?;
            self.pop()?;
        }
        self.compare()
    }

    /// Lets everything inside go all the way, as outsiders take it out.
    fn drain(&mut self) -> Result<(), String> {
        self.invoker.iter().for_each(Invoker::begin_drain);
        self.oracle.begin_drain();
        let mut finished = false;
        for _ in 0..DRAIN_TURNS_MAX {
            if finished || self.oracle.has_failed() {
                break;
            }
            finished = self.turn()?;
            for _ in 0..self.dice.below(200) {
                self.pop()?;
            }
            self.compare()?;
        }
        let Some(invoker) = &mut self.invoker else { return Ok(()) };
        agree!(invoker.has_failed(), self.oracle.has_failed(), "whether a stage stopped the topology");
        if !invoker.drain() {
            return Err("the oracle has finished, the topology has not".to_owned());
        }
        if finished {
            let gone: Vec<bool> = self.sinks.iter().map(Option::is_none).collect();
            laws::check(&self.plan, &self.stats, &self.notes, &gone)?;
        } else if self.oracle.has_failed() {
            self.oracle.end();
        } else {
            return Err("it does not end".to_owned());
        }
        self.compare()
    }

    /// All ends go, and every slot is back.
    fn end(&mut self) -> Result<(), String> {
        self.invoker = None;
        self.oracle.end();
        self.compare()?;
        self.kept.clear();
        self.compare()?;
        self.sinks.clear();
        agree!(self.arena.slots_in_use(), 0, "slots in use at the end");
        let slots: Vec<_> = std::iter::from_fn(|| self.arena.claim(1).ok()).collect();
        agree!(slots.len(), self.plan.slots as usize, "slots that can be claimed at the end");
        Ok(())
    }

    /// Everything that the engine counts.
    fn compare(&self) -> Result<(), String> {
        let Oracle { links, stages, .. } = &self.oracle;
        agree!(self.arena.slots_in_use(), self.oracle.slots_in_use(), "slots in use");
        agree!(self.arena.full_total(), self.oracle.claims_refused(), "claims refused");
        for (engine, oracle) in self.stats.links.iter().zip(links) {
            let counted = [engine.passed_total(), engine.dropped_total(), engine.full_total()];
            agree!(
                counted,
                [oracle.passed, oracle.dropped, oracle.full],
                "passed, dropped, full of link {}",
                engine.name
            );
            if !self.oracle.ended {
                agree!(engine.depth(), oracle.queue.len(), "depth of link {}", engine.name);
            }
        }
        for engine in &self.stats.stages {
            let number: usize = engine.name[1..].parse().map_err(|_| "a stage has another name".to_owned())?;
            let oracle = &stages[number];
            let counted =
                [engine.envelopes_total(), engine.batches_total(), engine.panics_total(), engine.restarts_total()];
            let expected = [oracle.envelopes, oracle.batches, oracle.panics, oracle.restarts];
            agree!(counted, expected, "envelopes, batches, panics, restarts of stage {}", engine.name);
        }
        Ok(())
    }
}
