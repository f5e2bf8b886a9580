//! An arena of so many bytes takes no more of them, whatever is asked of it; and what it refuses holds the source back.
#![cfg(not(loom))]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use levada_engine::{
    Arena, ArenaConfig, Batch, ClaimError, Drained, Held, LinkConfig, Outputs, Sink, Stage, TopologyBuilder, Waker,
};

/// SplitMix64 (Steele, Lea, Flood 2014).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }
}

fn arena(bytes: usize, payload_bytes_max: usize) -> Arc<Arena<u64>> {
    let config = ArenaConfig { huge_pages: false, ..ArenaConfig::with_budget(bytes, payload_bytes_max) };
    Arena::new(&config).unwrap()
}

/// A figure of `/proc/self/status`, in bytes.
#[cfg(target_os = "linux")]
fn status_bytes(name: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() << 10
}

/// Claims, fills and keeps payloads of random sizes, and drops some now and then; how many claims were refused.
fn churn(arena: &Arena<u64>, seed: u64, held_bytes: &AtomicU64) -> u64 {
    let (mut random, mut kept, mut refused) = (Random(seed), Vec::new(), 0);
    for round in 0..3_000 {
        let size = 1 + random.below(arena.payload_bytes_max() as u64) as usize;
        match arena.claim(size) {
            Ok(mut unique) => {
                let held = held_bytes.fetch_add(size as u64, Relaxed) + size as u64;
                assert!(held <= arena.bytes() as u64, "seed {seed}, round {round}: {held} bytes are held");
                unique.payload_mut()[..size].fill(round as u8);
                unique.set_len(size);
                kept.push((unique.share(), round as u8));
            }
            Err(ClaimError::Full { payload_bytes }) => {
                assert_eq!(payload_bytes, size);
                refused += 1;
                let some = random.below(kept.len() as u64 + 1) as usize;
                for (envelope, value) in kept.drain(..some) {
                    assert!(envelope.payload().iter().all(|byte| *byte == value), "seed {seed}, round {round}");
                    held_bytes.fetch_sub(envelope.payload().len() as u64, Relaxed);
                }
            }
            Err(error) => panic!("seed {seed}, round {round}: {error}"),
        }
    }
    kept.iter().for_each(|(envelope, _)| _ = held_bytes.fetch_sub(envelope.payload().len() as u64, Relaxed));
    refused
}

