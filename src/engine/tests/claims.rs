//! Slots claimed one after the other, for payloads of one size.
#![cfg(not(loom))]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::sync::Arc;

use levada_engine::{Arena, ArenaConfig, ClassConfig, Unique};

fn arena(classes: &[(usize, u32)]) -> Arc<Arena<u64>> {
    let class = |(payload_bytes, slots): &(usize, u32)| ClassConfig { payload_bytes: *payload_bytes, slots: *slots };
    let classes = classes.iter().map(class).collect();
    Arena::new(&ArenaConfig { classes, huge_pages: false, prefault: false }).unwrap()
}

fn addresses(slots: &mut [Unique<'_, u64>]) -> BTreeSet<usize> {
    slots.iter_mut().map(|slot| slot.payload_mut().as_ptr() as usize).collect()
}

/// Arenas in which threads keep no slot, one, and as many as they ever do.
const SLOTS: [u32; 3] = [50, 64, 4096];

#[test]
fn claims_give_as_many_slots_as_wanted_each_once_and_empty() {
    for slots in SLOTS {
        let arena = arena(&[(128, slots)]);
        for count in [0, 1, 31, 32, 33, 50] {
            // What is claimed here was used before, by the round before.
            let mut all: Vec<_> = arena.claims(1, count).collect();
            assert_eq!((all.len(), addresses(&mut all).len()), (count, count), "of {slots} slots");
            assert_eq!(arena.slots_in_use(), count as u64);
            for mut slot in all {
                assert_eq!(*slot.record_mut(), 0);
                *slot.record_mut() = 7;
                slot.set_len(3);
                let envelope = slot.share();
                assert_eq!((envelope.payload().len(), *envelope.record()), (3, 7));
            }
            assert!(arena.claims(1, count).all(|slot| slot.share().payload().is_empty()));
            assert_eq!((arena.slots_in_use(), arena.full_total()), (0, 0));
        }
    }
}

#[test]
fn claims_end_early_when_the_arena_is_full() {
    for slots in SLOTS {
        let arena = arena(&[(128, slots)]);
        let kept = arena.claim(1).unwrap();
        let mut all: Vec<_> = arena.claims(128, slots as usize + 10).collect();
        assert_eq!((all.len(), addresses(&mut all).len()), (slots as usize - 1, slots as usize - 1));
        assert_eq!((arena.full_total(), arena.slots_in_use()), (1, u64::from(slots)), "counted like any claim");
        assert!(arena.claim(1).is_err());
        drop(kept);
        assert_eq!(arena.claims(1, 2).collect::<Vec<_>>().len(), 1);
        drop(all);
        assert_eq!(arena.slots_in_use(), 0);
    }
}

#[test]
fn claims_for_more_than_any_slot_holds_give_none() {
    let arena = arena(&[(128, 100), (256, 100)]);
    assert_eq!(arena.claims(257, 5).count(), 0);
    assert_eq!((arena.full_total(), arena.slots_in_use()), (0, 0), "too large is not full");
}

#[test]
fn claims_go_on_in_a_larger_class_when_theirs_is_empty() {
    let arena = arena(&[(128, 70), (256, 70), (1024, 70)]);
    let mut sizes: Vec<usize> = Vec::new();
    let mut all: Vec<_> = arena.claims(129, 150).collect();
    sizes.extend(all.iter_mut().map(|slot| slot.payload_mut().len()));
    let of = |size: usize| sizes.iter().filter(|other| **other == size).count();
    assert_eq!((of(128), of(256), of(1024)), (0, 70, 70));
    assert!(sizes.is_sorted(), "the smallest that fits comes first");
    assert_eq!(arena.full_total(), 1);
    let smallest: Vec<_> = arena.claims(0, 70).map(|mut slot| slot.payload_mut().len()).collect();
    assert_eq!(smallest, [128; 70]);
}

#[test]
fn claims_dropped_half_way_give_the_rest_back() {
    for slots in SLOTS {
        let arena = arena(&[(128, slots)]);
        // Fills what the thread keeps, from which several are fetched at once.
        drop(arena.claims(1, 50).collect::<Vec<_>>());
        for taken in 0..40 {
            let mut claims = arena.claims(1, 40);
            let some: Vec<_> = claims.by_ref().take(taken).collect();
            drop(claims);
            assert_eq!((some.len(), arena.slots_in_use()), (taken, taken as u64), "of {slots} slots");
        }
        let mut all: Vec<_> = std::iter::from_fn(|| arena.claim(1).ok()).collect();
        assert_eq!(addresses(&mut all).len(), slots as usize, "no slot is lost");
    }
}

#[test]
fn claims_and_single_ones_may_be_mixed() {
    for slots in SLOTS {
        let arena = arena(&[(128, slots)]);
        drop(arena.claims(1, 50).collect::<Vec<_>>());
        let mut all = Vec::new();
        let claims = arena.claims(1, 20);
        for slot in claims {
            all.push(slot);
            all.push(arena.claim(1).unwrap());
            drop(arena.claim(1).unwrap());
        }
        assert_eq!((all.len(), addresses(&mut all).len(), arena.slots_in_use()), (40, 40, 40), "of {slots} slots");
    }
}
