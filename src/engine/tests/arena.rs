//! The arena through its public handles.
#![cfg(not(loom))]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Barrier, mpsc};
use std::thread;
use std::time::Duration;

use levada_engine::{
    Arena, ArenaConfig, ArenaError, ClaimError, ClassConfig, PAYLOAD_COPIED_BYTES, PAYLOAD_COPIES, Unique,
};

fn config(classes: &[(usize, u32)]) -> ArenaConfig {
    let class = |(payload_bytes, slots): &(usize, u32)| ClassConfig { payload_bytes: *payload_bytes, slots: *slots };
    ArenaConfig { classes: classes.iter().map(class).collect(), huge_pages: false, prefault: true }
}

fn arena(classes: &[(usize, u32)]) -> Arc<Arena<u64>> {
    Arena::new(&config(classes)).unwrap()
}

fn slot_bytes(unique: &mut Unique<'_, u64>) -> usize {
    unique.payload_mut().len()
}

#[test]
fn the_smallest_class_that_fits_is_chosen() {
    let arena = arena(&[(128, 1), (256, 1), (1024, 1)]);
    for (payload_bytes, class) in [(0, 128), (128, 128), (129, 256), (256, 256), (257, 1024), (1024, 1024)] {
        assert_eq!(slot_bytes(&mut arena.claim(payload_bytes).unwrap()), class);
    }
    assert_eq!(arena.claim(1025).unwrap_err(), ClaimError::TooLarge { payload_bytes: 1025, payload_bytes_max: 1024 });
    assert_eq!(arena.full_total(), 0, "too large is not full");
    assert_eq!((arena.bytes(), arena.payload_bytes_max()), (128 + 256 + 1024, 1024));
}

#[test]
fn an_empty_class_falls_back_to_larger_ones_and_then_is_full() {
    let arena = arena(&[(128, 1), (256, 1), (1024, 1)]);
    let mut all = [arena.claim(1).unwrap(), arena.claim(1).unwrap(), arena.claim(1).unwrap()];
    assert_eq!(all.each_mut().map(|unique| slot_bytes(unique)), [128, 256, 1024]);
    assert_eq!(arena.claim(1).unwrap_err(), ClaimError::Full { payload_bytes: 1 });
    assert_eq!(arena.full_total(), 1);
    let [small, medium, large] = all;
    drop(small);
    assert_eq!(arena.claim(200).unwrap_err(), ClaimError::Full { payload_bytes: 200 }, "never a smaller class");
    assert_eq!((arena.full_total(), arena.slots_in_use()), (2, 2));
    drop((medium, large));
    assert_eq!(arena.slots_in_use(), 0);
}

#[test]
fn slots_are_reused_last_in_first_out() {
    // With and without magazines (which need 64 slots for each they keep), and with more than a magazine keeps. Where there
    // are magazines, the first that was released lies ready for the next claim.
    for (slots, lent) in [(8, 5), (256, 3), (4096, 100)] {
        let arena = arena(&[(128, slots)]);
        let address = |unique: &mut Unique<'_, u64>| unique.payload_mut().as_ptr() as usize;
        let mut handles: Vec<_> = (0..lent).map(|_| arena.claim(1).unwrap()).collect();
        let lent_out: Vec<usize> = handles.iter_mut().map(address).collect();
        assert!(lent_out.is_sorted(), "the first slots are lent out first");
        handles.into_iter().for_each(drop);
        let mut again: Vec<_> = (0..lent).map(|_| arena.claim(1).unwrap()).collect();
        let back: Vec<usize> = again.iter_mut().map(address).collect();
        let (ready, rest) = lent_out.split_at(usize::from(slots >= 64));
        let expected: Vec<usize> = ready.iter().chain(rest.iter().rev()).copied().collect();
        assert_eq!(back, expected, "{slots} slots: {lent_out:x?}");
    }
}

