//! Models of sleeping and waking: a lost wake-up is a deadlock, which loom reports.
#![cfg(loom)]

use levada_engine::SleepFlag;
use levada_engine::ring::{mpmc, spsc};
use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;

#[path = "common/proof.rs"]
mod proof;
#[path = "common/sources.rs"]
mod sources;

use proof::Proof;

fn model(body: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(body);
}

/// A sleep flag, and the token that `park` takes and `unpark` leaves.
struct Sleeper {
    flag: SleepFlag,
    token: Mutex<bool>,
    unparked: Condvar,
}

impl Sleeper {
    fn new() -> Arc<Self> {
        Arc::new(Self { flag: SleepFlag::new(), token: Mutex::new(false), unparked: Condvar::new() })
    }

    /// As a worker sleeps: flag up, one more look, sleep, flag down.
    fn sleep_unless(&self, has_work: impl FnOnce() -> bool) {
        self.flag.raise();
        if !has_work() {
            let mut token = self.token.lock().unwrap();
            while !*token {
                token = self.unparked.wait(token).unwrap();
            }
            *token = false;
        }
        self.flag.lower();
    }

    /// As a link wakes its consumer, after publishing.
    fn wake(&self) -> bool {
        let woke = self.flag.lower_if_raised();
        if woke {
            *self.token.lock().unwrap() = true;
            self.unparked.notify_one();
        }
        woke
    }
}

#[test]
fn spsc_consumer_never_sleeps_over_an_index() {
    model(|| {
        let sleeper = Sleeper::new();
        let (mut producer, mut consumer) = spsc::ring(2);
        let theirs = sleeper.clone();
        let waker = thread::spawn(move || {
            for index in [1, 2] {
                assert_eq!(producer.push_batch(&[index]), 1);
                theirs.wake();
            }
        });
        for expected in [1, 2] {
            let index = loop {
                match consumer.pop() {
                    Some(index) => break index,
                    None => sleeper.sleep_unless(|| !consumer.is_empty()),
                }
            };
            assert_eq!(index, expected);
        }
        waker.join().unwrap();
    });
}

#[test]
fn mpmc_consumer_never_sleeps_over_an_index() {
    model(|| {
        let sleeper = Sleeper::new();
        let ring = Arc::new(mpmc::Ring::new(2));
        let (theirs, pushing) = (sleeper.clone(), ring.clone());
        let waker = thread::spawn(move || {
            pushing.push(7).unwrap();
            theirs.wake();
        });
        let index = loop {
            match ring.pop() {
                Some(index) => break index,
                // A push claimed and not yet filled counts as work: the worker turns once more instead of sleeping.
                None => sleeper.sleep_unless(|| {
                    thread::yield_now();
                    !ring.is_empty()
                }),
            }
        };
        assert_eq!(index, 7);
        waker.join().unwrap();
    });
}

#[test]
fn two_wakers_wake_once_per_sleep() {
    model(|| {
        let sleeper = Sleeper::new();
        let work = Arc::new(AtomicUsize::new(0));
        let wakers = [(), ()].map(|()| {
            let (sleeper, work) = (sleeper.clone(), work.clone());
            thread::spawn(move || {
                work.fetch_add(1, Relaxed);
                usize::from(sleeper.wake())
            })
        });
        let mut sleeps = 0;
        while work.load(Relaxed) < 2 {
            let seen = work.load(Relaxed);
            sleeps += 1;
            sleeper.sleep_unless(|| work.load(Relaxed) != seen || seen == 2);
        }
        let wakes: usize = wakers.into_iter().map(|waker| waker.join().unwrap()).sum();
        assert!(wakes <= sleeps, "{wakes} wake-ups for {sleeps} sleeps");
    });
}

#[test]
fn a_close_wakes_the_sleeper() {
    model(|| {
        let sleeper = Sleeper::new();
        let (producer, consumer) = spsc::ring(2);
        let theirs = sleeper.clone();
        let waker = thread::spawn(move || {
            producer.retire(|_| ());
            theirs.wake();
        });
        while !consumer.is_closed() {
            sleeper.sleep_unless(|| consumer.is_closed());
        }
        waker.join().unwrap();
    });
}

#[test]
fn the_thread_to_wake_is_known_to_who_wakes_it() {
    model(|| {
        let (sleeper, name) = (Sleeper::new(), Arc::new(UnsafeCell::new(0)));
        let (theirs, known) = (sleeper.clone(), name.clone());
        let waker = thread::spawn(move || {
            if theirs.flag.lower_if_raised() {
                // SAFETY: loom fails the model if the write is not ordered before.
                known.with(|name| assert_eq!(unsafe { *name }, 1));
            }
        });
        // SAFETY: as above.
        name.with_mut(|name| unsafe { *name = 1 });
        sleeper.flag.raise();
        waker.join().unwrap();
    });
}

const MODELS: &[proof::Model] = &[
    ("the_thread_to_wake_is_known_to_who_wakes_it", the_thread_to_wake_is_known_to_who_wakes_it),
    ("a_close_wakes_the_sleeper", a_close_wakes_the_sleeper),
    ("spsc_consumer_never_sleeps_over_an_index", spsc_consumer_never_sleeps_over_an_index),
    ("mpmc_consumer_never_sleeps_over_an_index", mpmc_consumer_never_sleeps_over_an_index),
    ("two_wakers_wake_once_per_sleep", two_wakers_wake_once_per_sleep),
];

const PROOF: Proof =
    Proof { about: &["wait.rs"], elsewhere: &[], models: MODELS, spared: &[], fences_only_exclude: false };

#[test]
fn every_ordering_is_needed() {
    PROOF.check();
}

/// A fence does no more than make sleeper or waker see the other: with links that look at one value only, the models pass
/// when it publishes nothing.
#[test]
fn no_fence_publishes() {
    let models: &[proof::Model] = &[
        ("the_thread_to_wake_is_known_to_who_wakes_it", the_thread_to_wake_is_known_to_who_wakes_it),
        ("a_close_wakes_the_sleeper", a_close_wakes_the_sleeper),
        ("spsc_consumer_never_sleeps_over_an_index", spsc_consumer_never_sleeps_over_an_index),
    ];
    Proof { about: &[], elsewhere: &[], models, spared: &[], fences_only_exclude: true }.check();
}

needed! {
    PROOF;
    without_the_fence_of_the_sleeper: "wait.rs SleepFlag::raise fence whole", a_close_wakes_the_sleeper;
    without_the_fence_of_the_waker: "wait.rs SleepFlag::lower_if_raised fence whole", a_close_wakes_the_sleeper;
    without_the_release_of_the_flag:
        "wait.rs SleepFlag::raise 0.store release", the_thread_to_wake_is_known_to_who_wakes_it;
    without_the_acquire_of_the_flag:
        "wait.rs SleepFlag::lower_if_raised 0.compare_exchange acquire", the_thread_to_wake_is_known_to_who_wakes_it;
}
