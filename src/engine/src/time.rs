//! Where a worker's time goes: every moment since its start belongs to one regime, and to no other.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use crate::stats::add;
use crate::worker::Turn;

/// Turns that worked are charged together up to this many, as long as they are small: reading the clock takes as long as one.
const TURNS_PER_LAP: u32 = 32;

/// A turn that takes longer than this is charged by itself.
const SMALL_TURN_NS: u64 = 5_000;

/// What a worker does with its time; every moment belongs to one of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Regime {
    /// Turns in which some stage did something.
    Work,
    /// Nothing to do.
    Idle,
    /// Something to do and no room downstream.
    Backpressure,
    /// Chores of the stages.
    Housekeeping,
}

impl Regime {
    /// All of them, in the order of [`TimeSplit::regimes_ns`].
    pub const ALL: [Self; 4] = [Self::Work, Self::Idle, Self::Backpressure, Self::Housekeeping];

    /// As a metric label.
    pub fn label(self) -> &'static str {
        match self {
            Self::Work => "work",
            Self::Idle => "idle",
            Self::Backpressure => "backpressure",
            Self::Housekeeping => "housekeeping",
        }
    }

    fn of(turn: Turn) -> Self {
        match turn {
            Turn::Worked => Self::Work,
            Turn::Idle | Turn::Finished => Self::Idle,
            Turn::Blocked => Self::Backpressure,
        }
    }
}

/// What a worker counts.
#[derive(Debug)]
pub struct WorkerStats {
    /// The worker's name.
    pub name: String,
    regimes: [AtomicU64; 4],
    /// The regime of the time not charged yet.
    regime: AtomicU8,
    started: OnceLock<Instant>,
    /// Nanoseconds from the start to the end; 0 while the worker lives.
    ended_ns: AtomicU64,
    pub(crate) pinned: AtomicBool,
}

/// A worker's time from its start to the moment of reading. The regimes add up to the total exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TimeSplit {
    /// Nanoseconds since the worker's start, or until its end. 0 before it starts.
    pub total_ns: u64,
    /// Nanoseconds by regime, in the order of [`Regime::ALL`].
    pub regimes_ns: [u64; 4],
}

impl TimeSplit {
    /// Nanoseconds in a regime.
    pub fn ns(&self, regime: Regime) -> u64 {
        self.regimes_ns[regime as usize]
    }

    /// A regime's part of the whole, from 0 to 1; 0 before the start.
    pub fn fraction(&self, regime: Regime) -> f64 {
        if self.total_ns == 0 { 0.0 } else { self.ns(regime) as f64 / self.total_ns as f64 }
    }
}

impl WorkerStats {
    pub(crate) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            regimes: Default::default(),
            regime: AtomicU8::new(Regime::Idle as u8),
            started: OnceLock::new(),
            ended_ns: AtomicU64::new(0),
            pinned: AtomicBool::new(false),
        }
    }

    /// Time charged so far, by regime. What the worker is at this moment is charged when it changes.
    pub fn regime_ns(&self, regime: Regime) -> u64 {
        self.regimes[regime as usize].load(Relaxed)
    }

    /// Where the time since the start went, up to this moment.
    ///
    /// A topology turned by its caller charges the caller's own time between two turns as idle, if the former of the two
    /// found nothing more to do, and else with the work around it.
    pub fn time_split(&self) -> TimeSplit {
        let Some(started) = self.started.get() else {
            return TimeSplit::default();
        };
        let now = Regime::ALL[usize::from(self.regime.load(Relaxed))];
        let mut regimes_ns = Regime::ALL.map(|regime| self.regime_ns(regime));
        let charged: u64 = regimes_ns.iter().sum();
        // Read last: what was charged lies before it.
        let lived = match self.ended_ns.load(Relaxed) {
            0 => started.elapsed().as_nanos() as u64,
            ended_ns => ended_ns,
        };
        let total_ns = lived.max(charged);
        regimes_ns[now as usize] += total_ns - charged;
        TimeSplit { total_ns, regimes_ns }
    }

    /// The worker is bound to a core of its own.
    pub fn is_pinned(&self) -> bool {
        self.pinned.load(Relaxed)
    }
}

/// Charges a worker's time, on the thread that turns it.
#[derive(Debug)]
pub(crate) struct Clock {
    stats: Arc<WorkerStats>,
    started: Instant,
    /// Nanoseconds from the start up to which the time is charged.
    charged_ns: u64,
    regime: Regime,
    /// Turns that worked since the last charge.
    turns: u32,
    /// How many of them are charged together at present.
    turns_max: u32,
}

