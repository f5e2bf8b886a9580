//! A full memory archive stores messages of mixed sizes in the buffers of those that leave. Alone in its file: other tests allocate.

use std::alloc::System;

use levada_archive::{Archive, ArchiveMessage, MemoryArchive};
use levada_engine::heap::{CountingAllocator, allocations_total};

#[global_allocator]
static HEAP: CountingAllocator<System> = CountingAllocator(System);

const BATCH: u64 = 20;

/// Stores `count` messages in batches; a quarter of them has a kilobyte, a half five, a quarter fifteen, in no order.
fn store(archive: &mut MemoryArchive, from: u64, count: u64) {
    let payload = vec![7; 15_000];
    for first in (from..from + count).step_by(BATCH as usize) {
        let mut batch = (first..first + BATCH).map(|number| {
            let mixed = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let mut hash = [0; 32];
            hash[..8].copy_from_slice(&mixed.to_le_bytes());
            let bytes = [1_000, 5_000, 5_000, 15_000][(mixed >> 62) as usize];
            ArchiveMessage {
                hash,
                pubsub_topic: "/waku/2/rs/1/0",
                content_topic: "/t/1/a/proto",
                payload: &payload[..bytes],
                version: 0,
                timestamp: number as i64,
                meta: b"",
            }
        });
        let outcome = archive.insert_batch(&mut batch).expect("an archive in memory stores");
        assert_eq!(outcome.stored, BATCH);
    }
}

#[test]
fn messages_of_mixed_sizes_find_buffers() {
    let mut archive = MemoryArchive::new(8 << 20);
    store(&mut archive, 0, 10_000);
    let full = archive.message_count().expect("it counts");
    let before = allocations_total();
    store(&mut archive, 10_000, 10_000);
    let allocations = allocations_total() - before;
    // A body has four; the payload of `store` and what the test harness allocates are among them.
    assert!(allocations < 1_000, "{allocations} allocations for 10 000 messages");
    // And the buffers that wait take the place of few messages.
    let stored = archive.message_count().expect("it counts");
    assert!(stored > full * 8 / 10 && archive.bytes() <= 8 << 20, "{stored} of {full} messages");
}
