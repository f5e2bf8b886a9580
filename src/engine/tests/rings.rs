//! The rings by themselves: full, closed, abandoned, and what is left in them.
#![cfg(not(loom))]

use levada_engine::ring::mpmc::{Refused, Ring};
use levada_engine::ring::spsc;

#[test]
fn spsc_takes_what_fits_and_keeps_the_order() {
    let (mut producer, mut consumer) = spsc::ring(4);
    assert_eq!(producer.push_batch(&[]), 0);
    assert_eq!(consumer.pop(), None);
    assert_eq!(producer.push_batch(&[1, 2, 3]), 3);
    assert_eq!(producer.push_batch(&[4, 5]), 1);
    assert_eq!(producer.push_batch(&[5]), 0);
    assert_eq!(producer.gauge().depth(), 4);
    assert_eq!(consumer.pop(), Some(1));
    assert_eq!(producer.push_batch(&[5]), 1);
    assert_eq!(std::iter::from_fn(|| consumer.pop()).collect::<Vec<_>>(), [2, 3, 4, 5]);
}

#[test]
fn spsc_of_one_cell_works() {
    let (mut producer, mut consumer) = spsc::ring(1);
    for index in 0..5 {
        assert_eq!(producer.push_batch(&[index, 99]), 1);
        assert_eq!(consumer.pop(), Some(index));
        assert_eq!(consumer.pop(), None);
    }
}

#[test]
fn spsc_closed_ring_still_gives_what_is_in_it() {
    let (mut producer, mut consumer) = spsc::ring(4);
    producer.push_batch(&[1]);
    assert!(!consumer.is_closed());
    drop(producer);
    assert!(consumer.is_closed() && !consumer.is_empty());
    assert_eq!(consumer.pop(), Some(1));
    assert!(consumer.is_empty());
}

#[test]
fn spsc_last_end_out_takes_the_leftovers_once() {
    for producer_first in [true, false] {
        let (mut producer, mut consumer) = spsc::ring(4);
        producer.push_batch(&[1, 2, 3]);
        assert_eq!(consumer.pop(), Some(1));
        let (mut first, mut last) = (Vec::new(), Vec::new());
        if producer_first {
            producer.retire(|index| first.push(index));
            consumer.retire(|index| last.push(index));
        } else {
            consumer.retire(|index| first.push(index));
            assert!(producer.is_abandoned());
            producer.retire(|index| last.push(index));
        }
        assert_eq!((first, last), (vec![], vec![2, 3]));
    }
}

#[test]
fn spsc_dropped_consumer_tells_the_producer() {
    let (mut producer, consumer) = spsc::ring(2);
    drop(consumer);
    assert!(producer.is_abandoned());
    assert_eq!(producer.push_batch(&[1, 2, 3]), 2, "a ring without a consumer fills up");
}

#[test]
fn mpmc_is_first_in_first_out_and_bounded() {
    let ring = Ring::new(4);
    assert_eq!(ring.pop(), None);
    for round in 0..10 {
        (0..4).for_each(|index| ring.push(round * 4 + index).unwrap());
        assert_eq!(ring.push(99), Err(Refused::Full));
        assert_eq!(ring.depth(), 4);
        (0..4).for_each(|index| assert_eq!(ring.pop(), Some(round * 4 + index)));
        assert_eq!(ring.pop(), None);
    }
}

#[test]
fn mpmc_closed_ring_refuses_and_still_gives() {
    let ring = Ring::new(2);
    ring.push(1).unwrap();
    ring.close();
    ring.close();
    assert_eq!(ring.push(2), Err(Refused::Closed));
    assert!(!ring.is_finished() && !ring.is_empty());
    assert_eq!(ring.pop(), Some(1));
    assert_eq!(ring.pop(), None);
    assert!(ring.is_finished() && ring.is_empty());
}

#[test]
fn mpmc_full_and_closed_says_closed() {
    let ring = Ring::new(2);
    (0..2).for_each(|index| ring.push(index).unwrap());
    assert_eq!(ring.push(2), Err(Refused::Full));
    ring.close();
    assert_eq!(ring.push(2), Err(Refused::Closed));
}

#[test]
#[should_panic(expected = "not a power of two")]
fn spsc_refuses_other_capacities() {
    let _ = spsc::ring(3);
}

#[test]
#[should_panic(expected = "not a power of two above 1")]
fn mpmc_refuses_a_single_cell() {
    let _ = Ring::new(1);
}

#[test]
fn mpmc_passes_everything_between_threads_once() {
    const EACH: u32 = 20_000;
    let ring = Ring::new(64);
    let sums = std::thread::scope(|scope| {
        for lane in 0..2 {
            let ring = &ring;
            scope.spawn(move || {
                for index in 0..EACH {
                    while ring.push(lane * EACH + index).is_err() {
                        std::thread::yield_now();
                    }
                }
            });
        }
        let consumers = [(), ()].map(|()| {
            let ring = &ring;
            scope.spawn(move || {
                let (mut seen, mut last) = (Vec::new(), [None; 2]);
                while seen.len() < EACH as usize {
                    let Some(index) = ring.pop() else {
                        std::thread::yield_now();
                        continue;
                    };
                    let lane = (index / EACH) as usize;
                    assert!(last[lane] < Some(index), "a consumer sees each producer's order");
                    last[lane] = Some(index);
                    seen.push(index);
                }
                seen
            })
        });
        consumers.map(|consumer| consumer.join().unwrap())
    });
    let mut all = sums.concat();
    all.sort_unstable();
    assert!(all.into_iter().eq(0..2 * EACH));
}
