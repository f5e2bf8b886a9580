//! What a faulty stage does, call by call. The stage in the engine and its double in the oracle follow the same script, each
//! in its own world.

use std::collections::VecDeque;

use levada_engine::{BatchLimit, OnPanic};

use crate::dice::Dice;

/// Most envelopes a stage holds back.
const KEPT_MAX: usize = 64;

/// Most calls for which a stage leaves its batch alone.
const STALL_CALLS_MAX: usize = 6;

/// The script panics here. In the engine it does, and nobody sees this; the oracle returns it up to the call of the stage, so
/// that the same handles are dropped on the way.
#[derive(Debug)]
pub struct Panicked;

/// Where a script runs, during one call.
pub trait World {
    /// An envelope of this call.
    type Taken: Clone;
    /// One held back beyond it.
    type Kept;

    /// Envelopes waiting in the batch.
    fn waiting(&self) -> usize;
    /// Looks at what waits, oldest first, and panics at the first number that `objects`.
    fn peek(&self, objects: impl FnMut(u64) -> bool) -> Result<(), Panicked>;
    fn take(&mut self) -> Option<Self::Taken>;
    fn claim(&mut self, number: u64) -> Option<Self::Taken>;
    fn keep(&self, taken: Self::Taken) -> Self::Kept;
    fn revive(&self, kept: Self::Kept) -> Self::Taken;
    fn room(&self, port: usize) -> usize;
    /// Panics when the port has no room: the engine's answer to a stage that sends too much.
    fn send(&mut self, port: usize, taken: Self::Taken) -> Result<(), Panicked>;
    fn panic(&self) -> Result<(), Panicked>;
    /// A fault that is no panic begins here.
    fn stalls(&self);
}

/// What a stage is like. Each fault happens one time in so many; 0 is never.
#[derive(Debug, Clone)]
pub struct Habits {
    /// Of the run.
    pub seed: u64,
    /// The stage's place in the drawing.
    pub stage: usize,
    pub ports: usize,
    pub limit: BatchLimit,
    pub on_panic: OnPanic,
    /// Claims envelopes of its own.
    pub polls: bool,
    pub faults: Faults,
}

/// How often each fault happens.
#[derive(Debug, Clone, Default)]
pub struct Faults {
    /// Panics as it looks at a batch; whatever is in it.
    pub look: u64,
    /// Panics at the sight of an envelope, always the same.
    pub sight: u64,
    /// Panics with an envelope taken.
    pub taken: u64,
    /// Panics after it has sent an envelope, perhaps on one of several ports.
    pub sent: u64,
    pub poll: u64,
    pub housekeeping: u64,
    pub finish: u64,
    /// Leaves its batch alone for some calls.
    pub stall: u64,
    /// Holds an envelope back.
    pub hold: u64,
    /// Takes a part of the batch.
    pub part: u64,
    /// Sends what it holds back without asking for room.
    pub greed: u64,
    /// Sends on more than one port.
    pub copies: u64,
}

/// One life of a stage: from when it was made to when it is made anew.
#[derive(Debug)]
pub struct Script<K> {
    habits: Habits,
    life: u64,
    calls: u64,
    claimed: u64,
    stalled_calls: usize,
    kept: VecDeque<K>,
}

impl<K> Script<K> {
    pub fn new(habits: Habits, life: u64) -> Self {
        Self { habits, life, calls: 0, claimed: 0, stalled_calls: 0, kept: VecDeque::new() }
    }

    fn dice(&mut self) -> Dice {
        self.calls += 1;
        Dice::of(&[self.habits.seed, self.habits.stage as u64, self.life, self.calls])
    }

