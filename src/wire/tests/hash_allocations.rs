//! Hashing a batch allocates nothing. Alone in its file: other tests allocate.

use std::alloc::System;

use levada_engine::heap::{CountingAllocator, allocations_total};
use levada_wire::hash::{Job, Kernel, Scratch, hash_many};

#[global_allocator]
static HEAP: CountingAllocator<System> = CountingAllocator(System);

#[test]
fn a_batch_allocates_nothing() {
    let payload = vec![7; 3_000];
    let jobs: Vec<Job<'_>> = (0..200)
        .map(|number| Job::message_hash("/waku/2/rs/0/0", &payload[number..], "/t/1/a/proto", &payload[..5], 1))
        .collect();
    let mut digests = vec![[0; 32]; jobs.len()];
    let kernels = Kernel::ALL.into_iter().filter_map(|kernel| Scratch::with_kernel(kernel).ok());
    for mut scratch in kernels.chain([Scratch::new()]) {
        // The test harness allocates in threads of its own: once in a few attempts it does not.
        let allocations = (0..100).map(|_| {
            let before = allocations_total();
            hash_many(&jobs, &mut digests, &mut scratch);
            allocations_total() - before
        });
        assert_eq!(allocations.min(), Some(0), "{}", scratch.kernel(jobs.len()));
    }
}
