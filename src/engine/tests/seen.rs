//! The shared seen set under many threads.
#![cfg(not(loom))]

use std::sync::Barrier;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};

use levada_engine::seen::{Set, Sight};

const KEYS: u64 = 100_000;

fn key(number: u64) -> [u8; 32] {
    let mut key = [0; 32];
    for (place, word) in (1_u64..).zip(key.chunks_exact_mut(8)) {
        word.copy_from_slice(
            &number.wrapping_mul(place.wrapping_mul(0x9e37_79b9_7f4a_7c15)).rotate_left(29).to_le_bytes(),
        );
    }
    key
}

/// Runs `each` on as many threads at once, given its number.
fn together(threads: u64, each: impl Fn(u64) + Sync) {
    let start = Barrier::new(threads as usize);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (start, each) = (&start, &each);
            scope.spawn(move || {
                start.wait();
                each(thread);
            });
        }
    });
}

#[test]
fn of_all_threads_one_is_told_that_a_key_is_new() {
    const THREADS: u64 = 8;
    let set = Set::new(2 * KEYS as usize);
    let winners: Vec<AtomicU8> = (0..KEYS).map(|_| AtomicU8::new(0)).collect();
    let marks: Vec<AtomicU8> = (0..KEYS).map(|_| AtomicU8::new(0)).collect();
    together(THREADS, |thread| {
        for number in 0..KEYS {
            match set.insert(&key(number), 1 << thread) {
                Sight::New => _ = winners[number as usize].fetch_add(1, Relaxed),
                Sight::Known { marks: before } => {
                    assert_eq!(before & 1 << thread, 0, "no other thread sets this mark");
                    marks[number as usize].fetch_or(before, Relaxed);
                }
            }
        }
    });
    assert!(winners.iter().all(|winners| winners.load(Relaxed) == 1));
    // The last to come saw the marks of all others.
    assert!(marks.iter().all(|marks| marks.load(Relaxed).count_ones() == THREADS as u32 - 1));
    assert!((0..KEYS).all(|number| set.insert(&key(number), 0) == Sight::Known { marks: u8::MAX }));
    assert_eq!(set.crowded_out_total(), 0);
}

#[test]
fn one_rotation_forgets_nothing_that_threads_insert_at_once() {
    const THREADS: u64 = 4;
    let set = Set::new(2 * KEYS as usize);
    let new = AtomicU64::new(0);
    together(THREADS, |thread| {
        for number in 0..KEYS {
            if thread == 0 && number == KEYS / 2 {
                set.rotate();
            }
            if set.insert(&key(number), 0) == Sight::New {
                new.fetch_add(1, Relaxed);
            }
        }
    });
    assert_eq!(new.load(Relaxed), KEYS);
    set.rotate();
    set.rotate();
    assert!((0..KEYS).all(|number| set.insert(&key(number), 0) == Sight::New), "two more forget all");
}

#[test]
fn a_set_that_comes_round_all_the_time_makes_no_key_up() {
    // Threads write over each other's entries; what was never inserted must not be found.
    let set = Set::new(256);
    let made_up = AtomicU64::new(0);
    together(4, |thread| {
        for number in 0..KEYS {
            let own = number * 4 + thread;
            set.insert(&key(own), 0);
            if set.insert(&key(u64::MAX - own), 0) != Sight::New {
                made_up.fetch_add(1, Relaxed);
            }
        }
    });
    assert_eq!(made_up.load(Relaxed), 0);
}
