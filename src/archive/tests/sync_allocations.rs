//! The sync index allocates nothing once it has grown to what it holds. Alone in its file: other tests allocate.

use std::alloc::System;

use levada_archive::{Key, SyncIndex};
use levada_engine::heap::{CountingAllocator, allocations_total};

#[global_allocator]
static HEAP: CountingAllocator<System> = CountingAllocator(System);

/// A key whose time is near `number`, and whose hash is of this number alone.
fn key(number: i64) -> Key {
    let mut hash = [0; 32];
    hash[..8].copy_from_slice(&number.wrapping_mul(0x5851_f42d_4c95_7f2d).to_le_bytes());
    (number + number * 31 % 400, hash)
}

/// Inserts `count` keys in batches, and lets `prune` say how far behind the newest keys are removed.
fn run(index: &SyncIndex, from: i64, count: i64, prune: Option<i64>) {
    for first in (from..from + count).step_by(50) {
        index.insert_batch((first..first + 50).map(|number| ((number % 2) as u32, key(number))));
        if let Some(window) = prune {
            index.prune_before(first - window);
        }
    }
}

fn least_allocations(index: &SyncIndex, prune: Option<i64>) -> Option<u64> {
    run(index, 0, 100_000, prune);
    // The test harness allocates in threads of its own: once in a few attempts it does not.
    let allocations = (0..20).map(|attempt| {
        let before = allocations_total();
        run(index, 100_000 + attempt * 10_000, 10_000, prune);
        allocations_total() - before
    });
    allocations.min()
}

#[test]
fn steady_state_allocates_nothing() {
    let by_age = SyncIndex::new(2, 64 << 20);
    assert_eq!(least_allocations(&by_age, Some(20_000)), Some(0), "pruned by age");
    assert!(by_age.pruned_total() > 0 && by_age.evicted_total() == 0);
    let by_room = SyncIndex::new(2, 1 << 20);
    assert_eq!(least_allocations(&by_room, None), Some(0), "pruned by room");
    assert!(by_room.evicted_total() > 0);
}