    pub fn process<W: World<Kept = K>>(&mut self, world: &mut W) -> Result<(), Panicked> {
        let dice = &mut self.dice();
        if self.stalled_calls == 0 && dice.one_in(self.habits.faults.stall) {
            world.stalls();
            self.stalled_calls = 1 + dice.below(STALL_CALLS_MAX);
        }
        if self.stalled_calls > 0 {
            self.stalled_calls -= 1;
            return Ok(());
        }
        world.peek(|number| self.objects_to(number) || dice.one_in(self.habits.faults.look))?;
        let waiting = world.waiting();
        let most = if dice.one_in(self.habits.faults.part) { dice.below(waiting + 1) } else { waiting };
        for _ in 0..most {
            let Some(taken) = world.take() else { break };
            self.pass_on(dice, world, taken)?;
        }
        self.let_go(dice, world)
    }

    pub fn poll<W: World<Kept = K>>(&mut self, world: &mut W) -> Result<(), Panicked> {
        const CLAIMS_MAX: usize = 4;
        let dice = &mut self.dice();
        if dice.one_in(self.habits.faults.poll) {
            world.panic()?;
        }
        self.let_go(dice, world)?;
        for _ in 0..dice.below(CLAIMS_MAX + 1) {
            let number = (self.habits.stage as u64 + 1) << 48 | self.life << 24 | self.claimed;
            self.claimed += 1;
            let Some(taken) = self.has_room(world).then(|| world.claim(number)).flatten() else { break };
            self.pass_on(dice, world, taken)?;
        }
        Ok(())
    }

    /// True when it panics.
    pub fn housekeeping(&mut self) -> bool {
        self.dice().one_in(self.habits.faults.housekeeping)
    }

    pub fn finish<W: World<Kept = K>>(&mut self, world: &mut W) -> Result<(), Panicked> {
        let dice = &mut self.dice();
        if dice.one_in(self.habits.faults.finish) {
            world.panic()?;
        }
        while let Some(kept) = self.kept.pop_front() {
            let taken = world.revive(kept);
            self.send(dice, world, taken)?;
        }
        Ok(())
    }

    fn objects_to(&self, number: u64) -> bool {
        let sight = self.habits.faults.sight;
        sight > 0 && Dice::of(&[self.habits.seed, self.habits.stage as u64, number]).one_in(sight)
    }

    fn has_room<W: World>(&self, world: &W) -> bool {
        (0..self.habits.ports).all(|port| world.room(port) > 0)
    }

    fn pass_on<W: World<Kept = K>>(&mut self, dice: &mut Dice, world: &mut W, taken: W::Taken) -> Result<(), Panicked> {
        if dice.one_in(self.habits.faults.taken) {
            world.panic()?;
        }
        if self.kept.len() < KEPT_MAX && dice.one_in(self.habits.faults.hold) {
            world.stalls();
            self.kept.push_back(world.keep(taken));
            return Ok(());
        }
        self.send(dice, world, taken)
    }

    /// Sends some of what was held back.
    fn let_go<W: World<Kept = K>>(&mut self, dice: &mut Dice, world: &mut W) -> Result<(), Panicked> {
        let greedy = dice.one_in(self.habits.faults.greed);
        let most = if greedy { KEPT_MAX } else { dice.below(4) };
        for _ in 0..most.min(self.kept.len()) {
            if !greedy && !self.has_room(world) {
                break;
            }
            let Some(kept) = self.kept.pop_front() else { break };
            let taken = world.revive(kept);
            self.send(dice, world, taken)?;
        }
        Ok(())
    }

    /// Sends on one port, and a copy on some of the others before.
    fn send<W: World>(&self, dice: &mut Dice, world: &mut W, taken: W::Taken) -> Result<(), Panicked> {
        let Habits { ports, faults, .. } = &self.habits;
        if *ports == 0 {
            return Ok(());
        }
        let last = dice.below(*ports);
        for port in (0..*ports).filter(|port| *port != last) {
            if dice.one_in(faults.copies) {
                world.send(port, taken.clone())?;
                if dice.one_in(faults.sent) {
                    world.panic()?;
                }
            }
        }
        world.send(last, taken)?;
        if dice.one_in(faults.sent) { world.panic() } else { Ok(()) }
    }
}
