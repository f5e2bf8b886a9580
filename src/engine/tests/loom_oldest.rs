//! Every interleaving of a producer that drops the oldest with a consumer that takes it.
#![cfg(loom)]

use levada_engine::ring::mpmc::Ring;
use loom::cell::UnsafeCell;
use loom::sync::Arc;

#[path = "common/proof.rs"]
mod proof;
#[path = "common/sources.rs"]
mod sources;

use proof::Proof;

fn model(check: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(check);
}

#[test]
fn each_index_is_taken_or_dropped_once_and_in_order() {
    model(|| {
        let ring = Arc::new(Ring::new(2));
        let producer = {
            let ring = ring.clone();
            loom::thread::spawn(move || {
                let mut dropped = Vec::new();
                for index in 0..4 {
                    ring.push_over_oldest(index, |lost| dropped.push(lost));
                }
                ring.close();
                dropped
            })
        };
        let mut taken = Vec::new();
        for _ in 0..2 {
            taken.extend(ring.pop());
        }
        let dropped = producer.join().expect("the producer does not panic");
        taken.extend(std::iter::from_fn(|| ring.pop()));
        assert!(ring.is_finished());
        assert!(taken.is_sorted_by(|a, b| a < b), "{taken:?} are in order");
        let mut all = [taken, dropped].concat();
        all.sort_unstable();
        assert_eq!(all, [0, 1, 2, 3]);
    });
}

#[test]
fn a_consumer_that_leaves_takes_what_is_left_and_nothing_is_lost() {
    model(|| {
        let ring = Arc::new(Ring::new(2));
        let producer = {
            let ring = ring.clone();
            loom::thread::spawn(move || {
                let mut dropped = Vec::new();
                let pushed = (0..3).filter(|index| ring.push_over_oldest(*index, |lost| dropped.push(lost))).count();
                (pushed, dropped)
            })
        };
        ring.close();
        let mut taken = Vec::new();
        while !ring.is_finished() {
            match ring.pop() {
                Some(index) => taken.push(index),
                None => loom::thread::yield_now(),
            }
        }
        let (pushed, dropped) = producer.join().expect("the producer does not panic");
        assert!(pushed <= taken.len() + dropped.len());
        let mut all = [taken, dropped].concat();
        all.sort_unstable();
        assert_eq!(all, [0, 1, 2]);
    });
}

/// What the index stands for is in the hands of this thread alone.
fn have(payloads: &[UnsafeCell<u32>], index: u32) {
    // SAFETY: loom fails the model if another thread touches the cell without being ordered before or after.
    payloads[index as usize].with_mut(|payload| unsafe { *payload += 1 });
}

#[test]
fn what_is_taken_or_dropped_belongs_to_who_gets_it() {
    model(|| {
        let ring = Arc::new(Ring::new(2));
        let payloads: Arc<Vec<UnsafeCell<u32>>> = Arc::new((0..3).map(UnsafeCell::new).collect());
        let (pushing, theirs) = (ring.clone(), payloads.clone());
        let producer = loom::thread::spawn(move || {
            for index in 0..3 {
                have(&theirs, index);
                pushing.push_over_oldest(index, |lost| have(&theirs, lost));
            }
        });
        for _ in 0..2 {
            match ring.pop() {
                Some(index) => have(&payloads, index),
                None => loom::thread::yield_now(),
            }
        }
        producer.join().expect("the producer does not panic");
    });
}

const PROOF: Proof = Proof {
    about: &["ring/mpmc.rs Cell"],
    elsewhere: &[],
    models: &[("what_is_taken_or_dropped_belongs_to_who_gets_it", what_is_taken_or_dropped_belongs_to_who_gets_it)],
    spared: &[],
    fences_only_exclude: false,
};

#[test]
fn every_ordering_is_needed() {
    PROOF.check();
}

needed! {
    PROOF;
    without_the_release_of_a_cell:
        "ring/mpmc.rs Cell::set 0.store release", what_is_taken_or_dropped_belongs_to_who_gets_it;
    without_the_acquire_of_a_cell:
        "ring/mpmc.rs Cell::lead 0.load acquire", what_is_taken_or_dropped_belongs_to_who_gets_it;
}
