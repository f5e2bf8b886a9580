//! The operations that the model test and the fuzzer do on one thread, done by several at once under random schedules. Each schedule
//! draws operations of its own, and counters that start at the beginning or shortly before one of their ends.
//!
//! What exactly each operation comes to depends on the others then; what all of them come to together does not.
#![cfg(shuttle)]

#[path = "support/operations/mod.rs"]
mod operations;
#[path = "support/schedules.rs"]
mod schedules;

use std::collections::HashMap;
use std::sync::Arc;

use levada_engine::Arena;
use levada_engine::ring::mpmc::{Refused, Ring};
use levada_engine::ring::spsc::Mode;
use levada_engine::seen::Sight;
use operations::{arena, drop_oldest, mpmc, seen, spsc};
use schedules::check;
use shuttle::rand::{RngCore, thread_rng};
use shuttle::thread;

/// Threads where there may be any number.
const THREADS: usize = 3;

/// Numbers of one thread: none comes near the next thread's.
const NUMBERS: u32 = 1 << 16;

/// Bytes that tell so many operations.
fn drawn(operations: usize) -> Vec<u8> {
    let mut bytes = vec![0; 1 + 2 * operations];
    thread_rng().fill_bytes(&mut bytes);
    bytes
}

/// The operations of one of the threads: every third.
fn share<T: Copy>(all: &[T], thread: usize) -> Vec<T> {
    all.iter().skip(thread).step_by(THREADS).copied().collect()
}

