//! Models of the many-to-many ring.
#![cfg(loom)]

use levada_engine::ring::mpmc::{Refused, Ring};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
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

/// A ring beside what its indices stand for.
struct Shared {
    ring: Ring,
    payloads: Vec<UnsafeCell<u32>>,
}

impl Shared {
    fn new(payloads: usize) -> Arc<Self> {
        Arc::new(Self { ring: Ring::new(2), payloads: (0..payloads).map(|_| UnsafeCell::new(0)).collect() })
    }

    fn push(&self, index: u32) {
        // SAFETY: loom fails the model if another thread touches the cell without being ordered before or after.
        self.payloads[index as usize].with_mut(|cell| unsafe { *cell = index + 100 });
        while let Err(refused) = self.ring.push(index) {
            assert_eq!(refused, Refused::Full);
            thread::yield_now();
        }
    }

    /// Pushes what fits at once; what that was.
    fn try_push_batch(&self, batch: &[u32]) -> Vec<u32> {
        // SAFETY: as above.
        batch.iter().for_each(|index| self.payloads[*index as usize].with_mut(|cell| unsafe { *cell = index + 100 }));
        batch[..self.ring.push_batch(batch).unwrap_or(0)].to_vec()
    }

    /// Takes up to two indices, and their payloads for itself alone.
    fn pop_batch(&self) -> Vec<u32> {
        let mut batch = vec![0; 2];
        let count = self.ring.pop_batch(&mut batch);
        batch.truncate(count);
        batch.iter().for_each(|index| self.take(*index));
        batch
    }

    fn take(&self, index: u32) {
        // SAFETY: as above; writing makes two consumers of one index a reported race.
        self.payloads[index as usize].with_mut(|cell| unsafe {
            assert_eq!(*cell, index + 100);
            *cell = 0;
        });
    }

    /// Takes one index, if there is one, and its payload for itself alone.
    fn try_pop(&self) -> Option<u32> {
        let index = self.ring.pop()?;
        self.take(index);
        Some(index)
    }

    fn pop(&self) -> u32 {
        loop {
            match self.try_pop() {
                Some(index) => return index,
                None => thread::yield_now(),
            }
        }
    }
}

#[test]
fn two_producers_lose_and_double_nothing() {
    model(|| {
        let shared = Shared::new(2);
        let threads = [0, 1].map(|index| {
            let shared = shared.clone();
            thread::spawn(move || shared.push(index))
        });
        let mut popped = [shared.pop(), shared.pop()];
        popped.sort_unstable();
        assert_eq!(popped, [0, 1]);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert!(shared.ring.is_empty());
    });
}

#[test]
fn two_consumers_share_what_one_producer_pushes() {
    model(|| {
        let shared = Shared::new(2);
        let (producer, consumer) = (shared.clone(), shared.clone());
        let pushing = thread::spawn(move || (0..2).for_each(|index| producer.push(index)));
        let popping = thread::spawn(move || consumer.try_pop());
        let mine = shared.try_pop();
        pushing.join().unwrap();
        let theirs = popping.join().unwrap();
        let mut all: Vec<u32> = mine.into_iter().chain(theirs).chain(std::iter::from_fn(|| shared.try_pop())).collect();
        all.sort_unstable();
        assert_eq!(all, [0, 1]);
    });
}

#[test]
fn cells_are_reused_only_after_they_were_read() {
    model(|| {
        let shared = Shared::new(3);
        let producer = shared.clone();
        let thread = thread::spawn(move || (0..3).for_each(|index| producer.push(index)));
        assert_eq!([shared.pop(), shared.pop(), shared.pop()], [0, 1, 2]);
        thread.join().unwrap();
        assert_eq!(shared.ring.depth(), 0);
    });
}

#[test]
fn batches_from_two_producers_keep_their_order_and_their_payloads() {
    model(|| {
        let shared = Shared::new(4);
        let threads = [[0, 1], [2, 3]].map(|batch| {
            let shared = shared.clone();
            thread::spawn(move || shared.try_push_batch(&batch))
        });
        let mut popped = shared.pop_batch();
        let pushed: Vec<u32> = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
        popped.extend(shared.pop_batch());
        popped.extend(shared.pop_batch());
        assert!(shared.ring.is_empty() && pushed.len() >= 2);
        for lane in [[0, 1], [2, 3]] {
            let of_lane = |index: &u32| lane.contains(index);
            let (mine, theirs) = (pushed.iter().copied().filter(of_lane), popped.iter().copied().filter(of_lane));
            assert!(mine.eq(theirs), "{popped:?} after {pushed:?}");
        }
    });
}

#[test]
fn two_consumers_of_batches_share_what_is_there() {
    model(|| {
        let shared = Shared::new(2);
        let (producer, consumer) = (shared.clone(), shared.clone());
        let pushing = thread::spawn(move || producer.try_push_batch(&[0, 1]));
        let popping = thread::spawn(move || consumer.pop_batch());
        let mine = shared.pop_batch();
        assert_eq!(pushing.join().unwrap(), [0, 1]);
        let theirs = popping.join().unwrap();
        let mut all = [mine, theirs, shared.pop_batch()].concat();
        all.sort_unstable();
        assert_eq!(all, [0, 1]);
    });
}

const MODELS: &[proof::Model] = &[
    ("cells_are_reused_only_after_they_were_read", cells_are_reused_only_after_they_were_read),
    ("two_consumers_of_batches_share_what_is_there", two_consumers_of_batches_share_what_is_there),
    ("two_consumers_share_what_one_producer_pushes", two_consumers_share_what_one_producer_pushes),
    ("two_producers_lose_and_double_nothing", two_producers_lose_and_double_nothing),
    (
        "batches_from_two_producers_keep_their_order_and_their_payloads",
        batches_from_two_producers_keep_their_order_and_their_payloads,
    ),
];

const PROOF: Proof = Proof {
    about: &["ring/mpmc.rs"],
    elsewhere: &["ring/mpmc.rs Ring::close", "ring/mpmc.rs Ring::is_finished"],
    models: MODELS,
    spared: &[],
    fences_only_exclude: false,
};

#[test]
fn every_ordering_is_needed() {
    PROOF.check();
}

needed! {
    PROOF;
    without_the_release_of_a_cell: "ring/mpmc.rs Cell::set 0.store release", cells_are_reused_only_after_they_were_read;
    without_the_acquire_of_a_cell: "ring/mpmc.rs Cell::lead 0.load acquire", cells_are_reused_only_after_they_were_read;
    batches_without_the_release_of_a_cell:
        "ring/mpmc.rs Cell::set 0.store release", two_consumers_of_batches_share_what_is_there;
    batches_without_the_acquire_of_a_cell:
        "ring/mpmc.rs Cell::lead 0.load acquire", two_consumers_of_batches_share_what_is_there;
}
