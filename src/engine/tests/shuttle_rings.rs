//! Rings between four or five threads that come, go and close them, under random schedules.
#![cfg(shuttle)]

#[path = "support/schedules.rs"]
mod schedules;

use levada_engine::ring::{mpmc, spsc};
use schedules::check;
use shuttle::sync::{Arc, Mutex};
use shuttle::thread;

/// Indices of one producer.
const COUNT: u32 = 4;

fn numbers(producer: u32) -> std::ops::Range<u32> {
    producer * COUNT..(producer + 1) * COUNT
}

/// Pushes all of `indices`, singly or in batches; how many went in before the ring was closed.
fn push_all(ring: &mpmc::Ring, indices: &[u32], singly: bool) -> usize {
    let mut pushed = 0;
    while pushed < indices.len() {
        let outcome = if singly { ring.push(indices[pushed]).map(|()| 1) } else { ring.push_batch(&indices[pushed..]) };
        match outcome {
            Ok(count) => pushed += count,
            Err(mpmc::Refused::Full) => thread::yield_now(),
            Err(mpmc::Refused::Closed) => break,
        }
    }
    pushed
}

/// Pops until the ring is closed and empty.
fn pop_all(ring: &mpmc::Ring, singly: bool) -> Vec<u32> {
    let mut all = Vec::new();
    while !ring.is_finished() {
        let mut popped = [0; 3];
        let count =
            if singly { ring.pop().map_or(0, |index| (popped[0] = index, 1).1) } else { ring.pop_batch(&mut popped) };
        all.extend(&popped[..count]);
        if count == 0 {
            thread::yield_now();
        }
    }
    all
}

#[test]
fn mpmc_hands_each_index_to_one_consumer_in_order() {
    check(|| {
        let ring = Arc::new(mpmc::Ring::new(2));
        let producers = [0, 1].map(|producer| {
            let ring = ring.clone();
            thread::spawn(move || {
                let indices: Vec<u32> = numbers(producer).collect();
                assert_eq!(push_all(&ring, &indices, producer == 0), indices.len());
            })
        });
        let consumers = [0, 1].map(|consumer| {
            let ring = ring.clone();
            thread::spawn(move || pop_all(&ring, consumer == 0))
        });
        producers.into_iter().for_each(|producer| producer.join().unwrap());
        ring.close();
        let popped = consumers.map(|consumer| consumer.join().unwrap());
        for (own, producer) in popped.iter().flat_map(|own| [(own, 0), (own, 1)]) {
            assert!(own.iter().filter(|index| numbers(producer).contains(index)).is_sorted(), "{own:?}");
        }
        let mut all = popped.concat();
        all.sort_unstable();
        assert!(all.into_iter().eq(0..2 * COUNT));
    });
}

/// A push is either refused or popped, whenever the close comes.
#[test]
fn mpmc_closed_in_the_middle_keeps_what_it_took() {
    check(|| {
        let ring = Arc::new(mpmc::Ring::new(2));
        let producers = [0, 1].map(|producer| {
            let ring = ring.clone();
            thread::spawn(move || {
                let indices: Vec<u32> = numbers(producer).collect();
                let pushed = push_all(&ring, &indices, producer == 1);
                indices[..pushed].to_vec()
            })
        });
        let closer = {
            let ring = ring.clone();
            thread::spawn(move || ring.close())
        };
        let consumer = {
            let ring = ring.clone();
            thread::spawn(move || pop_all(&ring, true))
        };
        let mut pushed = producers.map(|producer| producer.join().unwrap()).concat();
        closer.join().unwrap();
        let mut popped = consumer.join().unwrap();
        pushed.sort_unstable();
        popped.sort_unstable();
        assert_eq!(pushed, popped);
    });
}

#[test]
fn of_a_ring_that_drops_its_oldest_each_index_is_dropped_or_popped() {
    check(|| {
        let ring = Arc::new(mpmc::Ring::new(2));
        let producer = {
            let ring = ring.clone();
            thread::spawn(move || {
                let mut dropped = Vec::new();
                for index in 0..2 * COUNT {
                    ring.push_over_oldest(index, |lost| dropped.push(lost));
                }
                dropped
            })
        };
        let consumers = [false, true].map(|singly| {
            let ring = ring.clone();
            thread::spawn(move || pop_all(&ring, singly))
        });
        let closer = {
            let ring = ring.clone();
            thread::spawn(move || {
                (0..8).for_each(|_| thread::yield_now());
                ring.close();
            })
        };
        closer.join().unwrap();
        let mut all = consumers.map(|consumer| consumer.join().unwrap()).concat();
        all.extend(producer.join().unwrap());
        all.sort_unstable();
        assert!(all.into_iter().eq(0..2 * COUNT));
    });
}

/// Whoever leaves last, and whenever: each index is popped, or handed to the last of the two, or was never pushed.
#[test]
fn spsc_abandoned_at_both_ends_hands_out_every_index_once() {
    for mode in [spsc::Mode::Vector, spsc::Mode::Index] {
        check(move || {
            let (mut producer, mut consumer) = spsc::ring_of(mode, 4);
            let gauge = producer.gauge();
            let seen = Arc::new(Mutex::new(Vec::new()));
            let theirs = seen.clone();
            let pushing = thread::spawn(move || {
                let mut next = 0;
                while next < 2 * COUNT && !producer.is_abandoned() {
                    let batch: Vec<u32> = (next..next + 3).collect();
                    next += producer.push_batch(&batch) as u32;
                    thread::yield_now();
                }
                producer.retire(|index| theirs.lock().unwrap().push(index));
                next
            });
            let theirs = seen.clone();
            let popping = thread::spawn(move || {
                for most in [1, 2, 3] {
                    consumer.pop_each(most, |index| {
                        theirs.lock().unwrap().push(index);
                        true
                    });
                    thread::yield_now();
                }
                consumer.retire(|index| theirs.lock().unwrap().push(index));
            });
            let watchers = [(); 2].map(|()| {
                let gauge = gauge.clone();
                thread::spawn(move || (0..3).for_each(|_| assert!(gauge.depth() <= 4)))
            });
            let pushed = pushing.join().unwrap();
            popping.join().unwrap();
            watchers.into_iter().for_each(|watcher| watcher.join().unwrap());
            let seen = seen.lock().unwrap();
            assert!(seen.iter().copied().eq(0..pushed), "{pushed} were pushed: {seen:?}");
        });
    }
}
