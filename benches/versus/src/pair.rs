//! Threads bound to cores, and what goes from one to another.

use std::hint::spin_loop;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crate::machine::involuntary_switches;

/// What one sample took.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// The figure, in the unit of the row.
    pub value: f64,
    /// How often its threads were switched out against their will.
    pub switches: u64,
}

impl Sample {
    /// Nanoseconds per element.
    pub fn per(elements: usize, elapsed: Duration, switches: u64) -> Self {
        Self { value: elapsed.as_nanos() as f64 / elements as f64, switches }
    }
}

/// Binds the calling thread to one of the cores it may use. With a single core all share it, and the figures say
/// little.
pub fn bind(position: usize) {
    let cores = core_affinity::get_core_ids().unwrap_or_default();
    if !cores.is_empty() {
        core_affinity::set_for_current(cores[position % cores.len()]);
    }
}

/// Runs `work` on a thread for each of `cores` (`None`: unbound), all starting together, and takes the time from the
/// first start to the last end. `work` is given its thread's number.
pub fn together(cores: &[Option<usize>], work: impl Fn(usize) + Sync) -> (Duration, u64) {
    let (awake, ready) = (Barrier::new(cores.len()), AtomicUsize::new(0));
    let run = |number: usize| {
        if let Some(core) = cores[number] {
            bind(core);
        }
        let before = involuntary_switches();
        awake.wait();
        // A thread takes longer to wake up than a short sample lasts: all are awake before any begins.
        ready.fetch_add(1, Relaxed);
        let mut waiting = SpinThenYield::default();
        while ready.load(Relaxed) < cores.len() {
            waiting.wait();
        }
        let began = Instant::now();
        work(number);
        let ended = Instant::now();
        (began, ended, involuntary_switches() - before)
    };
    let times: Vec<(Instant, Instant, u64)> = std::thread::scope(|scope| {
        let run = &run;
        let threads: Vec<_> = (0..cores.len()).map(|number| scope.spawn(move || run(number))).collect();
        threads.into_iter().map(|thread| thread.join().expect("a contestant does not panic")).collect()
    });
    let began = times.iter().map(|time| time.0).min().expect("there is a thread");
    let ended = times.iter().map(|time| time.1).max().expect("there is a thread");
    (ended - began, times.iter().map(|time| time.2).sum())
}

/// Two different pieces of work on two cores, each taken once.
pub fn two(first: impl FnOnce() + Send, second: impl FnOnce() + Send) -> (Duration, u64) {
    let (first, second) = (std::sync::Mutex::new(Some(first)), std::sync::Mutex::new(Some(second)));
    together(&[Some(0), Some(1)], |number| {
        if number == 0 {
            let work = first.lock().expect("nobody panics with the lock").take();
            work.expect("one thread takes it")();
        } else {
            let work = second.lock().expect("nobody panics with the lock").take();
            work.expect("one thread takes it")();
        }
    })
}

/// Waiting for a ring that has a core to itself: never gives it up.
pub fn spin() {
    spin_loop();
}

/// Waiting where threads share cores: spins 64 rounds, then yields.
#[derive(Debug, Default)]
pub struct SpinThenYield(u32);

impl SpinThenYield {
    const ROUNDS: u32 = 64;

    /// Something was done.
    pub fn reset(&mut self) {
        self.0 = 0;
    }

    /// Nothing could be done.
    pub fn wait(&mut self) {
        self.0 += 1;
        if self.0 <= Self::ROUNDS { spin_loop() } else { std::thread::yield_now() }
    }
}
