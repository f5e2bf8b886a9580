//! A stage and its ends as they should behave.

use std::cell::Cell;
use std::collections::VecDeque;
use std::rc::Rc;

use levada_engine::OnPanic;

use crate::draw::PAYLOAD_BYTES;
use crate::oracle::link::{Link, Message};
use crate::oracle::search::Search;
use crate::script::{Habits, Panicked, Script, World};

/// What the whole topology has in common.
#[derive(Debug)]
pub struct Common {
    pub slots: u64,
    pub slots_in_use: Rc<Cell<u64>>,
    /// Claims refused because every slot was in use.
    pub refused: Cell<u64>,
    pub stalls: Cell<u64>,
    pub draining: bool,
    /// A stage stopped the topology.
    pub failed: bool,
}

impl Common {
    /// A slot for `number`, unless all are in use.
    pub fn claim(&self, number: u64) -> Option<Rc<Message>> {
        if self.slots_in_use.get() == self.slots {
            self.refused.set(self.refused.get() + 1);
            return None;
        }
        Some(Message::new(number, &self.slots_in_use))
    }
}

/// The producing end of a link, with what waits to be published.
#[derive(Debug)]
pub struct Outlet {
    pub link: usize,
    pub staged: Vec<Rc<Message>>,
}

#[derive(Debug)]
pub struct Stage {
    habits: Habits,
    life: u64,
    script: Script<Rc<Message>>,
    /// Taken from the inlets and not yet by the script.
    input: VecDeque<Rc<Message>>,
    inlets: Vec<usize>,
    inlet_next: usize,
    ports: Vec<Vec<Outlet>>,
    search: Search,
    finished: bool,
    pub envelopes: u64,
    pub batches: u64,
    pub panics: u64,
    pub restarts: u64,
}

impl Stage {
    pub fn new(habits: Habits, inlets: Vec<usize>, ports: Vec<Vec<Outlet>>) -> Self {
        let script = Script::new(habits.clone(), 0);
        Self {
            habits,
            life: 0,
            script,
            input: VecDeque::new(),
            inlets,
            inlet_next: 0,
            ports,
            search: Search::default(),
            finished: false,
            envelopes: 0,
            batches: 0,
            panics: 0,
            restarts: 0,
        }
    }

    fn staged(&self) -> usize {
        self.ports.iter().flatten().map(|outlet| outlet.staged.len()).sum()
    }

    /// Publishes what is staged; true when nothing is left.
    fn flush(&mut self, links: &mut [Link]) -> bool {
        self.ports.iter_mut().flatten().for_each(|outlet| links[outlet.link].offer(&mut outlet.staged));
        self.staged() == 0
    }

    /// One turn of the stage. What it did: moved something, could not go on for want of room, has finished.
    pub fn turn(&mut self, links: &mut [Link], common: &mut Common) -> (bool, bool, bool) {
        let before = self.staged();
        let clear = self.flush(links);
        let mut worked = self.staged() < before;
        if !clear {
            return (worked, true, false);
        }
        if self.finished {
            return (worked | self.close(links), false, true);
        }
        self.fill(links);
        let ran = (!self.input.is_empty() || self.habits.polls) && self.run(common);
        let staged = self.staged();
        let clear = self.flush(links);
        worked |= ran || self.staged() < staged;
        let ended = self.inlets.iter().all(|link| links[*link].is_finished());
        if clear && !ran && self.input.is_empty() && ended && (!self.habits.polls || common.draining) {
            self.finish(common);
            worked = true;
        }
        (worked, !clear, false)
    }

    /// What the stage fed learns that nothing more comes; true when that is news.
    fn close(&mut self, links: &mut [Link]) -> bool {
        let ports = std::mem::take(&mut self.ports);
        ports.iter().flatten().for_each(|outlet| links[outlet.link].closed = true);
        !ports.is_empty()
    }

    /// Tops the batch up: each inlet in turn gives its share of what is missing, as long as any has something.
    fn fill(&mut self, links: &mut [Link]) {
        let Habits { limit, .. } = self.habits;
        let wants =
            |input: &VecDeque<_>| input.len() < limit.envelopes && input.len() * PAYLOAD_BYTES < limit.payload_bytes;
        let count = self.inlets.len();
        let mut dry = 0;
        while dry < count && wants(&self.input) {
            let queue = &mut links[self.inlets[self.inlet_next]].queue;
            self.inlet_next = (self.inlet_next + 1) % count;
            let share = (limit.envelopes - self.input.len()).div_ceil(count - dry);
            let before = self.input.len();
            while self.input.len() < before + share && wants(&self.input) && !queue.is_empty() {
                self.input.extend(queue.pop_front());
            }
            dry = if self.input.len() == before { dry + 1 } else { 0 };
        }
    }

