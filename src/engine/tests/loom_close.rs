//! Models of endings: closing against pushing, and both ends of a ring leaving at once.
#![cfg(loom)]

use levada_engine::ring::mpmc;
use levada_engine::ring::spsc::{self, Mode};
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

/// Something that one thread leaves for another: loom reports any use that is not ordered.
#[derive(Default)]
struct Left(UnsafeCell<u32>);

impl Left {
    fn put(&self) {
        // SAFETY: loom fails the model if another thread touches the cell without being ordered before or after.
        self.0.with_mut(|cell| unsafe { *cell = 1 });
    }

    fn find(&self) {
        // SAFETY: as above.
        self.0.with(|cell| assert_eq!(unsafe { *cell }, 1));
    }
}

/// As an inlet retires: closes, then takes all that was pushed before.
fn close_and_drain(ring: &mpmc::Ring) -> Vec<u32> {
    ring.close();
    let mut popped = Vec::new();
    while !ring.is_finished() {
        match ring.pop() {
            Some(index) => popped.push(index),
            None => thread::yield_now(),
        }
    }
    popped
}

fn mpmc_push_is_refused_or_popped() {
    model(|| {
        let ring = Arc::new(mpmc::Ring::new(2));
        let threads = [1, 2].map(|index| {
            let ring = ring.clone();
            thread::spawn(move || ring.push(index).map(|()| index))
        });
        let mut popped = close_and_drain(&ring);
        popped.sort_unstable();
        let pushed: Vec<u32> = threads.into_iter().filter_map(|thread| thread.join().unwrap().ok()).collect();
        assert_eq!(popped, pushed);
        assert_eq!(ring.push(3), Err(mpmc::Refused::Closed));
        assert_eq!(ring.pop(), None);
    });
}

fn mpmc_close_of_a_wrapped_ring() {
    model(|| {
        let ring = Arc::new(mpmc::Ring::new(2));
        ring.push(1).unwrap();
        ring.push(2).unwrap();
        let pushing = ring.clone();
        let thread = thread::spawn(move || pushing.push(3));
        let first = ring.pop().unwrap();
        let rest = close_and_drain(&ring);
        let pushed = thread.join().unwrap();
        assert_eq!((first, &rest[..]), (1, if pushed.is_ok() { &[2, 3][..] } else { &[2] }));
    });
}

fn mpmc_who_sees_the_end_sees_what_came_before_the_close() {
    model(|| {
        let (ring, left) = (Arc::new(mpmc::Ring::new(2)), Arc::new(Left::default()));
        let (closing, theirs) = (ring.clone(), left.clone());
        let thread = thread::spawn(move || {
            theirs.put();
            closing.close();
        });
        if ring.is_finished() {
            left.find();
        }
        thread.join().unwrap();
    });
}

fn spsc_ends_leave_at_once_and_every_index_comes_back_once(mode: Mode) {
    model(move || {
        let (mut producer, mut consumer) = spsc::ring_of(mode, 4);
        let thread = thread::spawn(move || {
            let mut back = Vec::new();
            for batch in [[1, 2], [3, 4]] {
                // As an outlet flushes.
                let pushed = if producer.is_abandoned() { 0 } else { producer.push_batch(&batch) };
                back.extend(&batch[pushed..]);
            }
            producer.retire(|index| back.push(index));
            back
        });
        let mut mine: Vec<u32> = consumer.pop().into_iter().collect();
        consumer.retire(|index| mine.push(index));
        mine.extend(thread.join().unwrap());
        mine.sort_unstable();
        assert_eq!(mine, [1, 2, 3, 4]);
    });
}

fn spsc_consumer_finishes_with_everything(mode: Mode) {
    model(move || {
        let (mut producer, mut consumer) = spsc::ring_of(mode, 2);
        let thread = thread::spawn(move || {
            assert_eq!(producer.push_batch(&[1, 2]), 2);
            producer.retire(|index| panic!("{index} was left, and the consumer is still there"));
        });
        let mut popped = Vec::new();
        // The order matters: closed first, then empty.
        while !(consumer.is_closed() && consumer.is_empty()) {
            match consumer.pop() {
                Some(index) => popped.push(index),
                None => thread::yield_now(),
            }
        }
        assert_eq!(popped, [1, 2]);
        thread.join().unwrap();
        consumer.retire(|index| panic!("{index} was left"));
    });
}

