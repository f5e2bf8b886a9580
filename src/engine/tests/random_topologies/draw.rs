//! Random topologies: a plan that both worlds are made from, and the topology itself.

use std::sync::Arc;

use levada_engine::{
    Arena, BatchLimit, LinkConfig, OnPanic, Policy, Sink, Source, StageId, Topology, TopologyBuilder, Waker,
};

use crate::common::Pass;
use crate::dice::Dice;
use crate::faulty::{Betrayal, Faulty, Notes, PORTS};
use crate::script::{Faults, Habits};

/// Bytes of every payload.
pub const PAYLOAD_BYTES: usize = 8;

/// What is drawn for one seed.
#[derive(Debug)]
pub struct Plan {
    pub slots: u32,
    pub workers: usize,
    pub stages: Vec<StagePlan>,
    pub sources: Vec<SourcePlan>,
    pub links: Vec<LinkPlan>,
    pub sinks: Vec<SinkPlan>,
}

#[derive(Debug)]
pub struct StagePlan {
    pub worker: usize,
    pub habits: Habits,
    /// Is the stage of the other tests that passes everything on.
    pub plain: bool,
}

#[derive(Debug)]
pub struct SourcePlan {
    pub to: usize,
    pub capacity: usize,
}

impl SourcePlan {
    /// A source refuses when it is full: nothing is lost.
    pub fn config(&self) -> LinkConfig {
        LinkConfig { capacity: self.capacity, policy: Policy::Reliable }
    }
}

#[derive(Debug)]
pub struct LinkPlan {
    pub from: usize,
    pub port: usize,
    pub to: usize,
    pub config: LinkConfig,
}

#[derive(Debug)]
pub struct SinkPlan {
    pub from: usize,
    pub port: usize,
    pub config: LinkConfig,
}

impl Plan {
    pub fn draw(seed: u64) -> Self {
        const DRAWING: u64 = u64::MAX;
        let dice = &mut Dice::of(&[seed, DRAWING]);
        let workers = 1 + dice.below(3);
        let count = 2 + dice.below(7);
        // The less often anything goes wrong, the longer the queues that it meets.
        let rarity = dice.pick(&[10, 40, 200]);
        let stages = (0..count).map(|stage| StagePlan::draw(dice, seed, stage, workers, rarity)).collect();
        let slots = dice.pick(&[32, 200, 1000, 4000]);
        let mut plan = Self { slots, workers, stages, sources: Vec::new(), links: Vec::new(), sinks: Vec::new() };
        plan.join(dice);
        plan
    }

    /// Links each port to stages further on in some order of all stages, to sinks, or to nothing; then feeds who got no link.
    fn join(&mut self, dice: &mut Dice) {
        let mut order: Vec<usize> = (0..self.stages.len()).collect();
        (1..order.len()).for_each(|place| order.swap(place, dice.below(place + 1)));
        for (place, from) in order.iter().enumerate() {
            for port in 0..self.stages[*from].habits.ports {
                let mut next = order[place + 1..].to_vec();
                for _ in 0..dice.pick(&[0, 1, 1, 1, 1, 2, 2, 3]) {
                    let config = self.stages[*from].config(dice);
                    if next.is_empty() || dice.one_in(4) {
                        self.sinks.push(SinkPlan { from: *from, port, config });
                    } else {
                        let to = next.swap_remove(dice.below(next.len()));
                        self.links.push(LinkPlan { from: *from, port, to, config });
                    }
                }
            }
        }
        for to in 0..self.stages.len() {
            let fed = self.stages[to].habits.polls || self.links.iter().any(|link| link.to == to);
            if !fed || dice.one_in(6) {
                let capacity = self.stages[to].config(dice).capacity;
                self.sources.push(SourcePlan { to, capacity });
            }
        }
    }

