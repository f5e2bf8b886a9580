//! Two threads, each bound to a core, and what goes from one to the other.

use std::sync::Barrier;
use std::time::Instant;

use crate::comparison::Timed;

/// Runs `send` on one core and `receive` on another, `blocks` times each, and takes the time from the first thing sent to
/// the last received. `receive` returns the digest of what it got.
pub fn transfer(blocks: u64, mut send: impl FnMut() + Send, mut receive: impl FnMut() -> u64 + Send) -> Timed {
    let together = Barrier::new(2);
    std::thread::scope(|scope| {
        let sender = scope.spawn(|| {
            bind(0);
            together.wait();
            let started = Instant::now();
            (0..blocks).for_each(|_| send());
            started
        });
        let receiver = scope.spawn(|| {
            bind(1);
            together.wait();
            let work = (0..blocks).fold(0, |_, _| receive());
            (Instant::now(), work)
        });
        let started = sender.join().expect("the sender does not panic");
        let (ended, work) = receiver.join().expect("the receiver does not panic");
        Timed { elapsed: ended - started, work }
    })
}

/// Looks this often before it gives its core up: far longer than the other side takes for one thing, unless it does not run.
const SPINS: u64 = 1 << 14;

/// Tries until something comes. It spins, because a core given up on a busy machine comes back a time slice later, and
/// the faster a queue is, the more often it is found empty: yielding early, the fastest queue would seem the slowest.
pub fn wait_for<T>(mut attempt: impl FnMut() -> Option<T>) -> T {
    let mut spins = 0_u64;
    loop {
        match attempt() {
            Some(value) => return value,
            None if spins < SPINS => std::hint::spin_loop(),
            None => std::thread::yield_now(),
        }
        spins += 1;
    }
}

/// With a single core both threads share it, and the figures say little.
fn bind(position: usize) {
    let cores = core_affinity::get_core_ids().unwrap_or_default();
    if !cores.is_empty() {
        core_affinity::set_for_current(cores[position % cores.len()]);
    }
}