#[test]
fn every_slot_can_be_lent_whoever_freed_it() {
    let arena = arena(&[(128, 1024)]);
    let mut all: Vec<_> = (0..1024).map(|_| arena.claim(1).unwrap().share().hold()).collect();
    assert!(arena.claim(1).is_err());
    let other = all.split_off(512);
    thread::spawn(move || drop(other)).join().unwrap();
    drop(all);
    assert_eq!(arena.slots_in_use(), 0);
    // Some lie in the other thread's magazine, out of the shared stack's sight.
    let mut addresses: Vec<_> = (0..1024).map(|_| arena.claim(1).unwrap()).collect::<Vec<_>>();
    let mut addresses: Vec<usize> = addresses.iter_mut().map(|unique| unique.payload_mut().as_ptr() as usize).collect();
    addresses.sort_unstable();
    addresses.dedup();
    assert_eq!(addresses.len(), 1024);
    assert_eq!(arena.usage().next().unwrap().slots_out_max, 1024);
}

#[test]
fn a_claimed_slot_is_empty_and_its_record_default() {
    let arena = arena(&[(128, 1)]);
    let mut unique = arena.claim(5).unwrap();
    assert_eq!(*unique.record_mut(), 0);
    assert!(unique.payload_mut().iter().all(|byte| *byte == 0), "fresh memory is zeroed");
    unique.fill(b"hello");
    *unique.record_mut() = 7;
    let envelope = unique.share();
    assert_eq!((envelope.payload(), *envelope.record()), (&b"hello"[..], 7));
    drop(envelope);
    let mut unique = arena.claim(0).unwrap();
    assert_eq!(*unique.record_mut(), 0);
    assert_eq!(unique.share().payload(), b"", "nothing of the last payload shows");
}

#[test]
fn payloads_of_no_byte_and_of_the_whole_slot() {
    let arena = arena(&[(128, 1)]);
    let mut unique = arena.claim(0).unwrap();
    unique.fill(b"");
    assert_eq!(unique.share().payload(), b"");
    let mut unique = arena.claim(128).unwrap();
    unique.payload_mut().fill(9);
    unique.set_len(128);
    assert_eq!(unique.share().payload(), [9; 128]);
    let too_long = AssertUnwindSafe(|| arena.claim(1).unwrap().set_len(129));
    assert!(catch_unwind(too_long).is_err());
    assert_eq!(arena.slots_in_use(), 0, "a panic beside a handle returns the slot");
}

#[test]
fn the_last_of_many_handles_returns_the_slot() {
    let arena = arena(&[(128, 1)]);
    let mut first = arena.claim(1).unwrap().share();
    *first.record_mut().unwrap() = 3;
    let clones: Vec<_> = (0..100).map(|_| first.clone()).collect();
    assert!(first.record_mut().is_none(), "others may be reading it");
    assert_eq!(*clones[99].record(), 3);
    drop(clones);
    assert!(first.record_mut().is_some());
    let second = first.clone();
    drop(first);
    assert_eq!(arena.slots_in_use(), 1);
    drop(second);
    assert_eq!(arena.slots_in_use(), 0);
}

#[test]
fn held_handles_attach_to_their_own_arena_only() {
    let (ours, theirs) = (arena(&[(128, 1)]), arena(&[(128, 1)]));
    let mut unique = ours.claim(1).unwrap();
    unique.fill(b"x");
    *unique.record_mut() = 5;
    let held = unique.share().hold();
    assert_eq!((held.payload(), held.record()), (&b"x"[..], 5));
    let held = held.attach(&theirs).unwrap_err();
    assert_eq!(ours.slots_in_use(), 1);
    let envelope = held.attach(&ours).unwrap();
    assert_eq!(envelope.payload(), b"x");
    drop(envelope);
    assert_eq!((ours.slots_in_use(), theirs.slots_in_use()), (0, 0));
    assert_eq!(Arc::strong_count(&ours), 1, "attaching gave the share of the arena back");
}

#[test]
fn bytes_keep_slot_and_arena() {
    let arena = arena(&[(128, 1)]);
    let mut unique = arena.claim(5).unwrap();
    unique.fill(b"bytes");
    let whole = unique.share().hold().into_bytes();
    let part = whole.slice(1..3);
    drop(whole);
    assert_eq!(arena.slots_in_use(), 1);
    let weak = Arc::downgrade(&arena);
    drop(arena);
    assert_eq!(&part[..], b"yt");
    let arena = weak.upgrade().expect("the bytes keep the arena");
    drop(part);
    assert_eq!(arena.slots_in_use(), 0);
    drop(arena);
    assert!(weak.upgrade().is_none());
}