fn spsc_who_sees_the_close_sees_every_push(mode: Mode) {
    model(move || {
        let (mut producer, mut consumer) = spsc::ring_of(mode, 2);
        let left = Arc::new(Left::default());
        let theirs = left.clone();
        let thread = thread::spawn(move || {
            theirs.put();
            assert_eq!(producer.push_batch(&[0]), 1);
        });
        if consumer.is_closed() {
            assert!(!consumer.is_empty(), "the push came before the close");
            assert_eq!(consumer.pop(), Some(0));
            left.find();
        }
        thread.join().unwrap();
    });
}

fn spsc_who_sees_the_consumer_gone_sees_its_last_use(mode: Mode) {
    model(move || {
        let (producer, consumer) = spsc::ring_of(mode, 2);
        let left = Arc::new(Left::default());
        let theirs = left.clone();
        let thread = thread::spawn(move || {
            theirs.put();
            drop(consumer);
        });
        if producer.is_abandoned() {
            left.find();
        }
        thread.join().unwrap();
    });
}

macro_rules! models {
    ($($test:ident: $model:ident($($mode:ident)?);)*) => {
        $(
            #[test]
            fn $test() {
                $model($(Mode::$mode)?);
            }
        )*

        const MODELS: &[proof::Model] = &[$((stringify!($test), $test)),*];
    };
}

models! {
    mpmc_end_comes_after_what_came_before_the_close: mpmc_who_sees_the_end_sees_what_came_before_the_close();
    mpmc_push_against_a_close: mpmc_push_is_refused_or_popped();
    mpmc_close_when_wrapped: mpmc_close_of_a_wrapped_ring();
    index_close_comes_after_every_push: spsc_who_sees_the_close_sees_every_push(Index);
    index_end_of_the_consumer_comes_after_its_last_use: spsc_who_sees_the_consumer_gone_sees_its_last_use(Index);
    index_consumer_finishes_with_everything: spsc_consumer_finishes_with_everything(Index);
    index_ends_leave_at_once: spsc_ends_leave_at_once_and_every_index_comes_back_once(Index);
    vector_close_comes_after_every_push: spsc_who_sees_the_close_sees_every_push(Vector);
    vector_consumer_finishes_with_everything: spsc_consumer_finishes_with_everything(Vector);
    vector_ends_leave_at_once: spsc_ends_leave_at_once_and_every_index_comes_back_once(Vector);
}

const PROOF: Proof = Proof {
    about: &["ring/ends.rs", "ring/mpmc.rs Ring::close", "ring/mpmc.rs Ring::is_finished"],
    elsewhere: &[],
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
    without_the_release_of_closed:
        "ring/ends.rs Ends::close closed.store release", index_close_comes_after_every_push;
    without_the_acquire_of_closed:
        "ring/ends.rs Ends::is_closed closed.load acquire", index_close_comes_after_every_push;
    without_the_release_of_abandoned:
        "ring/ends.rs Ends::abandon abandoned.store release", index_end_of_the_consumer_comes_after_its_last_use;
    without_the_acquire_of_abandoned:
        "ring/ends.rs Ends::is_abandoned abandoned.load acquire", index_end_of_the_consumer_comes_after_its_last_use;
    without_the_release_of_the_first_to_leave:
        "ring/ends.rs Ends::leave left.fetch_sub release", index_ends_leave_at_once;
    without_the_acquire_of_the_last_to_leave:
        "ring/ends.rs Ends::leave left.fetch_sub acquire", index_ends_leave_at_once;
    vector_without_the_release_of_the_first_to_leave:
        "ring/ends.rs Ends::leave left.fetch_sub release", vector_ends_leave_at_once;
    vector_without_the_acquire_of_the_last_to_leave:
        "ring/ends.rs Ends::leave left.fetch_sub acquire", vector_ends_leave_at_once;
    without_the_release_of_a_close:
        "ring/mpmc.rs Ring::close tail.fetch_or release", mpmc_end_comes_after_what_came_before_the_close;
    without_the_acquire_of_the_end:
        "ring/mpmc.rs Ring::is_finished tail.load acquire", mpmc_end_comes_after_what_came_before_the_close;
}
