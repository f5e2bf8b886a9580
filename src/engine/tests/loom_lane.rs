//! Models of the take-over of a lane: a thread that ends leaves its number, and the slots that it kept, to the next that asks.
#![cfg(loom)]

use std::sync::Arc as StdArc;

use levada_engine::{Arena, ArenaConfig, ClassConfig, Held};
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
    builder.preemption_bound = Some(2);
    builder.check(body);
}

/// An arena of so many slots that a thread keeps some, and a cell for each that is touched as the slot is.
struct Shadowed {
    arena: StdArc<Arena<u32>>,
    shadows: [UnsafeCell<u32>; Self::SLOTS as usize],
}

impl Shadowed {
    const SLOTS: u32 = 2;

    fn new() -> Arc<Self> {
        let classes = vec![ClassConfig { payload_bytes: SLOT_BYTES, slots: Self::SLOTS }];
        let arena = Arena::new(&ArenaConfig { classes, huge_pages: false, prefault: false }).unwrap();
        Arc::new(Self { arena, shadows: std::array::from_fn(|_| UnsafeCell::new(0)) })
    }

    /// Claims and writes a slot, if there is one within reach.
    fn claim(&self, value: u32) -> Option<Held<u32>> {
        let mut unique = self.arena.claim(1).ok()?;
        let place = unique.payload_mut().as_ptr() as usize % (2 << 20) / SLOT_BYTES;
        // SAFETY: loom fails the model if another thread touches the cell without being ordered before or after.
        self.shadows[place].with_mut(|cell| unsafe { *cell = value });
        Some(unique.share().hold())
    }

    /// Every slot has come back, and can be claimed.
    fn check_all_free(&self) {
        assert_eq!(self.arena.slots_in_use(), 0);
        let all: Vec<_> = std::iter::from_fn(|| self.claim(0)).collect();
        assert_eq!(all.len(), Self::SLOTS as usize);
    }
}

#[test]
fn a_lane_changes_hands() {
    model(|| {
        let shadowed = Shadowed::new();
        let threads = [10, 20].map(|value| {
            let shadowed = shadowed.clone();
            thread::spawn(move || {
                drop(shadowed.claim(value));
            })
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        shadowed.check_all_free();
    });
}

#[test]
fn two_threads_at_once_have_two_lanes() {
    model(|| {
        let shadowed = Shadowed::new();
        let other = shadowed.clone();
        let thread = thread::spawn(move || other.claim(10));
        let mine = shadowed.claim(20);
        let theirs = thread.join().unwrap();
        drop((mine, theirs));
        shadowed.check_all_free();
    });
}

const MODELS: &[proof::Model] = &[
    ("a_lane_changes_hands", a_lane_changes_hands),
    ("two_threads_at_once_have_two_lanes", two_threads_at_once_have_two_lanes),
];

const PROOF: Proof =
    Proof { about: &["lane.rs"], elsewhere: &[], models: MODELS, spared: &[], fences_only_exclude: true };

#[test]
fn every_ordering_is_needed() {
    PROOF.check();
}

needed! {
    PROOF;
    without_the_release_of_a_number: "lane.rs Numbers::take_back 0.fetch_and release", a_lane_changes_hands;
    without_the_acquire_of_a_number: "lane.rs Numbers::lend 0.compare_exchange_weak acquire", a_lane_changes_hands;
}