#[test]
fn each_fill_counts_one_copy() {
    let arena = arena(&[(1024, 2)]);
    let before = (PAYLOAD_COPIES.value(), PAYLOAD_COPIED_BYTES.value());
    let mut unique = arena.claim(1000).unwrap();
    unique.fill(&[1; 1000]);
    let counted = (PAYLOAD_COPIES.value() - before.0, PAYLOAD_COPIED_BYTES.value() - before.1);
    // Other tests of this binary fill at the same time, a few small payloads.
    assert!(counted.0 >= 1 && counted.1 >= 1000, "{counted:?}");
}

#[test]
fn each_wrong_configuration_has_its_error() {
    let error = |classes: &[(usize, u32)]| Arena::<u64>::new(&config(classes)).unwrap_err();
    assert!(matches!(error(&[]), ArenaError::NoClass));
    assert!(matches!(error(&[(256, 1), (128, 1)]), ArenaError::ClassOrder { payload_bytes: 128 }));
    assert!(matches!(error(&[(256, 1), (256, 1)]), ArenaError::ClassOrder { payload_bytes: 256 }));
    for (payload_bytes, slots) in [(0, 1), (100, 1), (128, 0), (1 << 32, 1)] {
        let shape = error(&[(payload_bytes, slots)]);
        assert!(matches!(shape, ArenaError::ClassShape { .. }), "{payload_bytes} {slots}: {shape}");
    }
    let slots_max = 1 << 24;
    assert!(matches!(error(&[(128, slots_max), (256, 1)]), ArenaError::TooManySlots { .. }));
    assert!(matches!(error(&[(128, u32::MAX), (256, u32::MAX)]), ArenaError::TooManySlots { .. }));
    let refused = error(&[((1 << 32) - 128, slots_max)]);
    assert!(matches!(refused, ArenaError::Memory { .. }), "{refused}");
}

/// What begins at the same place of a page shares a set of the first-level cache, which holds eight lines or so.
#[test]
fn slots_of_whole_pages_begin_at_different_places_of_a_page() {
    for (payload_bytes, slots) in [(4_096, 32), (16 << 10, 32), (163_840, 32)] {
        let arena = arena(&[(payload_bytes, slots)]);
        let mut claimed: Vec<Unique<'_, u64>> = (0..slots).map(|_| arena.claim(1).unwrap()).collect();
        let starts: Vec<usize> = claimed.iter_mut().map(|slot| slot.payload_mut().as_ptr() as usize).collect();
        let places: HashSet<usize> = starts.iter().map(|start| start % 4_096).collect();
        assert_eq!(places.len(), slots as usize, "slots of {payload_bytes} bytes");
        assert!(places.iter().all(|place| place.is_multiple_of(128)));
        for slot in &mut claimed {
            assert_eq!(slot_bytes(slot), payload_bytes);
            slot.payload_mut().fill(0xa5);
        }
    }
}

#[test]
fn a_budget_is_shared_out_and_kept() {
    let budget = 64 << 20;
    let config = ArenaConfig::with_budget(budget, 160_000);
    let sizes: Vec<usize> = config.classes.iter().map(|class| class.payload_bytes).collect();
    assert_eq!(sizes, [2 << 10, 16 << 10, 64 << 10, 163_840], "the largest class is rounded up to whole pages");
    let shares: Vec<usize> = config.classes.iter().map(|class| class.payload_bytes * class.slots as usize).collect();
    assert!(shares.iter().sum::<usize>() <= budget);
    for (share, part) in shares.iter().zip([1, 3, 10, 18]) {
        let wanted = budget / 32 * part;
        assert!(*share <= wanted && *share + 163_840 > wanted, "{share} of {wanted}");
    }
}