impl Clock {
    pub fn new(stats: Arc<WorkerStats>) -> Self {
        Self { stats, started: Instant::now(), charged_ns: 0, regime: Regime::Idle, turns: 0, turns_max: 1 }
    }

    /// The worker's time begins, unless it has.
    pub fn start(&mut self) {
        self.started = *self.stats.started.get_or_init(Instant::now);
    }

    /// Nanoseconds from the start to the last reading of the clock.
    pub fn read_ns(&self) -> u64 {
        self.charged_ns
    }

    /// A turn begins: what lies between it and a former one without work was waiting.
    pub fn waited(&mut self) {
        if self.regime != Regime::Work {
            self.charge();
        }
    }

    /// A turn has ended. The time from here on is of its kind.
    pub fn turned(&mut self, turn: Turn) {
        let regime = Regime::of(turn);
        if regime == Regime::Work {
            self.turns += 1;
            self.enter(regime);
            if self.turns >= self.turns_max {
                self.charge();
            }
        } else {
            if self.regime == Regime::Work {
                self.charge();
            }
            self.enter(regime);
        }
    }

    /// Charges `chores` to housekeeping.
    pub fn during<T>(&mut self, chores: impl FnOnce() -> T) -> T {
        let before = self.regime;
        self.charge();
        self.enter(Regime::Housekeeping);
        let done = chores();
        self.charge();
        self.enter(before);
        done
    }

    /// The worker ends, and its account with it.
    pub fn stop(&mut self) {
        if self.stats.started.get().is_some() {
            self.charge();
            self.stats.ended_ns.store(self.charged_ns.max(1), Relaxed);
        }
    }

    fn enter(&mut self, regime: Regime) {
        if self.regime != regime {
            self.regime = regime;
            self.stats.regime.store(regime as u8, Relaxed);
        }
    }

    /// Gives the time since the last charge to the present regime.
    fn charge(&mut self) {
        let now_ns = self.started.elapsed().as_nanos() as u64;
        let lap_ns = now_ns - self.charged_ns;
        add(&self.stats.regimes[self.regime as usize], lap_ns);
        self.charged_ns = now_ns;
        if self.turns > 0 {
            self.turns_max = turns_together(lap_ns / u64::from(self.turns));
        }
        self.turns = 0;
    }
}

/// How many turns that take about `turn_ns` each are charged together.
fn turns_together(turn_ns: u64) -> u32 {
    if turn_ns > SMALL_TURN_NS { 1 } else { TURNS_PER_LAP }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Lets the clock move on.
    fn tick() {
        let start = Instant::now();
        while start.elapsed().as_nanos() == 0 {}
    }

    #[test]
    fn every_moment_is_charged_once_whatever_the_order() {
        let stats = Arc::new(WorkerStats::new("w0"));
        let mut clock = Clock::new(stats.clone());
        assert_eq!(stats.time_split(), TimeSplit::default(), "not started");
        clock.start();
        for turn in [Turn::Worked, Turn::Idle, Turn::Blocked, Turn::Worked, Turn::Worked, Turn::Blocked, Turn::Idle] {
            tick();
            clock.waited();
            clock.turned(turn);
            let split = stats.time_split();
            assert_eq!(split.regimes_ns.iter().sum::<u64>(), split.total_ns);
            clock.during(tick);
        }
        assert!(Regime::ALL.iter().all(|regime| stats.regime_ns(*regime) > 0));
        clock.stop();
        let split = stats.time_split();
        assert_eq!(split.regimes_ns, Regime::ALL.map(|regime| stats.regime_ns(regime)), "nothing is left uncharged");
        assert_eq!(split.total_ns, clock.read_ns());
        tick();
        assert_eq!(stats.time_split(), split, "the account is closed");
        let whole: f64 = Regime::ALL.iter().map(|regime| split.fraction(*regime)).sum();
        assert!((whole - 1.0).abs() < 1e-9);
    }

    #[test]
    fn small_turns_that_work_share_a_reading_of_the_clock_and_long_ones_do_not() {
        assert_eq!([0, SMALL_TURN_NS, SMALL_TURN_NS + 1].map(turns_together), [TURNS_PER_LAP, TURNS_PER_LAP, 1]);
        let mut clock = Clock::new(Arc::new(WorkerStats::new("w0")));
        clock.start();
        for together in [1, TURNS_PER_LAP] {
            clock.turns_max = together;
            let before = clock.read_ns();
            tick();
            (1..together).for_each(|_| clock.turned(Turn::Worked));
            assert_eq!(clock.read_ns(), before);
            clock.turned(Turn::Worked);
            assert!(clock.read_ns() > before);
        }
    }
}