#[test]
fn threads_that_claim_at_random_stay_within_the_budget() {
    const BUDGET: usize = 32 << 20;
    /// For the threads and what the allocator keeps for them, the tables, and the other test of this file.
    #[cfg(target_os = "linux")]
    const SLACK: usize = 8 << 20;

    #[cfg(target_os = "linux")]
    let before = status_bytes("VmRSS");
    let arena = arena(BUDGET, 150_000);
    assert!(arena.bytes() <= BUDGET, "the mapping has {} bytes", arena.bytes());
    let held_bytes = AtomicU64::new(0);
    let refused: u64 = std::thread::scope(|scope| {
        let (arena, held_bytes) = (&arena, &held_bytes);
        let threads: Vec<_> = (0..4).map(|seed| scope.spawn(move || churn(arena, seed, held_bytes))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert!(refused > 0, "the arena was never full");
    assert_eq!(arena.full_total(), refused);
    assert_eq!((arena.slots_in_use(), held_bytes.into_inner()), (0, 0));
    #[cfg(target_os = "linux")]
    {
        let resident = status_bytes("VmHWM").saturating_sub(before);
        assert!(resident > BUDGET / 2, "{resident} bytes: the arena was hardly used");
        assert!(resident <= BUDGET + SLACK, "{resident} bytes became resident");
    }
}

/// Brings in envelopes with payloads of random sizes; when the arena is full, waits with the one it could not place.
struct Claiming {
    random: Random,
    next: u64,
    waiting_bytes: Option<usize>,
    refused: Arc<AtomicU64>,
}

const ENVELOPES: u64 = 2_000;

impl Claiming {
    fn new(seed: u64, refused: Arc<AtomicU64>) -> Self {
        Self { random: Random(seed), next: 0, waiting_bytes: None, refused }
    }
}

impl Stage<u64> for Claiming {
    fn ports(&self) -> &'static [&'static str] {
        &["out"]
    }

    fn process(&mut self, _: &mut Batch<'_, u64>, _: &mut Outputs<'_, u64>) {}

    fn is_source(&self) -> bool {
        true
    }

    fn poll(&mut self, outputs: &mut Outputs<'_, u64>) {
        let arena = outputs.arena().clone();
        while self.next < ENVELOPES && outputs.room(0) > 0 {
            let random = &mut self.random;
            let size = self.waiting_bytes.take().unwrap_or_else(|| 1 + random.below(16 << 10) as usize);
            let Ok(mut unique) = arena.claim(size) else {
                self.refused.fetch_add(1, Relaxed);
                self.waiting_bytes = Some(size);
                return;
            };
            unique.payload_mut()[..size].fill(self.next as u8);
            unique.set_len(size);
            *unique.record_mut() = self.next;
            self.next += 1;
            outputs.send(0, unique.share());
        }
    }

    /// While the arena is full, the worker sleeps until it next looks around.
    fn is_ready(&self) -> bool {
        self.next < ENVELOPES && self.waiting_bytes.is_none()
    }
}

/// A source of envelopes, an arena of fewer slots than the link has room for, and what comes out.
fn claiming(seed: u64) -> (TopologyBuilder<u64>, Sink<u64>, Arc<Arena<u64>>, Arc<AtomicU64>) {
    let (arena, refused) = (arena(1 << 20, 16 << 10), Arc::new(AtomicU64::new(0)));
    assert!(arena.usage().map(|class| class.slots).sum::<u64>() < 256);
    let mut drawing = TopologyBuilder::new(arena.clone());
    let worker = drawing.worker("w0");
    let source = drawing.stage(worker, "claiming", Claiming::new(seed, refused.clone()));
    let config = LinkConfig { capacity: 256, ..LinkConfig::default() };
    let sink = drawing.sink("end", source, "out", config, Waker::from_callback(|| ()));
    (drawing, sink, arena, refused)
}

fn check(held: &Held<u64>, number: u64) {
    assert_eq!(held.record(), number);
    assert!(!held.payload().is_empty() && held.payload().iter().all(|byte| *byte == number as u8), "{number}");
}

#[test]
fn a_full_arena_stops_the_source_and_it_goes_on_where_it_was() {
    for seed in 0..20 {
        let (drawing, mut sink, arena, refused) = claiming(seed);
        let mut invoker = drawing.build().unwrap().invoker();
        let (mut random, mut popped) = (Random(!seed), 0);
        while popped < ENVELOPES {
            invoker.turn_until_idle();
            let waits = refused.load(Relaxed);
            invoker.turn_until_idle();
            let in_use = arena.slots_in_use();
            assert!(refused.load(Relaxed) > waits || popped + in_use == ENVELOPES, "seed {seed}: it waits for nothing");
            for _ in 0..1 + random.below(in_use) {
                check(&sink.pop().unwrap(), popped);
                popped += 1;
            }
        }
        assert!(refused.load(Relaxed) > 0, "seed {seed}: the arena was never full");
        assert_eq!(arena.full_total(), refused.load(Relaxed), "seed {seed}");
        assert!(invoker.drain() && sink.pop().is_none());
        assert_eq!(arena.slots_in_use(), 0);
    }
}

#[test]
fn on_a_worker_of_its_own_the_source_sleeps_while_the_arena_is_full() {
    let (drawing, mut sink, arena, refused) = claiming(1);
    let running = drawing.build().unwrap().run().unwrap();
    let (mut kept, mut popped, mut waits) = (Vec::new(), 0, 0);
    while popped < ENVELOPES {
        match sink.pop() {
            Some(held) => {
                check(&held, popped);
                popped += 1;
                kept.push(held);
            }
            // It has come to a stop for want of slots: all come back at once.
            None if refused.load(Relaxed) > waits => {
                waits = refused.load(Relaxed);
                kept.clear();
            }
            None => std::thread::yield_now(),
        }
    }
    drop(kept);
    assert_eq!(running.drain(Duration::from_secs(60)), Drained::Complete);
    assert!(sink.pop().is_none());
    assert!(refused.load(Relaxed) > 0);
    assert_eq!((arena.full_total(), arena.slots_in_use()), (refused.load(Relaxed), 0));
}
