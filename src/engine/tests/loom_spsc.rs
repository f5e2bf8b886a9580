//! Models of the one-to-one ring: every interleaving (with few preemptions) of a producer and a consumer.
#![cfg(loom)]

use levada_engine::ring::spsc::{self, Mode};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

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

fn who_sees_the_close_sees_every_push(mode: Mode) {
    model(move || {
        let (mut producer, mut consumer) = spsc::ring_of(mode, 2);
        let cells = payloads(1);
        let theirs = cells.clone();
        let thread = thread::spawn(move || {
            write(&theirs, 0);
            assert_eq!(producer.push_batch(&[0]), 1);
        });
        if consumer.is_closed() {
            assert!(!consumer.is_empty(), "the push came before the close");
            assert_eq!(consumer.pop(), Some(0));
            read(&cells, 0);
        }
        thread.join().unwrap();
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

#[test]
fn vector_order_and_payloads_survive_wrapping() {
    order_and_payloads_survive_wrapping(Mode::Vector);
}

#[test]
fn vector_full_ring_takes_what_fits_and_never_overwrites() {
    full_ring_takes_what_fits_and_never_overwrites(Mode::Vector);
}

#[test]
fn vector_who_sees_the_close_sees_every_push() {
    who_sees_the_close_sees_every_push(Mode::Vector);
}

#[test]
fn vector_batches_are_popped_whole_and_once() {
    batches_are_popped_whole_and_once(Mode::Vector);
}

#[test]
fn index_order_and_payloads_survive_wrapping() {
    order_and_payloads_survive_wrapping(Mode::Index);
}

#[test]
fn index_full_ring_takes_what_fits_and_never_overwrites() {
    full_ring_takes_what_fits_and_never_overwrites(Mode::Index);
}

#[test]
fn index_who_sees_the_close_sees_every_push() {
    who_sees_the_close_sees_every_push(Mode::Index);
}

#[test]
fn index_batches_are_popped_whole_and_once() {
    batches_are_popped_whole_and_once(Mode::Index);
}