#[test]
fn odd_budgets_are_usable_or_named() {
    // A largest payload below the usual classes leaves fewer classes; the smallest budget still has a slot of each.
    let small = ArenaConfig::with_budget(0, 1000);
    assert_eq!(
        small.classes,
        [ClassConfig { payload_bytes: 2048, slots: 1 }, ClassConfig { payload_bytes: 4096, slots: 1 }]
    );
    assert!(Arena::<u64>::new(&small).is_ok());
    assert_eq!(ArenaConfig::with_budget(0, 0), small);
    let huge = ArenaConfig::with_budget(1 << 20, usize::MAX);
    assert!(matches!(Arena::<u64>::new(&huge), Err(ArenaError::ClassShape { .. })));
}

#[test]
fn a_panicking_default_record_returns_the_slot() {
    #[derive(Clone, Copy)]
    struct Touchy;
    impl Default for Touchy {
        fn default() -> Self {
            // Tables are filled on the test's thread; the claim below runs on a thread named otherwise.
            assert_ne!(thread::current().name(), Some("touchy"));
            Self
        }
    }
    let arena = Arena::<Touchy>::new(&config(&[(128, 1)])).unwrap();
    let claiming = arena.clone();
    let claim = move || drop(claiming.claim(1));
    thread::Builder::new().name("touchy".to_owned()).spawn(claim).unwrap().join().unwrap_err();
    assert_eq!(arena.slots_in_use(), 0);
    assert!(arena.claim(1).is_ok());
}

#[test]
fn a_slot_is_filled_over_several_calls_by_a_handle_that_owns_its_arena() {
    let arena = arena(&[(128, 2)]);
    let mut slot = arena.claim(8).unwrap().hold();
    slot.payload_mut()[..4].copy_from_slice(b"half");
    slot.payload_mut()[4..8].copy_from_slice(b"full");
    slot.set_len(8);
    *slot.record_mut() = 7;
    let held = slot.share();
    assert_eq!((held.payload(), held.record(), arena.slots_in_use()), (&b"halffull"[..], 7, 1));
    drop(held);
    drop(arena.claim(8).unwrap().hold());
    assert_eq!(arena.slots_in_use(), 0);
}

#[test]
fn a_thread_keeps_what_it_released_for_its_own_next_claim() {
    // So many slots that threads keep one beside the last, and so few that bundles are of one.
    let arena = arena(&[(128, 64)]);
    let address = |unique: &mut Unique<'_, u64>| unique.payload_mut().as_ptr() as usize;
    // All that this thread has fetched is lent out.
    let _all = [arena.claim(1).unwrap(), arena.claim(1).unwrap()];
    let theirs = arena.clone();
    let claim_twice = move || [0; 2].map(|_| address(&mut theirs.claim(1).unwrap()));
    let [first, second] = thread::spawn(claim_twice).join().unwrap();
    assert_eq!(first, second);
    assert_ne!(address(&mut arena.claim(1).unwrap()), first, "the other thread has it");
}

/// A thread that comes and goes holds back what it keeps for no longer than that.
#[test]
fn a_claim_finds_what_a_busy_thread_keeps() {
    const SLOTS: usize = 4096;
    const CLAIMS: usize = 2_000;
    let arena = arena(&[(128, SLOTS as u32)]);
    let (stop, start) = (AtomicBool::new(false), Barrier::new(2));
    let (back, returned) = mpsc::sync_channel::<Unique<'_, u64>>(4);
    let refused = thread::scope(|scope| {
        let (arena, stop, start) = (&arena, &stop, &start);
        scope.spawn(move || {
            let mut lent: Vec<_> = (0..SLOTS).map(|_| arena.claim(8).unwrap()).collect();
            lent.truncate(SLOTS - 40);
            start.wait();
            while !stop.load(Relaxed) {
                drop((arena.claim(8), arena.claim(8)));
                returned.try_iter().for_each(drop);
            }
        });
        start.wait();
        let claim = || arena.claim(8).map(|slot| back.send(slot).unwrap()).is_ok();
        // The other thread can be switched out while it is inside; then a claim gives up, but not one after some time.
        let again = || (0..10).any(|_| (thread::sleep(Duration::from_millis(5)), claim()).1);
        let refused = (0..CLAIMS).filter(|_| !claim() && !again()).count();
        stop.store(true, Relaxed);
        refused
    });
    assert_eq!(refused, 0);
    drop(back);
    assert_eq!(arena.slots_in_use(), 0);
}
