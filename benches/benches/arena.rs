//! Slots of the arena against a heap allocation per payload, with the allocator of the `levada` binary: claimed and
//! released, the same with the payload copied in, and released on another core than the one that claimed and filled.

#[path = "shared/comparison.rs"]
mod comparison;
#[path = "shared/pair.rs"]
mod pair;
#[path = "shared/repeat.rs"]
mod repeat;

use std::hint::black_box;
use std::sync::Arc;

use comparison::{Comparison, Timed};
use criterion::{Criterion, criterion_group, criterion_main};
use crossbeam::queue::ArrayQueue;
use levada_benches::workload::PROFILE;
use levada_engine::{Arena, ArenaConfig, Held};
use mimalloc::MiMalloc;
use pair::{transfer, wait_for};
use repeat::repeat;

#[global_allocator]
static HEAP: MiMalloc = MiMalloc;

/// Bytes of the arena: 500 slots of the largest payload.
const ARENA_BYTES: usize = 128 << 20;

/// Payloads under way between two threads.
const UNDER_WAY: usize = 64;

/// Payloads in one iteration across threads.
const BLOCK: usize = 1_024;

fn arena() -> Arc<Arena<u64>> {
    let largest = PROFILE[PROFILE.len() - 1].0;
    Arena::new(&ArenaConfig::with_budget(ARENA_BYTES, largest)).expect("the layout is valid and small")
}

fn slot_bare(arena: &Arena<u64>, iterations: u64, payload_bytes: usize) -> Timed {
    repeat(iterations, || {
        let mut slot = arena.claim(payload_bytes).expect("one slot is out at a time");
        slot.set_len(payload_bytes);
        black_box(slot.share()).payload().len() as u64
    })
}

fn box_bare(iterations: u64, payload_bytes: usize) -> Timed {
    repeat(iterations, || black_box(Box::<[u8]>::new_uninit_slice(payload_bytes)).len() as u64)
}

fn slot_filled(arena: &Arena<u64>, iterations: u64, payload: &[u8]) -> Timed {
    repeat(iterations, || {
        let mut slot = arena.claim(payload.len()).expect("one slot is out at a time");
        slot.fill(payload);
        black_box(slot.share()).payload().len() as u64
    })
}

fn box_filled(iterations: u64, payload: &[u8]) -> Timed {
    repeat(iterations, || black_box(Box::<[u8]>::from(payload)).len() as u64)
}

fn slot_across(arena: &Arc<Arena<u64>>, blocks: u64, payload: &[u8]) -> Timed {
    let queue: ArrayQueue<Held<u64>> = ArrayQueue::new(UNDER_WAY);
    let send = || {
        for _ in 0..BLOCK {
            let mut slot = wait_for(|| arena.claim(payload.len()).ok());
            slot.fill(payload);
            let mut held = Some(slot.share().hold());
            wait_for(|| queue.push(held.take()?).map_err(|back| held = Some(back)).ok());
        }
    };
    transfer(blocks, send, || (0..BLOCK).map(|_| wait_for(|| queue.pop()).payload().len() as u64).sum())
}

fn box_across(blocks: u64, payload: &[u8]) -> Timed {
    let queue = ArrayQueue::new(UNDER_WAY);
    let send = || {
        for _ in 0..BLOCK {
            let mut filled = Some(Box::<[u8]>::from(payload));
            wait_for(|| queue.push(filled.take()?).map_err(|back| filled = Some(back)).ok());
        }
    };
    transfer(blocks, send, || (0..BLOCK).map(|_| wait_for(|| queue.pop()).len() as u64).sum())
}

/// A name for the bench of one size.
fn named(what: &str, payload_bytes: usize) -> String {
    format!("arena_{what}_{}kB", payload_bytes / 1_000)
}

fn claim_and_release(criterion: &mut Criterion) {
    let arena = arena();
    for (payload_bytes, _) in PROFILE {
        let mut comparison = Comparison::new(criterion, &named("claim", payload_bytes), 1);
        comparison.bench("slot", |iterations| slot_bare(&arena, iterations, payload_bytes));
        comparison.bench("box", |iterations| box_bare(iterations, payload_bytes));
        comparison.finish();
    }
}

fn claim_fill_and_release(criterion: &mut Criterion) {
    let arena = arena();
    for (payload_bytes, _) in PROFILE {
        let payload = vec![7; payload_bytes];
        let mut comparison = Comparison::new(criterion, &named("fill", payload_bytes), 1);
        comparison.bench("slot", |iterations| slot_filled(&arena, iterations, &payload));
        comparison.bench("box", |iterations| box_filled(iterations, &payload));
        comparison.finish();
    }
}

fn release_on_another_core(criterion: &mut Criterion) {
    let arena = arena();
    for (payload_bytes, _) in PROFILE {
        let payload = vec![7; payload_bytes];
        let mut comparison = Comparison::new(criterion, &named("across_cores", payload_bytes), BLOCK as u64);
        comparison.bench("slot", |blocks| slot_across(&arena, blocks, &payload));
        comparison.bench("box", |blocks| box_across(blocks, &payload));
        comparison.finish();
    }
}

criterion_group!(benches, claim_and_release, claim_fill_and_release, release_on_another_core);
criterion_main!(benches);
