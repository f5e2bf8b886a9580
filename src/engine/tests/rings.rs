//! The rings by themselves: full, closed, abandoned, and what is left in them.
#![cfg(not(loom))]

use levada_engine::ring::mpmc::{Refused, Ring};
use levada_engine::ring::spsc::{self, Mode};

const MODES: [Mode; 2] = [Mode::Vector, Mode::Index];

#[test]
fn spsc_takes_what_fits_and_keeps_the_order() {
    for mode in MODES {
        let (mut producer, mut consumer) = spsc::ring_of(mode, 4);
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
}

#[test]
fn spsc_of_one_cell_works() {
    for mode in MODES {
        let (mut producer, mut consumer) = spsc::ring_of(mode, 1);
        for index in 0..5 {
            assert_eq!(producer.push_batch(&[index, 99]), 1);
            assert_eq!(consumer.pop(), Some(index));
            assert_eq!(consumer.pop(), None);
        }
    }
}

#[test]
fn spsc_carries_every_index() {
    for mode in MODES {
        let (mut producer, mut consumer) = spsc::ring_of(mode, 4);
        let all = [u32::MAX, 0, 1 << 31, u32::MAX];
        assert_eq!(producer.push_batch(&all), 4);
        let mut popped = [7; 4];
        assert_eq!(consumer.pop_batch(&mut popped), 4);
        assert_eq!(popped, all);
    }
}

#[test]
fn spsc_batches_of_any_length_keep_the_order() {
    for (mode, capacity) in MODES.into_iter().flat_map(|mode| [(mode, 64), (mode, 1024)]) {
        let (mut producer, mut consumer) = spsc::ring_of(mode, capacity);
        let (mut pushed, mut popped) = (0, 0);
        for round in 0..2_000_u32 {
            let batch: Vec<u32> = (pushed..).take((round as usize * 7) % 67).collect();
            let fit = producer.push_batch(&batch);
            assert_eq!(fit, batch.len().min(capacity - (pushed - popped) as usize));
            pushed += fit as u32;
            let mut taken = vec![0; (round as usize * 5) % 71];
            let count = consumer.pop_batch(&mut taken);
            assert_eq!(count, taken.len().min((pushed - popped) as usize));
            assert!(taken[..count].iter().copied().eq(popped..popped + count as u32));
            popped += count as u32;
        }
    }
}

#[test]
fn spsc_single_pushes_fill_the_whole_capacity() {
    for mode in MODES {
        let (mut producer, mut consumer) = spsc::ring_of(mode, 256);
        for lap in 0..3 {
            (0..256).for_each(|index| assert_eq!(producer.push_batch(&[lap * 256 + index]), 1));
            assert_eq!(producer.push_batch(&[9]), 0);
            (0..256).for_each(|index| assert_eq!(consumer.pop(), Some(lap * 256 + index)));
        }
    }
}

#[test]
fn spsc_pop_each_stops_where_it_is_told() {
    for mode in MODES {
        let (mut producer, mut consumer) = spsc::ring_of(mode, 32);
        producer.push_batch(&(0..32).collect::<Vec<u32>>());
        let mut taken = Vec::new();
        let mut take = |most: usize, last: u32| {
            consumer.pop_each(most, |index| {
                taken.push(index);
                index != last
            })
        };
        assert_eq!([take(3, 99), take(0, 99), take(20, 9), take(100, 99), take(1, 99)], [3, 0, 7, 22, 0]);
        assert!(taken.into_iter().eq(0..32));
        assert_eq!(producer.push_batch(&[0; 40]), 32);
    }
}

#[test]
fn spsc_index_given_to_a_panicking_taker_is_not_given_again() {
    for mode in MODES {
        let (mut producer, mut consumer) = spsc::ring_of(mode, 4);
        producer.push_batch(&[1, 2, 3]);
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            consumer.pop_each(4, |index| if index == 2 { std::panic::panic_any(index) } else { true })
        }));
        assert!(panicked.is_err());
        assert_eq!([consumer.pop(), consumer.pop()], [Some(3), None]);
        assert_eq!(producer.push_batch(&[4, 5, 6, 7]), 4);
    }
}

