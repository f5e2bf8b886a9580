//! Models of the one-to-one ring: every interleaving (with few preemptions) of a producer and a consumer.
#![cfg(loom)]

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

/// What indices stand for: loom reports any read that the ring did not order after the write.
fn payloads(count: usize) -> Arc<Vec<UnsafeCell<u32>>> {
    Arc::new((0..count).map(|_| UnsafeCell::new(0)).collect())
}

fn write(payloads: &[UnsafeCell<u32>], index: u32) {
    // SAFETY: loom fails the model if another thread touches the cell without being ordered before or after.
    payloads[index as usize].with_mut(|cell| unsafe { *cell = index + 100 });
}

fn read(payloads: &[UnsafeCell<u32>], index: u32) {
    // SAFETY: as above.
    payloads[index as usize].with(|cell| assert_eq!(unsafe { *cell }, index + 100));
}

fn order_and_payloads_survive_wrapping(mode: Mode) {
    model(move || {
        let (mut producer, mut consumer) = spsc::ring_of(mode, 2);
        let cells = payloads(3);
        let theirs = cells.clone();
        let thread = thread::spawn(move || {
            for batch in [&[0, 1][..], &[2]] {
                batch.iter().for_each(|index| write(&theirs, *index));
                let mut left = batch;
                while !left.is_empty() {
                    left = &left[producer.push_batch(left)..];
                    if !left.is_empty() {
                        thread::yield_now();
                    }
                }
            }
        });
        for expected in 0..3 {
            let index = loop {
                match consumer.pop() {
                    Some(index) => break index,
                    None => thread::yield_now(),
                }
            };
            assert_eq!(index, expected);
            read(&cells, index);
        }
        thread.join().unwrap();
        assert_eq!(consumer.pop(), None);
    });
}

fn full_ring_takes_what_fits_and_never_overwrites(mode: Mode) {
    model(move || {
        let (mut producer, mut consumer) = spsc::ring_of(mode, 2);
        assert_eq!(producer.push_batch(&[1, 2, 3]), 2);
        let thread = thread::spawn(move || {
            let pushed = producer.push_batch(&[3, 4]);
            (pushed, producer)
        });
        let mut popped: Vec<u32> = std::iter::from_fn(|| consumer.pop()).collect();
        let (pushed, producer) = thread.join().unwrap();
        popped.extend(std::iter::from_fn(|| consumer.pop()));
        assert_eq!(popped, [1, 2, 3, 4][..2 + pushed]);
        drop(producer);
        assert!(consumer.is_closed());
    });
}

fn batches_are_popped_whole_and_once(mode: Mode) {
    model(move || {
        let (mut producer, mut consumer) = spsc::ring_of(mode, 2);
        let cells = payloads(3);
        let theirs = cells.clone();
        let thread = thread::spawn(move || {
            let mut popped = Vec::<u32>::new();
            while popped.len() < 3 {
                let mut batch = [9; 2];
                let count = consumer.pop_batch(&mut batch);
                batch[..count].iter().for_each(|index| read(&theirs, *index));
                popped.extend(&batch[..count]);
                if count == 0 {
                    thread::yield_now();
                }
            }
            popped
        });
        for batch in [&[0][..], &[1, 2]] {
            batch.iter().for_each(|index| write(&cells, *index));
            let mut left = batch;
            while !left.is_empty() {
                left = &left[producer.push_batch(left)..];
                if !left.is_empty() {
                    thread::yield_now();
                }
            }
        }
        assert_eq!(thread.join().unwrap(), [0, 1, 2]);
    });
}

/// What a taker does with an index it is given lies before whatever the producer does once it has room for another.
fn room_comes_after_the_use_of_what_stood_there(mode: Mode) {
    model(move || {
        let (mut producer, mut consumer) = spsc::ring_of(mode, 2);
        let cells = payloads(2);
        let theirs = cells.clone();
        [0, 1].iter().for_each(|index| write(&cells, *index));
        assert_eq!(producer.push_batch(&[0, 1]), 2);
        let thread = thread::spawn(move || {
            consumer.pop_each(1, |index| {
                read(&theirs, index);
                true
            })
        });
        if producer.push_batch(&[2]) == 1 {
            write(&cells, 0);
        }
        assert_eq!(thread.join().unwrap(), 1);
    });
}

macro_rules! models {
    ($($test:ident: $model:ident($mode:ident);)*) => {
        $(
            #[test]
            fn $test() {
                $model(Mode::$mode);
            }
        )*

        const MODELS: &[proof::Model] = &[$((stringify!($test), $test)),*];
    };
}

models! {
    index_room_comes_after_the_use_of_what_stood_there: room_comes_after_the_use_of_what_stood_there(Index);
    index_full_ring_takes_what_fits_and_never_overwrites: full_ring_takes_what_fits_and_never_overwrites(Index);
    index_order_and_payloads_survive_wrapping: order_and_payloads_survive_wrapping(Index);
    index_batches_are_popped_whole_and_once: batches_are_popped_whole_and_once(Index);
    vector_room_comes_after_the_use_of_what_stood_there: room_comes_after_the_use_of_what_stood_there(Vector);
    vector_full_ring_takes_what_fits_and_never_overwrites: full_ring_takes_what_fits_and_never_overwrites(Vector);
    vector_order_and_payloads_survive_wrapping: order_and_payloads_survive_wrapping(Vector);
    vector_batches_are_popped_whole_and_once: batches_are_popped_whole_and_once(Vector);
}

const PROOF: Proof = Proof {
    about: &["ring/index.rs", "ring/vector.rs"],
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
    index_without_the_release_of_tail:
        "ring/index.rs Producer::publish tail.store release", index_order_and_payloads_survive_wrapping;
    index_without_the_acquire_of_tail:
        "ring/index.rs Consumer::look tail.load acquire", index_order_and_payloads_survive_wrapping;
    index_without_the_release_of_head:
        "ring/index.rs Consumer::give_back head.store release", index_order_and_payloads_survive_wrapping;
    index_without_the_acquire_of_head:
        "ring/index.rs Producer::look head.load acquire", index_order_and_payloads_survive_wrapping;
    vector_without_the_release_of_a_slot:
        "ring/vector.rs Producer::fill .store release", vector_order_and_payloads_survive_wrapping;
    vector_without_the_acquire_of_a_slot:
        "ring/vector.rs Shared::header .load acquire", vector_order_and_payloads_survive_wrapping;
    vector_without_the_release_of_room:
        "ring/vector.rs Consumer::give_back popped.store release", vector_room_comes_after_the_use_of_what_stood_there;
    vector_without_the_acquire_of_room:
        "ring/vector.rs Producer::push_batch popped.load acquire", vector_room_comes_after_the_use_of_what_stood_there;
}
