//! Models of the arena: slots change hands between threads without a race on what lies in them.
//!
//! loom does not see the slots themselves, so each has a shadow cell that is written and read when the slot is.
#![cfg(loom)]

use std::sync::Arc as StdArc;

use levada_engine::{Arena, ArenaConfig, ClaimError, ClassConfig, Held, Unique};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

#[path = "common/proof.rs"]
mod proof;
#[path = "common/sources.rs"]
mod sources;

use proof::Proof;

const SLOT_BYTES: usize = 128;

fn model(body: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
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

    /// Claims and fills a slot, if there is one.
    fn claim(&self, value: u32) -> Option<Held<u32>> {
        let held = self.fill(self.arena.claim(1).ok()?, value);
        self.check(&held, value);
        Some(held)
    }

    /// Claims, fills and releases `rounds` times; what is not free is not waited for.
    fn churn(&self, rounds: u32, value: u32) {
        for round in 0..rounds {
            drop(self.claim(value + round));
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

#[test]
fn a_fan_out_comes_after_the_last_use_of_who_left() {
    model(|| {
        let shadowed = Shadowed::new(1);
        let held = shadowed.fill(shadowed.arena.claim(1).unwrap(), 1);
        let envelope = held.attach(&shadowed.arena).unwrap();
        let theirs = envelope.clone().hold();
        let reader = shadowed.clone();
        let thread = thread::spawn(move || {
            reader.check(&theirs, 1);
            drop(theirs);
        });
        // Where the other has left already, the count is stored anew: its last use must not be forgotten with it.
        thread::yield_now();
        envelope.fan_out::<2>().into_iter().for_each(drop);
        drop(shadowed.claim(2));
        thread.join().unwrap();
    });
}

#[test]
fn a_thief_and_the_owner_never_get_the_same_slot() {
    model(|| {
        let shadowed = Shadowed::new(2);
        // This thread owns the magazine, and the other slot lies in it.
        let first = shadowed.claim(1);
        let other = shadowed.clone();
        let thread = thread::spawn(move || other.claim(10));
        shadowed.churn(1, 20);
        let second = shadowed.claim(30);
        let stolen = thread.join().unwrap();
        assert!(!(second.is_some() && stolen.is_some()), "one slot was left");
        drop((first, second, stolen));
        assert_eq!(shadowed.arena.slots_in_use(), 0);
    });
}

#[test]
fn a_thief_sees_all_that_the_owner_did_with_the_slot_that_lies_ready() {
    model(|| {
        let shadowed = Shadowed::new(2);
        // This thread keeps what it releases; it was inside its door for the last time before it filled the slot.
        let all = [shadowed.arena.claim(1).unwrap(), shadowed.arena.claim(1).unwrap()];
        let other = shadowed.clone();
        let thread = thread::spawn(move || other.claim(10));
        let [first, second] = all;
        let first = shadowed.fill(first, 1);
        drop(shadowed.fill(second, 2));
        let stolen = thread.join().unwrap();
        shadowed.check(&first, 1);
        drop((first, stolen));
        assert_eq!(shadowed.arena.slots_in_use(), 0);
    });
}

#[test]
fn a_slot_is_kept_while_a_thief_takes_the_one_before() {
    model(|| {
        let shadowed = Shadowed::new(3);
        let all = [0; 3].map(|_| shadowed.arena.claim(1).unwrap());
        let other = shadowed.clone();
        let thread = thread::spawn(move || other.claim(10));
        // The first release finds no slot kept; the second finds that one, or its place empty again.
        all.into_iter().zip(1..).for_each(|(unique, value)| drop(shadowed.fill(unique, value)));
        let stolen = thread.join().unwrap();
        let rest: Vec<_> = std::iter::from_fn(|| shadowed.claim(20)).collect();
        assert_eq!(rest.len() + usize::from(stolen.is_some()), 3, "no slot is lost, and none is lent twice");
        drop((rest, stolen));
        assert_eq!(shadowed.arena.slots_in_use(), 0);
    });
}

#[test]
fn claims_dropped_half_way_give_the_rest_back_beside_a_thief() {
    model(|| {
        let shadowed = Shadowed::new(4);
        // Two of the slots lie in this thread's magazine then, and one lies ready.
        drop([0; 3].map(|_| shadowed.claim(1)));
        let other = shadowed.clone();
        let thread = thread::spawn(move || [other.claim(10), other.claim(11)]);
        let mut claims = shadowed.arena.claims(1, 2);
        let first = claims.next().map(|unique| shadowed.fill(unique, 20));
        drop(claims);
        let theirs = thread.join().unwrap();
        let taken = theirs.iter().chain([&first]).flatten().count();
        let rest: Vec<_> = std::iter::from_fn(|| shadowed.claim(30)).collect();
        assert_eq!(rest.len() + taken, 4, "no slot is lost, and none is lent twice");
        drop((first, theirs, rest));
        assert_eq!(shadowed.arena.slots_in_use(), 0);
    });
}

#[test]
fn a_slot_counts_one_handle_for_its_next_holder() {
    model(|| {
        let shadowed = Shadowed::new(1);
        let envelope = shadowed.arena.claim(1).unwrap().share();
        let theirs = envelope.clone().hold();
        let other = shadowed.clone();
        let thread = thread::spawn(move || {
            drop(theirs);
            other.arena.claim(1).is_ok_and(counts_its_handles)
        });
        drop(envelope);
        let mine = shadowed.arena.claim(1).is_ok_and(counts_its_handles);
        let others = thread.join().unwrap();
        assert!(mine || others, "who let go last finds the slot, unless the other has it");
        assert_eq!(shadowed.arena.slots_in_use(), 0);
    });
}

/// Shares the slot among three handles and lets go of them again; true, or it fails.
fn counts_its_handles(unique: Unique<'_, u32>) -> bool {
    let [first, mut second] = unique.share().fan_out();
    let third = second.clone();
    drop(first);
    assert!(second.record_mut().is_none(), "the third is there");
    drop(third);
    assert!(second.record_mut().is_some());
    true
}

#[test]
fn two_thieves_never_get_the_same_slot() {
    model(|| {
        let shadowed = Shadowed::new(2);
        let first = shadowed.claim(1);
        let threads = [10, 20].map(|value| {
            let other = shadowed.clone();
            thread::spawn(move || other.claim(value))
        });
        let stolen = threads.map(|thread| thread.join().unwrap());
        assert!(stolen.iter().flatten().count() < 2, "one slot was left");
        drop((first, stolen));
        assert_eq!(shadowed.arena.slots_in_use(), 0);
    });
}

const MODELS: &[proof::Model] = &[
    ("two_handles_dropped_at_once", two_handles_dropped_at_once_free_the_slot_for_the_next_claim),
    ("a_sole_handle_left_by_another", a_sole_handle_left_by_another_frees_the_slot_for_the_next_claim),
    ("a_slot_freed_by_another_thread_comes_back", a_slot_freed_by_another_thread_comes_back),
    ("the_record_is_writable_only_after", the_record_is_writable_only_after_the_other_handle_is_gone),
    ("a_fan_out_comes_after_the_last_use_of_who_left", a_fan_out_comes_after_the_last_use_of_who_left),
    ("a_thief_and_the_owner_never_get_the_same_slot", a_thief_and_the_owner_never_get_the_same_slot),
    ("two_thieves_never_get_the_same_slot", two_thieves_never_get_the_same_slot),
    (
        "a_thief_sees_all_that_the_owner_did_with_the_slot_that_lies_ready",
        a_thief_sees_all_that_the_owner_did_with_the_slot_that_lies_ready,
    ),
    ("a_slot_is_kept_while_a_thief_takes_the_one_before", a_slot_is_kept_while_a_thief_takes_the_one_before),
    (
        "claims_dropped_half_way_give_the_rest_back_beside_a_thief",
        claims_dropped_half_way_give_the_rest_back_beside_a_thief,
    ),
    ("a_slot_counts_one_handle_for_its_next_holder", a_slot_counts_one_handle_for_its_next_holder),
    ("threads_never_hold_the_same_slot", threads_never_hold_the_same_slot),
    ("a_shared_magazine_never_lends_a_slot_twice", a_shared_magazine_never_lends_a_slot_twice),
];

/// No slot is published by a stand-alone fence: the models pass, and need every other ordering, when fences do no more
/// than keep owner and thief apart.
const PROOF: Proof =
    Proof { about: &["arena/", "barrier.rs"], elsewhere: &[], models: MODELS, spared: &[], fences_only_exclude: true };

#[test]
fn every_ordering_is_needed_and_no_fence_publishes() {
    PROOF.check();
}

needed! {
    PROOF;
    without_the_owners_side_of_the_barrier:
        "barrier.rs Barrier::light fence whole", a_thief_and_the_owner_never_get_the_same_slot;
    without_the_thiefs_side_of_the_barrier:
        "barrier.rs Barrier::heavy fence whole", a_thief_and_the_owner_never_get_the_same_slot;
    without_the_release_of_a_door: "arena/door.rs Inside::drop 0.store release", a_thief_and_the_owner_never_get_the_same_slot;
    without_the_acquire_of_the_owner: "arena/door.rs Door::enter robbed.load acquire", a_thief_and_the_owner_never_get_the_same_slot;
    without_the_acquire_of_a_thief: "arena/door.rs Door::break_in owned.load acquire", a_thief_and_the_owner_never_get_the_same_slot;
    without_the_release_of_what_is_kept:
        "arena/keep.rs Keeps::put_hot hot.store release",
        a_thief_sees_all_that_the_owner_did_with_the_slot_that_lies_ready;
    without_the_acquire_of_what_is_kept:
        "arena/keep.rs Keep::hot_if hot.load acquire",
        a_thief_sees_all_that_the_owner_did_with_the_slot_that_lies_ready;
    without_the_acquire_of_a_second_thief:
        "arena/door.rs Door::knock robbed.compare_exchange acquire", two_thieves_never_get_the_same_slot;
    without_the_release_of_a_bundle:
        "arena/stack.rs Stack::link_in top.compare_exchange_weak release", a_slot_freed_by_another_thread_comes_back;
    without_the_acquire_of_a_bundle: "arena/stack.rs Stack::pop top.load acquire", a_slot_freed_by_another_thread_comes_back;
    without_the_acquire_of_a_second_look:
        "arena/stack.rs Stack::pop top.compare_exchange_weak failure", threads_never_hold_the_same_slot;
    without_the_acquire_of_a_fan_out:
        "arena/table.rs Header::retain_exclusively references.load acquire", a_fan_out_comes_after_the_last_use_of_who_left;
    without_the_acquire_of_the_sole_holder:
        "arena/table.rs Header::drop_reference references.load acquire",
        a_sole_handle_left_by_another_frees_the_slot_for_the_next_claim;
    without_the_release_of_a_handle:
        "arena/table.rs Header::drop_reference references.fetch_sub release",
        two_handles_dropped_at_once_free_the_slot_for_the_next_claim;
    without_the_acquire_of_the_last_holder:
        "arena/table.rs Header::drop_reference references.fetch_sub acquire",
        two_handles_dropped_at_once_free_the_slot_for_the_next_claim;
    without_the_acquire_of_who_writes_the_record:
        "arena/table.rs Header::is_unique references.load acquire",
        the_record_is_writable_only_after_the_other_handle_is_gone;
}
