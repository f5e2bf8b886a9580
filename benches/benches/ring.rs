//! Rings against the queues one would otherwise take, one producer and one consumer on a core each.

#[path = "shared/comparison.rs"]
mod comparison;
#[path = "shared/pair.rs"]
mod pair;

use comparison::{Comparison, Timed};
use criterion::{Criterion, criterion_group, criterion_main};
use crossbeam::queue::ArrayQueue;
use levada_engine::ring::{mpmc, spsc};
use pair::{transfer, wait_for};

/// Indices in one iteration: starting two threads costs nothing beside them.
const BLOCK: u32 = 1 << 16;

/// Of every queue.
const CAPACITY: usize = 1_024;

/// Takes a block by `pop` and adds it up.
fn sum(mut pop: impl FnMut() -> u32) -> u64 {
    (0..BLOCK).map(|_| u64::from(pop())).sum()
}

fn spsc_ring(blocks: u64, batch: usize) -> Timed {
    let (mut producer, mut consumer) = spsc::ring(CAPACITY);
    let indices: Vec<u32> = (0..BLOCK).collect();
    let mut push = |mut waiting: &[u32]| {
        while !waiting.is_empty() {
            let pushed = wait_for(|| Some(producer.push_batch(waiting)).filter(|pushed| *pushed > 0));
            waiting = &waiting[pushed..];
        }
    };
    transfer(blocks, || indices.chunks(batch).for_each(&mut push), || sum(|| wait_for(|| consumer.pop())))
}

fn mpmc_ring(blocks: u64) -> Timed {
    let ring = mpmc::Ring::new(CAPACITY);
    let send = || (0..BLOCK).for_each(|index| wait_for(|| ring.push(index).ok()));
    transfer(blocks, send, || sum(|| wait_for(|| ring.pop())))
}

fn array_queue(blocks: u64) -> Timed {
    let queue = ArrayQueue::new(CAPACITY);
    let send = || (0..BLOCK).for_each(|index| wait_for(|| queue.push(index).ok()));
    transfer(blocks, send, || sum(|| wait_for(|| queue.pop())))
}

fn crossbeam_channel(blocks: u64) -> Timed {
    let (sender, receiver) = crossbeam::channel::bounded(CAPACITY);
    let send = || (0..BLOCK).for_each(|index| sender.send(index).expect("the receiver is alive"));
    transfer(blocks, send, move || sum(|| receiver.recv().expect("the sender is alive")))
}

fn sync_channel(blocks: u64) -> Timed {
    let (sender, receiver) = std::sync::mpsc::sync_channel(CAPACITY);
    let send = || (0..BLOCK).for_each(|index| sender.send(index).expect("the receiver is alive"));
    transfer(blocks, send, move || sum(|| receiver.recv().expect("the sender is alive")))
}

fn ring(criterion: &mut Criterion) {
    let mut comparison = Comparison::new(criterion, "ring", u64::from(BLOCK));
    for batch in [32, 1, 8, 128] {
        comparison.bench(&format!("spsc_batch_{batch}"), move |blocks| spsc_ring(blocks, batch));
    }
    comparison.bench("mpmc", mpmc_ring);
    comparison.bench("crossbeam_array_queue", array_queue);
    comparison.bench("crossbeam_channel", crossbeam_channel);
    comparison.bench("std_sync_channel", sync_channel);
    comparison.finish();
}

criterion_group!(benches, ring);
criterion_main!(benches);