/// Runs `body` for each thread number at once; what they give.
fn at_once<T: Send>(body: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let body = &body;
    thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|number| scope.spawn(move || body(number))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

fn spsc_between_two_threads(mode: Mode) {
    let bytes = drawn(12);
    let (mut pushing, mut popping, _, ops) = spsc::told(mode, &bytes);
    let ops: Vec<_> = ops.collect();
    let theirs = ops.clone();
    let producer = thread::spawn(move || {
        for op in theirs {
            match op {
                spsc::Op::Push(most) => _ = pushing.push(most),
                spsc::Op::ProducerLeaves => pushing.leave(),
                spsc::Op::Pop(..) | spsc::Op::ConsumerLeaves => {}
            }
        }
        pushing.leave();
        pushing
    });
    let mut popped = Vec::new();
    for op in ops {
        match op {
            spsc::Op::Pop(way, most) => popped.extend(popping.pop(way, most)),
            spsc::Op::ConsumerLeaves => popping.leave(),
            spsc::Op::Push(_) | spsc::Op::ProducerLeaves => {}
        }
    }
    popping.leave();
    let pushing = producer.join().unwrap();
    assert!(pushing.left.is_empty() || popping.left.is_empty(), "the last to leave is one of the two");
    popped.extend(pushing.left.iter().chain(&popping.left));
    assert!(popped.iter().copied().eq(0..pushing.next), "{} were pushed: {popped:?}", pushing.next);
}

#[test]
fn a_vector_ring_gives_what_it_took_in_order() {
    check(|| spsc_between_two_threads(Mode::Vector));
}

#[test]
fn an_index_ring_gives_what_it_took_in_order() {
    check(|| spsc_between_two_threads(Mode::Index));
}

/// Closes the ring and takes what is left.
fn rest(ring: &Ring) -> Vec<u32> {
    ring.close();
    let rest = std::iter::from_fn(|| ring.pop()).collect();
    assert!(ring.is_finished() && ring.push(0) == Err(Refused::Closed));
    rest
}

/// What one thread popped of each producer comes in the order in which that pushed it.
fn check_order(popped: &[u32]) {
    for producer in 0..THREADS as u32 {
        assert!(popped.iter().filter(|index| *index / NUMBERS == producer).is_sorted(), "{popped:?}");
    }
}

#[test]
fn an_mpmc_ring_gives_each_index_it_took_once() {
    check(|| {
        let bytes = drawn(15);
        let (ring, ops) = mpmc::told(&bytes);
        let ops: Vec<_> = ops.collect();
        let is_closed_by_some = ops.iter().any(|op| matches!(op, mpmc::Op::Close));
        let of_each = at_once(|thread| {
            let first = thread as u32 * NUMBERS;
            let (mut next, mut popped, mut closed) = (first, Vec::new(), false);
            for op in share(&ops, thread) {
                let done = op.apply(&ring, &mut next);
                assert!(!(closed && done.pushed > 0), "what is closed stays so");
                closed |= matches!(op, mpmc::Op::Close) || done.refused == Some(Refused::Closed);
                assert!(is_closed_by_some || !closed);
                assert!(ring.depth() <= ring.capacity());
                popped.extend(done.popped);
            }
            check_order(&popped);
            (first..next, popped)
        });
        let rest = rest(&ring);
        check_order(&rest);
        let mut all: Vec<u32> = of_each.iter().flat_map(|(_, popped)| popped).copied().chain(rest).collect();
        all.sort_unstable();
        assert!(all.into_iter().eq(of_each.into_iter().flat_map(|(pushed, _)| pushed)));
    });
}

#[test]
fn of_a_ring_that_drops_its_oldest_each_index_is_popped_or_dropped() {
    check(|| {
        let bytes = drawn(15);
        let (ring, ops) = drop_oldest::told(&bytes);
        let ops: Vec<_> = ops.collect();
        // One thread pushes, and closes; all operations that pop are the others'.
        let of_each = at_once(|thread| {
            let (mut next, mut all) = (0, drop_oldest::Done::default());
            for (place, op) in ops.iter().enumerate() {
                let is_pop = matches!(op, drop_oldest::Op::Pop(_));
                if is_pop == (thread > 0) && (!is_pop || place % (THREADS - 1) + 1 == thread) {
                    let done = op.apply(&ring, &mut next);
                    all.pushed.extend(done.pushed);
                    all.dropped.extend(done.dropped);
                    all.popped.extend(done.popped);
                }
            }
            assert!(all.popped.is_sorted(), "{:?}", all.popped);
            (next, all)
        });
        let rest = rest(&ring);
        assert!(rest.is_sorted());
        let (offered, pushed) = (of_each[0].0, &of_each[0].1.pushed);
        assert!(rest.iter().all(|index| pushed.binary_search(index).is_ok()));
        let mut all: Vec<u32> =
            of_each.iter().flat_map(|(_, done)| done.dropped.iter().chain(&done.popped)).copied().chain(rest).collect();
        all.sort_unstable();
        assert!(all.into_iter().eq(0..offered));
    });
}

/// Nobody holds a slot, and every one can be claimed.
fn check_all_free(arena: &Arc<Arena<u64>>) {
    assert_eq!(arena.slots_in_use(), 0);
    let all: Vec<_> = std::iter::from_fn(|| arena.claim(1).ok()).collect();
    assert_eq!(all.len() as u32, arena::CLASSES.iter().map(|(_, slots)| slots).sum::<u32>());
}

#[test]
fn handles_of_the_arena_keep_what_they_were_made_from() {
    check(|| {
        let bytes = drawn(30);
        let (arena, ops) = arena::told(&bytes);
        let (ops, common): (Vec<_>, _) = (ops.collect(), arena::Common::default());
        at_once(|thread| {
            let mut hands = arena::Hands::new(&arena, &common, (thread as u64) << 32);
            for op in share(&ops, thread) {
                hands.apply(op, None);
            }
            hands.handles.iter().for_each(arena::Handle::check);
        });
        drop(common);
        check_all_free(&arena);
    });
}

#[test]
fn of_all_threads_that_insert_a_key_one_is_told_that_it_is_new() {
    check(|| {
        let bytes = drawn(9);
        let (set, _, ops) = seen::told(&bytes);
        let ops: Vec<_> = ops.collect();
        let rotations = ops.iter().filter(|op| matches!(op, seen::Op::Rotate)).count() as u64;
        let sights = at_once(|thread| {
            let mut sights = Vec::new();
            for op in share(&ops, thread) {
                let (numbers, marks) = op.inserts();
                sights.extend(numbers.map(|number| (number, marks, set.insert(&seen::key(number), marks))));
                if matches!(op, seen::Op::Rotate) {
                    set.rotate();
                }
            }
            sights
        });
        // By key: how often it was new, and all marks it was given.
        let mut keys: HashMap<u16, (u64, u8)> = HashMap::new();
        for (number, marks, sight) in sights.iter().flatten() {
            let key = keys.entry(*number).or_default();
            key.0 += u64::from(*sight == Sight::New);
            key.1 |= marks;
        }
        for (number, _, sight) in sights.iter().flatten() {
            assert!(keys[number].0 > 0, "{number} was never new");
            assert!(!matches!(sight, Sight::Known { marks } if marks & !keys[number].1 != 0));
        }
        let again: u64 = keys.values().map(|(new, _)| new - 1).sum();
        assert!(again <= set.crowded_out_total() + rotations * keys.len() as u64, "{again} were new again");
        if rotations + set.crowded_out_total() == 0 {
            let known = |(number, (_, marks))| set.insert(&seen::key(number), 0) == Sight::Known { marks };
            assert!(keys.into_iter().all(known));
        }
    });
}
