//! Slots handled by the dozen, by real workers under random schedules, two of them and four: claimed, sent, taken and released in
//! one visit each. A worker that sleeps over work is a deadlock, which shuttle reports.
#![cfg(shuttle)]

#[path = "support/batches.rs"]
mod batches;
#[path = "support/schedules.rs"]
mod schedules;

use std::time::Duration;

use levada_engine::{Drained, Wait};
use schedules::check;
use shuttle::thread;

fn pass_through(workers: usize, slots: u32) {
    const TOTAL: u64 = 16;
    const CAPACITY: usize = 8;
    let (mut drawing, through) = batches::draw(workers, slots, TOTAL, CAPACITY);
    drawing.default_wait(Wait::Eco);
    let (running, bodies) = drawing.build().unwrap().run_on_threads();
    let threads: Vec<_> = bodies.into_iter().map(thread::spawn).collect();
    while !through.is_complete() {
        thread::yield_now();
    }
    running.begin_drain();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert!(running.stats().stages.iter().all(|stage| stage.panics_total() == 0));
    assert_eq!(running.drain(Duration::ZERO), Drained::Complete);
    through.check();
}

#[test]
fn two_workers_without_magazines() {
    check(|| pass_through(2, 16));
}

#[test]
fn two_workers_with_magazines() {
    check(|| pass_through(2, 256));
}

#[test]
fn four_workers_without_magazines() {
    check(|| pass_through(4, 16));
}

#[test]
fn four_workers_with_magazines() {
    check(|| pass_through(4, 256));
}
