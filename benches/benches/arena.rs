//! Slots of the arena against a heap allocation per payload, with the allocator of the `levada` binary.
//!
//! Both write a byte into every page, as whoever fills the payload would.
#![expect(missing_docs, reason = "criterion's macros make undocumented functions")]

#[path = "shared/comparison.rs"]
mod comparison;
#[path = "shared/pair.rs"]
mod pair;

use std::mem::MaybeUninit;
use std::sync::Arc;

use comparison::{Comparison, Timed, timed};
use criterion::{Criterion, criterion_group, criterion_main};
use crossbeam::queue::ArrayQueue;
use levada_benches::workload::PROFILE;
use levada_engine::{Arena, ArenaConfig, Held, Unique};
use mimalloc::MiMalloc;
use pair::{transfer, wait_for};

#[global_allocator]
static HEAP: MiMalloc = MiMalloc;

/// Bytes of the arena: 500 slots of the largest payload.
const ARENA_BYTES: usize = 128 << 20;

const PAGE_BYTES: usize = 4_096;

/// Payloads under way between two threads.
const UNDER_WAY: usize = 64;

/// Payloads in one iteration across threads.
const BLOCK: usize = 1_024;

fn arena() -> Arc<Arena<u64>> {
    let largest = PROFILE[PROFILE.len() - 1].0;
    Arena::new(&ArenaConfig::with_budget(ARENA_BYTES, largest)).expect("the layout is valid and small")
}

fn claim(arena: &Arena<u64>, payload_bytes: usize) -> Option<Unique<'_, u64>> {
    let mut slot = arena.claim(payload_bytes).ok()?;
    slot.payload_mut()[..payload_bytes].iter_mut().step_by(PAGE_BYTES).for_each(|byte| *byte = 1);
    slot.set_len(payload_bytes);
    Some(slot)
}

fn allocate(payload_bytes: usize) -> Box<[MaybeUninit<u8>]> {
    let mut payload = Box::new_uninit_slice(payload_bytes);
    payload.iter_mut().step_by(PAGE_BYTES).for_each(|byte| _ = byte.write(1));
    payload
}

fn claimed_here(arena: &Arena<u64>, iterations: u64, payload_bytes: usize) -> Timed {
    timed(iterations, || {
        let slot = claim(arena, payload_bytes).expect("one slot is out at a time");
        std::hint::black_box(slot.share()).payload().len() as u64
    })
}

fn allocated_here(iterations: u64, payload_bytes: usize) -> Timed {
    timed(iterations, || std::hint::black_box(allocate(payload_bytes)).len() as u64)
}

fn claimed_there(arena: &Arc<Arena<u64>>, blocks: u64, payload_bytes: usize) -> Timed {
    let queue: ArrayQueue<Held<u64>> = ArrayQueue::new(UNDER_WAY);
    let send = || {
        for _ in 0..BLOCK {
            let mut held = Some(wait_for(|| claim(arena, payload_bytes)).share().hold());
            wait_for(|| queue.push(held.take()?).map_err(|back| held = Some(back)).ok());
        }
    };
    transfer(blocks, send, || (0..BLOCK).map(|_| wait_for(|| queue.pop()).payload().len() as u64).sum())
}

fn allocated_there(blocks: u64, payload_bytes: usize) -> Timed {
    let queue = ArrayQueue::new(UNDER_WAY);
    let send = || {
        for _ in 0..BLOCK {
            let mut payload = Some(allocate(payload_bytes));
            wait_for(|| queue.push(payload.take()?).map_err(|back| payload = Some(back)).ok());
        }
    };
    transfer(blocks, send, || (0..BLOCK).map(|_| wait_for(|| queue.pop()).len() as u64).sum())
}

fn same_thread(criterion: &mut Criterion) {
    let arena = arena();
    for (payload_bytes, _) in PROFILE {
        let name = format!("arena_same_thread_{}kB", payload_bytes / 1_000);
        let mut comparison = Comparison::new(criterion, &name, 1);
        comparison.bench("slot", |iterations| claimed_here(&arena, iterations, payload_bytes));
        comparison.bench("box", |iterations| allocated_here(iterations, payload_bytes));
        comparison.finish();
    }
}

fn cross_thread(criterion: &mut Criterion) {
    let arena = arena();
    for (payload_bytes, _) in PROFILE {
        let name = format!("arena_cross_thread_{}kB", payload_bytes / 1_000);
        let mut comparison = Comparison::new(criterion, &name, BLOCK as u64);
        comparison.bench("slot", |blocks| claimed_there(&arena, blocks, payload_bytes));
        comparison.bench("box", |blocks| allocated_there(blocks, payload_bytes));
        comparison.finish();
    }
}

criterion_group!(benches, same_thread, cross_thread);
criterion_main!(benches);