    /// Runs the script on the batch; true when it took something, or the search for a culprit goes on.
    fn run(&mut self, common: &mut Common) -> bool {
        let shown = self.search.shown(self.input.len());
        let mut call = Call {
            batch: self.input.drain(..shown).collect(),
            room_max: Some(2 * self.habits.limit.envelopes),
            ports: &mut self.ports,
            common,
        };
        let processed = if shown > 0 { self.script.process(&mut call) } else { Ok(()) };
        let survived = processed.is_ok();
        let outcome = match processed {
            Ok(()) if self.habits.polls && !call.common.draining => self.script.poll(&mut call),
            outcome => outcome,
        };
        let rest = call.batch;
        let mut taken = shown - rest.len();
        rest.into_iter().rev().for_each(|message| self.input.push_front(message));
        let mut searching = self.search.is_on();
        if taken == 0 && !survived {
            searching = true;
            if let Some(culprit) = self.search.accuse(shown) {
                self.input.remove(culprit);
                taken = 1;
            }
        } else {
            self.search.clear(taken);
        }
        self.envelopes += taken as u64;
        self.batches += u64::from(taken > 0);
        self.settle(outcome, common);
        searching || taken > 0
    }

    /// Does what the stage wants done about a panic.
    fn settle(&mut self, outcome: Result<(), Panicked>, common: &mut Common) {
        if outcome.is_ok() {
            return;
        }
        self.panics += 1;
        match self.habits.on_panic {
            OnPanic::RestartStage if !self.finished => {
                self.life += 1;
                self.restarts += 1;
                self.script = Script::new(self.habits.clone(), self.life);
            }
            OnPanic::StopTopology => common.failed = true,
            _ => {}
        }
    }

    fn finish(&mut self, common: &mut Common) {
        self.finished = true;
        let mut call = Call { batch: VecDeque::new(), room_max: None, ports: &mut self.ports, common };
        let outcome = self.script.finish(&mut call);
        self.settle(outcome, common);
    }

    /// Lets go of everything, as the worker goes.
    pub fn release(&mut self) {
        self.script = Script::new(self.habits.clone(), self.life);
        self.input.clear();
        self.ports.clear();
    }

    pub fn housekeep(&mut self, common: &mut Common) {
        let outcome = if self.script.housekeeping() { Err(Panicked) } else { Ok(()) };
        self.settle(outcome, common);
    }
}

/// One call of a stage's double.
struct Call<'c> {
    batch: VecDeque<Rc<Message>>,
    /// Most envelopes that a link may have staged; any number at the end.
    room_max: Option<usize>,
    ports: &'c mut [Vec<Outlet>],
    common: &'c Common,
}

impl World for Call<'_> {
    type Taken = Rc<Message>;
    type Kept = Rc<Message>;

    fn waiting(&self) -> usize {
        self.batch.len()
    }

    fn peek(&self, mut objects: impl FnMut(u64) -> bool) -> Result<(), Panicked> {
        let objected = self.batch.iter().any(|message| objects(message.number));
        if objected { Err(Panicked) } else { Ok(()) }
    }

    fn take(&mut self) -> Option<Rc<Message>> {
        self.batch.pop_front()
    }

    fn claim(&mut self, number: u64) -> Option<Rc<Message>> {
        self.common.claim(number)
    }

    fn keep(&self, taken: Rc<Message>) -> Rc<Message> {
        taken
    }

    fn revive(&self, kept: Rc<Message>) -> Rc<Message> {
        kept
    }

    fn room(&self, port: usize) -> usize {
        let Some(room_max) = self.room_max else { return usize::MAX };
        self.ports[port].iter().map(|outlet| room_max - outlet.staged.len()).min().unwrap_or(usize::MAX)
    }

    fn send(&mut self, port: usize, taken: Rc<Message>) -> Result<(), Panicked> {
        if self.room(port) == 0 {
            return Err(Panicked);
        }
        self.ports[port].iter_mut().for_each(|outlet| outlet.staged.push(taken.clone()));
        Ok(())
    }

    fn panic(&self) -> Result<(), Panicked> {
        Err(Panicked)
    }

    fn stalls(&self) {
        self.common.stalls.set(self.common.stalls.get() + 1);
    }
}
