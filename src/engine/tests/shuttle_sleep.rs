//! Lines of threads that sleep when they have nothing to do, under random schedules: a lost wake-up is a deadlock, which shuttle
//! reports.
#![cfg(shuttle)]

#[path = "support/schedules.rs"]
mod schedules;

use levada_engine::ring::{mpmc, spsc};
use schedules::{Sleeper, check};
use shuttle::sync::{Arc, Mutex};
use shuttle::thread;

/// Indices that go down the line.
const COUNT: u32 = 6;

/// A place where a thread that is yet to start can be told who is to be woken.
type Known = Arc<Mutex<Option<Sleeper>>>;

fn wake(known: &Known) {
    let sleeper = known.lock().unwrap().clone();
    if let Some(sleeper) = sleeper {
        sleeper.wake();
    }
}

/// Pops and pushes on until the ring before is closed and empty; closes the one behind.
fn pass_on(mut from: spsc::Consumer, mut to: spsc::Producer, own: &Known, before: &Known, behind: &Known) {
    let sleeper = Sleeper::current();
    *own.lock().unwrap() = Some(sleeper.clone());
    let room = to.gauge();
    while !(from.is_closed() && from.is_empty()) {
        match from.pop() {
            Some(index) => {
                wake(before);
                while to.push_batch(&[index]) == 0 {
                    sleeper.sleep_unless(|| room.depth() < CAPACITY);
                }
                wake(behind);
            }
            None => sleeper.sleep_unless(|| !from.is_empty() || from.is_closed()),
        }
    }
    to.retire(|index| panic!("{index} was left behind"));
    from.retire(|index| panic!("{index} was not taken"));
    wake(behind);
}

/// Of each ring in the line.
const CAPACITY: usize = 2;

/// Five threads: a producer, three that pass on, a consumer. The end of the producer ends them all.
#[test]
fn a_line_of_sleepers_runs_dry_and_shuts_down() {
    for mode in [spsc::Mode::Vector, spsc::Mode::Index] {
        check(move || {
            let known: [Known; 5] = std::array::from_fn(|_| Arc::default());
            let (mut first, mut from) = spsc::ring_of(mode, CAPACITY);
            let mut threads = Vec::new();
            for place in 1..4 {
                let (to, next) = spsc::ring_of(mode, CAPACITY);
                let from = std::mem::replace(&mut from, next);
                let known = known.clone();
                threads.push(thread::spawn(move || {
                    pass_on(from, to, &known[place], &known[place - 1], &known[place + 1]);
                }));
            }
            let ends = known.clone();
            threads.push(thread::spawn(move || {
                let sleeper = Sleeper::current();
                *ends[4].lock().unwrap() = Some(sleeper.clone());
                let mut popped = Vec::new();
                while !(from.is_closed() && from.is_empty()) {
                    match from.pop() {
                        Some(index) => popped.push(index),
                        None => sleeper.sleep_unless(|| !from.is_empty() || from.is_closed()),
                    }
                    wake(&ends[3]);
                }
                assert!(popped.into_iter().eq(0..COUNT));
            }));
            let sleeper = Sleeper::current();
            *known[0].lock().unwrap() = Some(sleeper.clone());
            let room = first.gauge();
            for index in 0..COUNT {
                while first.push_batch(&[index]) == 0 {
                    sleeper.sleep_unless(|| room.depth() < CAPACITY);
                }
                wake(&known[1]);
            }
            first.retire(|index| panic!("{index} was left behind"));
            wake(&known[1]);
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        });
    }
}

/// Three producers and one consumer that sleeps; without `looks_again` it may sleep over what was pushed before its flag went up.
fn many_wake_one(looks_again: bool) {
    let ring = Arc::new(mpmc::Ring::new(4));
    let sleeper = Sleeper::current();
    let producers = [0, 1, 2].map(|producer| {
        let (ring, sleeper) = (ring.clone(), sleeper.clone());
        thread::spawn(move || {
            for index in [2 * producer, 2 * producer + 1] {
                while ring.push(index).is_err() {
                    thread::yield_now();
                }
                sleeper.wake();
            }
        })
    });
    let mut popped = Vec::new();
    while popped.len() < COUNT as usize {
        match ring.pop() {
            Some(index) => popped.push(index),
            None => sleeper.sleep_unless(|| looks_again && !ring.is_empty()),
        }
    }
    producers.into_iter().for_each(|producer| producer.join().unwrap());
    popped.sort_unstable();
    assert!(popped.into_iter().eq(0..COUNT));
}

#[test]
fn many_producers_wake_one_consumer() {
    check(|| many_wake_one(true));
}

#[test]
#[should_panic(expected = "deadlock")]
fn a_sleeper_that_does_not_look_again_is_found_out() {
    check(|| many_wake_one(false));
}
