//! The faulty stage as the engine runs it.

use std::panic::{panic_any, set_hook, take_hook};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Once};

use levada_engine::{Batch, BatchLimit, Envelope, Held, OnPanic, Outputs, Stage};

use crate::common::numbered;
use crate::script::{Habits, Panicked, Script, World};

/// Port names of a stage, of which it has the first few.
pub static PORTS: [&str; 3] = ["out", "b", "c"];

const BY_SCRIPT: &str = "by the script";

/// What the engine says to a stage that sends more than it may.
const TOO_MANY: &str = "more envelopes were sent than one per envelope taken";

/// The panics are meant: their messages would drown a real one.
pub fn silence() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let report = take_hook();
        set_hook(Box::new(move |info| {
            if !info.payload().downcast_ref::<&str>().is_some_and(|text| [BY_SCRIPT, TOO_MANY].contains(text)) {
                report(info);
            }
        }));
    });
}

/// What a stage itself knows to have done, all its lives together: the engine must have counted the same.
#[derive(Debug, Default)]
pub struct Notes {
    pub taken: AtomicU64,
    pub sent: [AtomicU64; PORTS.len()],
    /// Times it did what its script does not say.
    pub betrayals: AtomicU64,
}

impl Notes {
    pub fn has_betrayed(&self) -> bool {
        self.betrayals.load(Relaxed) > 0
    }
}

/// How a stage departs from its script while its notes follow it. Only the tests of the oracle have such stages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Betrayal {
    /// Drops an envelope that it should send.
    Swallow,
    /// Sends an envelope twice.
    Double,
    /// Forgets a handle.
    Leak,
    /// Panics after all.
    Trip,
}

/// Follows its script, but for a betrayal at the given send.
pub struct Faulty {
    habits: Habits,
    script: Script<Held<u64>>,
    notes: Arc<Notes>,
    betrayal: Option<(Betrayal, u64)>,
}

impl Faulty {
    pub fn new(habits: Habits, life: u64, notes: Arc<Notes>, betrayal: Option<(Betrayal, u64)>) -> Self {
        Self { script: Script::new(habits.clone(), life), habits, notes, betrayal }
    }
}

impl Stage<u64> for Faulty {
    fn ports(&self) -> &'static [&'static str] {
        &PORTS[..self.habits.ports]
    }

    fn batch_limit(&self) -> BatchLimit {
        self.habits.limit
    }

    fn on_panic(&self) -> OnPanic {
        self.habits.on_panic
    }

    fn is_source(&self) -> bool {
        self.habits.polls
    }

    fn process(&mut self, batch: &mut Batch<'_, u64>, outputs: &mut Outputs<'_, u64>) {
        let mut call = Call { batch: Some(batch), outputs, notes: &self.notes, betrayal: self.betrayal };
        never(self.script.process(&mut call));
    }

    fn poll(&mut self, outputs: &mut Outputs<'_, u64>) {
        let mut call = Call { batch: None, outputs, notes: &self.notes, betrayal: self.betrayal };
        never(self.script.poll(&mut call));
    }

    fn housekeeping(&mut self) {
        if self.script.housekeeping() {
            panic_any(BY_SCRIPT);
        }
    }

    fn finish(&mut self, outputs: &mut Outputs<'_, u64>) {
        let mut call = Call { batch: None, outputs, notes: &self.notes, betrayal: self.betrayal };
        never(self.script.finish(&mut call));
    }
}

fn never(result: Result<(), Panicked>) {
    result.expect("in the engine a script panics for good");
}

/// One call of a stage by the engine.
struct Call<'c, 'b, 'o> {
    batch: Option<&'c mut Batch<'b, u64>>,
    outputs: &'c mut Outputs<'o, u64>,
    notes: &'c Notes,
    betrayal: Option<(Betrayal, u64)>,
}

impl Call<'_, '_, '_> {
    /// The betrayal, when this is the send for it. One on a port without a link would change nothing.
    fn betrays(&self, port: usize) -> Option<Betrayal> {
        let (betrayal, at) = self.betrayal?;
        let sends: u64 = self.notes.sent.iter().map(|sent| sent.load(Relaxed)).sum();
        let is_due = sends >= at && !self.notes.has_betrayed();
        let matters = (1..usize::MAX).contains(&self.outputs.room(port));
        (is_due && matters).then(|| {
            self.notes.betrayals.fetch_add(1, Relaxed);
            betrayal
        })
    }
}

impl<'c> World for Call<'c, '_, '_> {
    type Taken = Envelope<'c, u64>;
    type Kept = Held<u64>;

    fn waiting(&self) -> usize {
        self.batch.as_ref().map_or(0, |batch| batch.len())
    }

    fn peek(&self, mut objects: impl FnMut(u64) -> bool) -> Result<(), Panicked> {
        for view in self.batch.iter().flat_map(|batch| batch.peek()) {
            if objects(*view.record) {
                panic_any(BY_SCRIPT);
            }
        }
        Ok(())
    }

    fn take(&mut self) -> Option<Self::Taken> {
        let taken = self.batch.as_mut()?.next()?;
        self.notes.taken.fetch_add(1, Relaxed);
        Some(taken)
    }

    fn claim(&mut self, number: u64) -> Option<Self::Taken> {
        let arena = self.outputs.arena();
        let slots: u64 = arena.usage().map(|class| class.slots).sum();
        if arena.slots_in_use() < slots {
            return Some(numbered(arena, number));
        }
        assert!(arena.claim(1).is_err(), "all slots are in use");
        None
    }

    fn keep(&self, taken: Self::Taken) -> Self::Kept {
        taken.hold()
    }

    fn revive(&self, kept: Self::Kept) -> Self::Taken {
        kept.attach(self.outputs.arena()).expect("there is one arena")
    }

    fn room(&self, port: usize) -> usize {
        self.outputs.room(port)
    }

    fn send(&mut self, port: usize, taken: Self::Taken) -> Result<(), Panicked> {
        let betrayal = self.betrays(port);
        match betrayal {
            Some(Betrayal::Swallow) => drop(taken),
            Some(Betrayal::Double) => {
                self.outputs.send(port, taken.clone());
                self.outputs.send(port, taken);
            }
            Some(Betrayal::Leak) => {
                std::mem::forget(taken.clone());
                self.outputs.send(port, taken);
            }
            Some(Betrayal::Trip) | None => self.outputs.send(port, taken),
        }
        self.notes.sent[port].fetch_add(1, Relaxed);
        if betrayal == Some(Betrayal::Trip) { self.panic() } else { Ok(()) }
    }

    fn panic(&self) -> Result<(), Panicked> {
        panic_any(BY_SCRIPT)
    }

    /// The oracle counts it.
    fn stalls(&self) {}
}
