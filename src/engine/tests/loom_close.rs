//! Models of endings: closing against pushing, and both ends of a ring leaving at once.
#![cfg(loom)]

use levada_engine::ring::mpmc;
use levada_engine::ring::spsc::{self, Mode};
use loom::sync::Arc;
use loom::thread;

fn model(body: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(body);
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

#[test]
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

#[test]
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

#[test]
fn vector_spsc_ends_leave_at_once_and_every_index_comes_back_once() {
    spsc_ends_leave_at_once_and_every_index_comes_back_once(Mode::Vector);
}

#[test]
fn vector_spsc_consumer_finishes_with_everything() {
    spsc_consumer_finishes_with_everything(Mode::Vector);
}

#[test]
fn index_spsc_ends_leave_at_once_and_every_index_comes_back_once() {
    spsc_ends_leave_at_once_and_every_index_comes_back_once(Mode::Index);
}

#[test]
fn index_spsc_consumer_finishes_with_everything() {
    spsc_consumer_finishes_with_everything(Mode::Index);
}