#[test]
fn spsc_closed_ring_still_gives_what_is_in_it() {
    for mode in MODES {
        let (mut producer, mut consumer) = spsc::ring_of(mode, 4);
        producer.push_batch(&[1]);
        assert!(!consumer.is_closed());
        drop(producer);
        assert!(consumer.is_closed() && !consumer.is_empty());
        assert_eq!(consumer.pop(), Some(1));
        assert!(consumer.is_empty());
    }
}

#[test]
fn spsc_last_end_out_takes_the_leftovers_once() {
    for (mode, producer_first) in MODES.into_iter().flat_map(|mode| [(mode, true), (mode, false)]) {
        let (mut producer, mut consumer) = spsc::ring_of(mode, 4);
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
    for mode in MODES {
        let (mut producer, consumer) = spsc::ring_of(mode, 2);
        drop(consumer);
        assert!(producer.is_abandoned());
        assert_eq!(producer.push_batch(&[1, 2, 3]), 2, "a ring without a consumer fills up");
    }
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
fn mpmc_batches_take_what_fits_in_order() {
    let ring = Ring::new(8);
    let mut popped = [0; 16];
    assert_eq!((ring.push_batch(&[]), ring.pop_batch(&mut popped), ring.pop_batch(&mut [])), (Ok(0), 0, 0));
    for round in 0..10 {
        let batch: Vec<u32> = (round * 8..round * 8 + 16).collect();
        assert_eq!(ring.push_batch(&batch[..3]), Ok(3));
        assert_eq!(ring.push_batch(&batch[3..]), Ok(5));
        assert_eq!((ring.push_batch(&batch), ring.depth()), (Err(Refused::Full), 8));
        assert_eq!((ring.pop_batch(&mut popped[..2]), ring.pop()), (2, Some(batch[2])));
        assert_eq!(ring.pop_batch(&mut popped[2..]), 5);
        assert_eq!((&popped[..2], &popped[2..7]), (&batch[..2], &batch[3..8]));
    }
    ring.push(1).unwrap();
    ring.close();
    assert_eq!(ring.push_batch(&[2, 3]), Err(Refused::Closed));
    assert_eq!((ring.pop_batch(&mut popped), popped[0]), (1, 1));
    assert!(ring.is_finished());
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
    for batch in [1, 7] {
        mpmc_passes_everything(batch);
    }
}

/// Two producers and two consumers; in batches of up to `batch`, mixed with single pushes and pops.
fn mpmc_passes_everything(batch: usize) {
    const EACH: u32 = 20_000;
    let ring = Ring::new(64);
    let sums = std::thread::scope(|scope| {
        for lane in 0..2 {
            let ring = &ring;
            scope.spawn(move || {
                let all: Vec<u32> = (lane * EACH..(lane + 1) * EACH).collect();
                let mut left = &all[..];
                while !left.is_empty() {
                    let pushed = if left.len().is_multiple_of(3) {
                        ring.push(left[0]).map(|()| 1)
                    } else {
                        ring.push_batch(&left[..batch.min(left.len())])
                    };
                    left = &left[pushed.unwrap_or(0)..];
                    if pushed.is_err() {
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
                    let mut popped = vec![0; batch.min(EACH as usize - seen.len())];
                    let count = match (seen.len() % 3, ring.is_empty()) {
                        (0, false) => ring.pop().map_or(0, |index| (popped[0] = index, 1).1),
                        _ => ring.pop_batch(&mut popped),
                    };
                    if count == 0 {
                        std::thread::yield_now();
                    }
                    for index in &popped[..count] {
                        let lane = (index / EACH) as usize;
                        assert!(last[lane] < Some(*index), "a consumer sees each producer's order");
                        last[lane] = Some(*index);
                        seen.push(*index);
                    }
                }
                seen
            })
        });
        consumers.map(|consumer| consumer.join().expect("a consumer that does not panic"))
    });
    let mut all = sums.concat();
    all.sort_unstable();
    assert!(all.into_iter().eq(0..2 * EACH));
}
