//! A slot of 64 kB claimed and released, against mimalloc: on one core, and released on another.

use std::hint::black_box;
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::time::Instant;

use levada_engine::{Arena, ArenaConfig, ClassConfig, Envelope};

use crate::engine::Effort;
use crate::machine::involuntary_switches;
use crate::pair::{Sample, bind, spin, two};
use crate::row::{Contest, Row};

const BYTES: usize = 64 << 10;

/// Slots in the arena.
const SLOTS: u32 = 1_024;

/// Claims in a sample on one core.
const HERE: usize = 1 << 16;

/// Claims in a sample across cores.
const THERE: usize = 1 << 11;

/// Blocks that change cores together, and at most: a link's batch, and the ring that carries them.
const BATCH: usize = 32;
const UNDER_WAY: usize = 256;

fn arena() -> Arc<Arena<u64>> {
    let classes = vec![ClassConfig { payload_bytes: BYTES, slots: SLOTS }];
    Arena::new(&ArenaConfig { classes, huge_pages: true, prefault: true }).expect("the layout is valid and small")
}

/// A block of mimalloc's, by the program's allocator: its count of allocations costs one or two of the 23 nanoseconds.
fn block() -> Box<[MaybeUninit<u8>]> {
    Box::new_uninit_slice(BYTES)
}

/// At most an eighth of mimalloc's time.
pub fn own_core(measure: &'static str, effort: Effort) -> Row {
    let (arena, count) = (arena(), HERE / effort.less);
    let mut held = Vec::new();
    Contest::new(measure, "ns", 8.0)
        .with("levada", || {
            // Another slot each time: where the lines of the slot and of what the thread keeps get into each other's way
            // in the cache, they do so for all rounds or none.
            held.push(arena.claim(BYTES).expect("there are more slots than rounds"));
            here(count, || arena.claim(BYTES).expect("one slot is out at a time"), |slot| slot.payload_mut().as_ptr())
        })
        .with("mimalloc", || here(count, block, |block| block.as_ptr().cast()))
        .run(effort.rounds)
}

/// The address is what must be known of a block; the block itself stays in registers, as it does in a program.
fn here<T>(
    count: usize,
    mut claim: impl FnMut() -> T + Send,
    mut address: impl FnMut(&mut T) -> *const u8 + Send,
) -> Sample {
    let mut work = || {
        bind(0);
        let (before, began) = (involuntary_switches(), Instant::now());
        for _ in 0..count {
            let mut block = claim();
            black_box(address(&mut block));
        }
        let elapsed = began.elapsed();
        Sample::per(count, elapsed, involuntary_switches() - before)
    };
    std::thread::scope(|scope| scope.spawn(&mut work).join().expect("a contestant does not panic"))
}

/// At least ten times as fast as mimalloc.
pub fn cross_core(measure: &'static str, effort: Effort) -> Row {
    let (arena, count) = (arena(), THERE / effort.less);
    Contest::new(measure, "ns", 10.0)
        .with("levada", || {
            there(
                count,
                || arena.claim(BYTES).ok().map(|slot| slot.share()),
                |slot: &Envelope<'_, u64>| slot.payload().len(),
            )
        })
        .with("mimalloc", || there(count, || Some(block()), |block| block.len()))
        .run(effort.rounds)
}

/// Claims on one core and releases on the other. Both contestants travel by the same ring, in batches.
fn there<T: Send>(count: usize, claim: impl Fn() -> Option<T> + Send, look: impl Fn(&T) -> usize + Send) -> Sample {
    let (mut sender, mut receiver) = rtrb::RingBuffer::<T>::new(UNDER_WAY);
    let send = move || {
        let mut left = count;
        while left > 0 {
            let batch = BATCH.min(left);
            let Ok(chunk) = sender.write_chunk_uninit(batch) else {
                spin();
                continue;
            };
            let sent = chunk.fill_from_iter(std::iter::from_fn(&claim));
            left -= sent;
        }
    };
    let receive = move || {
        let (mut received, mut seen) = (0, 0);
        while received < count {
            let batch = BATCH.min(receiver.slots());
            if batch == 0 {
                spin();
                continue;
            }
            let chunk = receiver.read_chunk(batch).expect("that many are there");
            seen += chunk.into_iter().map(|block| look(&block)).sum::<usize>();
            received += batch;
        }
        black_box(seen);
    };
    let (elapsed, switches) = two(send, receive);
    Sample::per(count, elapsed, switches)
}