    /// The topology, with the ends that outsiders hold, in the order of the plan; and what each stage notes.
    pub fn build(&self, arena: &Arc<Arena<u64>>, betrayal: Option<(Betrayal, u64)>) -> Built {
        let mut drawing = TopologyBuilder::new(arena.clone());
        let workers: Vec<_> = (0..self.workers).map(|worker| drawing.worker(&format!("w{worker}"))).collect();
        let notes: Vec<Arc<Notes>> = self.stages.iter().map(|_| Arc::default()).collect();
        let mut stages: Vec<StageId> = Vec::new();
        for (plan, notes) in self.stages.iter().zip(&notes) {
            let name = format!("s{}", stages.len());
            let (habits, notes, mut lives) = (plan.habits.clone(), notes.clone(), 0..);
            let betrayal = betrayal.filter(|_| stages.is_empty());
            let mut make = move || Faulty::new(habits.clone(), lives.next().unwrap_or(0), notes.clone(), betrayal);
            stages.push(match (plan.plain, plan.habits.on_panic) {
                (true, _) => drawing.stage(workers[plan.worker], &name, Pass),
                (_, OnPanic::RestartStage) => drawing.stage_with(workers[plan.worker], &name, make),
                _ => drawing.stage(workers[plan.worker], &name, make()),
            });
        }
        for link in &self.links {
            drawing.link_with(stages[link.from], PORTS[link.port], stages[link.to], link.config);
        }
        for (from, port) in
            self.stages.iter().enumerate().flat_map(|(from, plan)| (0..plan.habits.ports).map(move |port| (from, port)))
        {
            if !self.is_linked(from, port) {
                drawing.discard(stages[from], PORTS[port]);
            }
        }
        let sources = self.sources.iter().enumerate();
        let sources =
            sources.map(|(number, plan)| drawing.source(&format!("in{number}"), stages[plan.to], plan.capacity));
        let sources = sources.collect();
        let mut sinks = Vec::new();
        for (number, plan) in self.sinks.iter().enumerate() {
            let silent = Waker::from_callback(|| ());
            sinks.push(drawing.sink(&format!("end{number}"), stages[plan.from], PORTS[plan.port], plan.config, silent));
        }
        let topology = drawing.build().expect("the plan can be built");
        Built { topology, sources, sinks, notes }
    }

    fn is_linked(&self, from: usize, port: usize) -> bool {
        let links = self.links.iter().map(|link| (link.from, link.port));
        links.chain(self.sinks.iter().map(|sink| (sink.from, sink.port))).any(|end| end == (from, port))
    }
}

impl StagePlan {
    fn draw(dice: &mut Dice, seed: u64, stage: usize, workers: usize, rarity: u64) -> Self {
        let plain = dice.one_in(8);
        let mut limit = BatchLimit {
            envelopes: dice.pick(&[1, 2, 3, 8, 20, 32, 32, 32, 100, 256]),
            payload_bytes: dice.pick(&[256_000, 256_000, 256_000, 5 * PAYLOAD_BYTES, 1]),
        };
        let mut on_panic = dice.pick(&[OnPanic::SkipMessage, OnPanic::RestartStage]);
        if dice.one_in(40) {
            on_panic = OnPanic::StopTopology;
        }
        let (mut ports, mut polls, mut faults) =
            (dice.below(PORTS.len() + 1), dice.one_in(5), Faults::draw(dice, rarity));
        if plain {
            (ports, polls, faults) = (1, false, Faults::default());
            (limit, on_panic) = (BatchLimit::default(), OnPanic::SkipMessage);
        }
        Self {
            worker: dice.below(workers),
            habits: Habits { seed, stage, ports, limit, on_panic, polls, faults },
            plain,
        }
    }

    /// A link that the stage may feed, or a source that may feed it.
    fn config(&self, dice: &mut Dice) -> LinkConfig {
        const CAPACITY_MIN: usize = 256;
        const BATCHES_MIN: usize = 8;
        let capacity_min = CAPACITY_MIN.max((BATCHES_MIN * self.habits.limit.envelopes).next_power_of_two());
        LinkConfig {
            capacity: capacity_min * dice.pick(&[1, 1, 2]),
            policy: dice.pick(&[Policy::Reliable, Policy::Reliable, Policy::DropNewest, Policy::DropOldest]),
        }
    }
}

impl Faults {
    fn draw(dice: &mut Dice, rarity: u64) -> Self {
        let mut fault = |times: u64| if dice.one_in(3) { 0 } else { rarity * times };
        Self {
            look: fault(20),
            sight: fault(8),
            taken: fault(2),
            sent: fault(2),
            poll: fault(1),
            housekeeping: fault(1) / 4,
            finish: fault(1) / 10,
            stall: fault(1) / 4,
            hold: fault(4),
            part: fault(1) / 4,
            greed: fault(4),
            copies: fault(1) / 8,
        }
    }
}

/// What a plan is built into.
pub struct Built {
    pub topology: Topology<u64>,
    pub sources: Vec<Source<u64>>,
    pub sinks: Vec<Sink<u64>>,
    pub notes: Vec<Arc<Notes>>,
}
