//! Models of the arena: slots change hands between threads without a race on what lies in them.
//!
//! loom does not see the slots themselves, so each has a shadow cell that is written and read when the slot is.
#![cfg(loom)]

use std::sync::Arc as StdArc;

use levada_engine::{Arena, ArenaConfig, ClaimError, ClassConfig, Held, Unique};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

const SLOT_BYTES: usize = 128;

fn model(body: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(body);
}

/// An arena with a shadow per slot.
struct Shadowed {
    arena: StdArc<Arena<u32>>,
    shadows: Vec<UnsafeCell<u32>>,
}

impl Shadowed {
    fn new(slots: u32) -> Arc<Self> {
        let classes = vec![ClassConfig { payload_bytes: SLOT_BYTES, slots }];
        let arena = Arena::new(&ArenaConfig { classes, huge_pages: false, prefault: false }).unwrap();
        Arc::new(Self { arena, shadows: (0..slots).map(|_| UnsafeCell::new(0)).collect() })
    }

    /// A class's memory starts on a huge page, so the address tells the slot.
    fn shadow(&self, payload: &[u8]) -> &UnsafeCell<u32> {
        &self.shadows[(payload.as_ptr() as usize % (2 << 20)) / SLOT_BYTES]
    }

    fn fill(&self, mut unique: Unique<'_, u32>, value: u32) -> Held<u32> {
        unique.set_len(1);
        // SAFETY: loom fails the model if another thread touches the cell without being ordered before or after.
        self.shadow(unique.payload_mut()).with_mut(|cell| unsafe { *cell = value });
        unique.share().hold()
    }

    fn check(&self, held: &Held<u32>, value: u32) {
        // SAFETY: as above.
        self.shadow(held.payload()).with(|cell| assert_eq!(unsafe { *cell }, value));
    }

    /// Claims, fills and releases `rounds` times; what is not free is not waited for.
    fn churn(&self, rounds: u32, value: u32) {
        for round in 0..rounds {
            if let Ok(unique) = self.arena.claim(1) {
                let held = self.fill(unique, value + round);
                self.check(&held, value + round);
            }
        }
    }
}

fn the_last_of_two_handles_frees_the_slot(other_first: bool) {
    model(move || {
        let shadowed = Shadowed::new(1);
        let held = shadowed.fill(shadowed.arena.claim(1).unwrap(), 1);
        let envelope = held.attach(&shadowed.arena).unwrap();
        let theirs = envelope.clone().hold();
        let reader = shadowed.clone();
        let thread = thread::spawn(move || {
            reader.check(&theirs, 1);
            drop(theirs);
        });
        let mine = envelope.hold();
        shadowed.check(&mine, 1);
        if other_first {
            // loom tries the orders around an access of the last dependent kind only: this one it would not come to.
            thread::yield_now();
        }
        drop(mine);
        // Free only once both are gone; then the new fill must come after both reads.
        match shadowed.arena.claim(1) {
            Ok(unique) => drop(shadowed.fill(unique, 2)),
            Err(error) => assert_eq!(error, ClaimError::Full { payload_bytes: 1 }),
        }
        thread.join().unwrap();
        assert_eq!(shadowed.arena.slots_in_use(), 0);
    });
}

#[test]
fn two_handles_dropped_at_once_free_the_slot_for_the_next_claim() {
    the_last_of_two_handles_frees_the_slot(false);
}

#[test]
fn a_sole_handle_left_by_another_frees_the_slot_for_the_next_claim() {
    the_last_of_two_handles_frees_the_slot(true);
}

#[test]
fn a_slot_freed_by_another_thread_comes_back() {
    model(|| {
        let shadowed = Shadowed::new(1);
        let held = shadowed.fill(shadowed.arena.claim(1).unwrap(), 1);
        let other = shadowed.clone();
        let thread = thread::spawn(move || {
            other.check(&held, 1);
            drop(held);
        });
        let unique = loop {
            match shadowed.arena.claim(1) {
                Ok(unique) => break unique,
                Err(_) => thread::yield_now(),
            }
        };
        drop(shadowed.fill(unique, 2));
        thread.join().unwrap();
    });
}

#[test]
fn threads_never_hold_the_same_slot() {
    model(|| {
        let shadowed = Shadowed::new(1);
        let other = shadowed.clone();
        let thread = thread::spawn(move || other.churn(2, 10));
        shadowed.churn(2, 20);
        thread.join().unwrap();
        assert_eq!(shadowed.arena.slots_in_use(), 0);
    });
}

#[test]
fn a_shared_magazine_never_lends_a_slot_twice() {
    model(|| {
        // Three slots: a magazine of one, so that claims and releases meet in magazine and stack.
        let shadowed = Shadowed::new(3);
        let other = shadowed.clone();
        let thread = thread::spawn(move || {
            let first = other.fill(other.arena.claim(1).unwrap(), 11);
            let second = other.arena.claim(1).ok().map(|unique| other.fill(unique, 12));
            other.check(&first, 11);
            drop(first);
            if let Some(second) = second {
                other.check(&second, 12);
            }
        });
        shadowed.churn(2, 20);
        thread.join().unwrap();
        assert_eq!(shadowed.arena.slots_in_use(), 0);
        let all: Vec<_> = (0..3).map(|_| shadowed.arena.claim(1).expect("every slot is back")).collect();
        assert!(shadowed.arena.claim(1).is_err());
        drop(all);
    });
}

#[test]
fn the_record_is_writable_only_after_the_other_handle_is_gone() {
    model(|| {
        let shadowed = Shadowed::new(1);
        let envelope = shadowed.arena.claim(1).unwrap().share();
        let theirs = envelope.clone().hold();
        let reader = shadowed.clone();
        let thread = thread::spawn(move || {
            // SAFETY: loom fails the model if the write below is not ordered after this read.
            reader.shadows[0].with(|cell| assert_eq!(unsafe { *cell }, 0));
            assert_eq!(theirs.record(), 0);
        });
        let mut envelope = envelope;
        while envelope.record_mut().is_none() {
            thread::yield_now();
        }
        // SAFETY: as above. The other thread is not joined yet.
        shadowed.shadows[0].with_mut(|cell| unsafe { *cell = 1 });
        *envelope.record_mut().unwrap() = 1;
        thread.join().unwrap();
        assert_eq!(*envelope.record(), 1);
    });
}
