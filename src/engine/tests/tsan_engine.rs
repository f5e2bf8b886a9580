//! Hammers the engine with real payload bytes, for ThreadSanitizer; without it, a quick check like any other.
//!
//! A plain binary, for the test harness is not instrumented, and neither is the rest of the standard library: threads
//! are spawned and joined, nothing else, since scopes and channels would be reported as races of their own.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a test fails by panicking; its one line is its result")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread::{spawn, yield_now};
use std::time::Duration;

use crossbeam::queue::ArrayQueue;
use levada_engine::ring::{mpmc, spsc};
use levada_engine::seen::{Set, Sight};
use levada_engine::{
    Arena, ArenaConfig, Batch, ClassConfig, Drained, Envelope, Held, LinkConfig, OnPanic, Outputs, PushError, Sink,
    SleepFlag, Source, Stage, TopologyBuilder, Waker,
};

const ROUNDS: u64 = 20_000;

fn arena(slots: u32) -> Arc<Arena<u64>> {
    let classes = vec![ClassConfig { payload_bytes: 128, slots }];
    Arena::new(&ArenaConfig { classes, huge_pages: false, prefault: false }).unwrap()
}

/// An envelope whose whole payload and record come from one number; `None` when no slot is free.
fn written(arena: &Arena<u64>, number: u64) -> Option<Envelope<'_, u64>> {
    let mut unique = arena.claim(128).ok()?;
    unique.payload_mut().fill(number as u8);
    unique.set_len(128);
    *unique.record_mut() = number;
    Some(unique.share())
}

fn check(payload: &[u8], record: u64) {
    assert!(payload.len() == 128 && payload.iter().all(|byte| *byte == record as u8), "{record}: {payload:?}");
}

/// Plain memory handed over by index: the ring alone orders writer and reader.
struct Cells(Vec<std::cell::UnsafeCell<u64>>);

// SAFETY: a cell is written before its index is pushed, and read after it was popped, by whoever popped it.
unsafe impl Sync for Cells {}

impl Cells {
    fn new() -> Self {
        Self((0..ROUNDS).map(|_| std::cell::UnsafeCell::new(0)).collect())
    }

    fn write(&self, index: u32) {
        // SAFETY: nobody knows the index yet.
        unsafe { *self.0[index as usize].get() = u64::from(index) + 1 };
    }

    fn take(&self, index: u32) {
        // SAFETY: the ring gave the index to this thread alone. Writing makes a second taker a race.
        let value = unsafe { std::mem::take(&mut *self.0[index as usize].get()) };
        assert_eq!(value, u64::from(index) + 1);
    }
}

fn spsc_vector_hands_memory_over() {
    spsc_hands_memory_over(spsc::Mode::Vector);
}

fn spsc_index_hands_memory_over() {
    spsc_hands_memory_over(spsc::Mode::Index);
}

fn spsc_hands_memory_over(mode: spsc::Mode) {
    let cells = Arc::new(Cells::new());
    let (mut producer, mut consumer) = spsc::ring_of(mode, 64);
    let theirs = cells.clone();
    let pushing = spawn(move || {
        for first in (0..ROUNDS as u32).step_by(20) {
            let batch: Vec<u32> = (first..first + 20).collect();
            batch.iter().for_each(|index| theirs.write(*index));
            let mut left = &batch[..];
            while !left.is_empty() {
                left = &left[producer.push_batch(left)..];
                yield_now();
            }
        }
    });
    let mut expected = 0;
    while expected < ROUNDS as u32 {
        let mut popped = [0; 48];
        // One by one, and as many as there are.
        let most = if expected % 3 == 0 { 1 } else { popped.len() };
        let count = consumer.pop_batch(&mut popped[..most]);
        if count == 0 {
            yield_now();
        }
        for index in &popped[..count] {
            assert_eq!(*index, expected);
            cells.take(*index);
            expected += 1;
        }
    }
    pushing.join().unwrap();
}

/// As many threads push as pop, by one and by batches.
fn mpmc_hands_memory_over(lanes: u32) {
    let shared = Arc::new((Cells::new(), mpmc::Ring::new(64), AtomicU64::new(0)));
    let pushing = (0..lanes).map(|lane| {
        let shared = shared.clone();
        spawn(move || {
            for first in (lane * 5..ROUNDS as u32).step_by(5 * lanes as usize) {
                let batch: Vec<u32> = (first..first + 5).collect();
                batch.iter().for_each(|index| shared.0.write(*index));
                let mut left = &batch[..];
                while !left.is_empty() {
                    let pushed = match first % 4 {
                        0 => shared.1.push(left[0]).map(|()| 1),
                        _ => shared.1.push_batch(left),
                    };
                    left = &left[pushed.unwrap_or(0)..];
                    yield_now();
                }
            }
        })
    });
    let pushing: Vec<_> = pushing.collect();
    let popping = (0..lanes).map(|lane| {
        let shared = shared.clone();
        spawn(move || {
            while shared.2.load(Relaxed) < ROUNDS {
                let mut popped = [0; 8];
                let count = shared.1.pop_batch(&mut popped[..1 + 7 * (lane % 2) as usize]);
                if count == 0 {
                    yield_now();
                }
                popped[..count].iter().for_each(|index| shared.0.take(*index));
                shared.2.fetch_add(count as u64, Relaxed);
            }
        })
    });
    let popping: Vec<_> = popping.collect();
    pushing.into_iter().chain(popping).for_each(|thread| thread.join().unwrap());
}

/// What the producer pushes out is its own again.
fn mpmc_drops_the_oldest(consumers: u32) {
    let shared = Arc::new((Cells::new(), mpmc::Ring::new(16), AtomicU64::new(0)));
    let popping = (0..consumers).map(|_| {
        let shared = shared.clone();
        spawn(move || {
            while shared.2.load(Relaxed) < ROUNDS {
                match shared.1.pop() {
                    Some(index) => {
                        shared.0.take(index);
                        shared.2.fetch_add(1, Relaxed);
                    }
                    None => yield_now(),
                }
            }
        })
    });
    let popping: Vec<_> = popping.collect();
    for index in 0..ROUNDS as u32 {
        shared.0.write(index);
        shared.1.push_over_oldest(index, |lost| {
            shared.0.take(lost);
            shared.2.fetch_add(1, Relaxed);
        });
        if index % 8 == 0 {
            yield_now();
        }
    }
    popping.into_iter().for_each(|thread| thread.join().unwrap());
}

/// Whoever is told that a key is new has the cell of its number: two owners would be a race.
fn new_keys_have_one_owner(threads: u64) {
    let shared = Arc::new((Cells::new(), Set::new(2 * ROUNDS as usize), AtomicU64::new(0)));
    let inserting = (0..threads).map(|_| {
        let shared = shared.clone();
        spawn(move || {
            for number in 0..ROUNDS as u32 {
                let mut key = [0; 32];
                key.chunks_exact_mut(4).for_each(|word| word.copy_from_slice(&(number + 1).to_le_bytes()));
                if shared.1.insert(&key, 0) == Sight::New {
                    shared.0.write(number);
                    shared.2.fetch_add(1, Relaxed);
                }
            }
        })
    });
    let inserting: Vec<_> = inserting.collect();
    inserting.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(shared.2.load(Relaxed), ROUNDS);
    (0..ROUNDS as u32).for_each(|number| shared.0.take(number));
}

/// As many threads write and share as read and drop.
fn slots_are_freed_by_other_threads(lanes: u64) {
    // Too few for threads to keep any, so few that they take each other's, and enough.
    for slots in [8, 64, 512] {
        let shared = Arc::new((arena(slots), ArrayQueue::<Held<u64>>::new(64), AtomicU64::new(0)));
        let total = ROUNDS / 2;
        let writing = (0..lanes).map(|lane| {
            let shared = shared.clone();
            spawn(move || {
                (lane..total).step_by(lanes as usize).for_each(|number| write_and_share(&shared.0, &shared.1, number));
            })
        });
        let writing: Vec<_> = writing.collect();
        let reading = (0..lanes).map(|_| {
            let shared = shared.clone();
            spawn(move || {
                while shared.2.load(Relaxed) < total {
                    match shared.1.pop() {
                        Some(held) => {
                            check(held.payload(), held.record());
                            shared.2.fetch_add(1, Relaxed);
                        }
                        None => yield_now(),
                    }
                }
            })
        });
        let reading: Vec<_> = reading.collect();
        writing.into_iter().chain(reading).for_each(|thread| thread.join().unwrap());
        assert_eq!(shared.0.slots_in_use(), 0);
    }
}

/// Fills a slot, gives one handle away, and reads through the other while the slot may be read or dropped elsewhere.
fn write_and_share(arena: &Arc<Arena<u64>>, queue: &ArrayQueue<Held<u64>>, number: u64) {
    let envelope = loop {
        match written(arena, number) {
            Some(envelope) => break envelope,
            None => yield_now(),
        }
    };
    let mut other = envelope.clone().hold();
    while let Err(back) = queue.push(other) {
        other = back;
        yield_now();
    }
    check(envelope.payload(), *envelope.record());
}

fn records_change_hands() {
    let arena = arena(4);
    for round in 0..ROUNDS / 100 {
        let mut envelope = written(&arena, round).unwrap();
        let other = envelope.clone().hold();
        let reading = spawn(move || check(other.payload(), other.record()));
        while envelope.record_mut().is_none() {
            yield_now();
        }
        // The reader is through, and this thread has not joined it.
        *envelope.record_mut().unwrap() += 1;
        assert_eq!(*envelope.record(), round + 1);
        reading.join().unwrap();
    }
}

fn sleepers_are_woken() {
    let shared = Arc::new((SleepFlag::new(), AtomicU64::new(0)));
    let theirs = shared.clone();
    let sleeper = spawn(move || {
        let (flag, work) = &*theirs;
        let mut seen = 0;
        while seen < ROUNDS {
            let now = work.load(Relaxed);
            if now == seen {
                flag.raise();
                if work.load(Relaxed) == seen {
                    // No limit: a lost wake-up hangs the test.
                    std::thread::park();
                }
                flag.lower();
            }
            seen = now.max(seen);
        }
    });
    for _ in 0..ROUNDS {
        shared.1.fetch_add(1, Relaxed);
        if shared.0.lower_if_raised() {
            sleeper.thread().unpark();
        }
    }
    sleeper.join().unwrap();
}

/// Reads every payload, passes it on to both ports' links, and panics now and then.
struct Reader {
    calls: u64,
    /// Passes on what is in a batch at once.
    at_once: bool,
}

impl Reader {
    fn count(&mut self) {
        self.calls += 1;
        if self.calls.is_multiple_of(1000) {
            std::panic::panic_any("now and then");
        }
    }
}

impl Stage<u64> for Reader {
    fn ports(&self) -> &'static [&'static str] {
        &["out"]
    }

    fn on_panic(&self) -> OnPanic {
        OnPanic::SkipMessage
    }

    fn process(&mut self, batch: &mut Batch<'_, u64>, outputs: &mut Outputs<'_, u64>) {
        batch.peek().for_each(|view| check(view.payload, *view.record));
        if self.at_once {
            return batch.pass(outputs, 0, |_| self.count());
        }
        for envelope in batch {
            self.count();
            outputs.send(0, envelope);
        }
    }
}

fn push_all(source: &Source<u64>, numbers: std::ops::Range<u64>) {
    for number in numbers {
        let mut envelope = loop {
            match written(source.arena(), number) {
                Some(envelope) => break envelope,
                None => yield_now(),
            }
        };
        while let Err(refused) = source.push(envelope) {
            let PushError::Full(back) = refused else { panic!("the topology is open") };
            envelope = back;
            yield_now();
        }
    }
}

fn pop_all(sink: &mut Sink<u64>) -> u64 {
    let mut popped = 0;
    while !sink.is_finished() {
        match sink.pop() {
            Some(held) => {
                check(held.payload(), held.record());
                popped += 1;
            }
            None => yield_now(),
        }
    }
    popped
}

fn topologies_pass_and_drain() {
    let arena = arena(512);
    let mut drawing = TopologyBuilder::new(arena.clone());
    let (near, far) = (drawing.worker("near"), drawing.worker("far"));
    let first = drawing.stage(near, "first", Reader { calls: 0, at_once: true });
    let middle = drawing.stage(far, "middle", Reader { calls: 0, at_once: true });
    let last = drawing.stage(near, "last", Reader { calls: 0, at_once: false });
    drawing.link(first, "out", middle);
    drawing.link(first, "out", last);
    drawing.link(middle, "out", last);
    let source = drawing.source("in", first, 256);
    let mut sink = drawing.sink("end", last, "out", LinkConfig::default(), Waker::from_callback(|| ()));
    let running = drawing.build().unwrap().run().unwrap();
    let pushing = [0, 1].map(|lane| {
        let source = source.clone();
        spawn(move || push_all(&source, lane * ROUNDS / 4..(lane + 1) * ROUNDS / 4))
    });
    // The sink comes back to be dropped here: the sanitizer takes the fence in the last drop of a standard `Arc` for a race
    // unless the threads that had shares were joined before.
    let popping = spawn(move || (pop_all(&mut sink), sink));
    pushing.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(running.drain(Duration::from_secs(60)), Drained::Complete);
    let (popped, sink) = popping.join().unwrap();
    drop(sink);
    // Each envelope comes by two ways; each thousandth is lost to a panic in each of three stages.
    let pushed = ROUNDS / 2;
    let (after_first, lost) = (pushed - pushed / 1000, |taken: u64| taken / 1000);
    let into_last = after_first + (after_first - lost(after_first));
    assert_eq!(popped, into_last - lost(into_last));
    assert_eq!(arena.slots_in_use(), 0);
}

fn main() {
    // The panics of `Reader` are meant.
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if info.payload().downcast_ref::<&str>() != Some(&"now and then") {
            report(info);
        }
    }));
    // Each with two threads in all, and with four, where more than one of a kind is possible.
    let hammers: [fn(); 13] = [
        spsc_vector_hands_memory_over,
        spsc_index_hands_memory_over,
        || mpmc_hands_memory_over(1),
        || mpmc_hands_memory_over(2),
        || mpmc_drops_the_oldest(1),
        || mpmc_drops_the_oldest(3),
        || slots_are_freed_by_other_threads(1),
        || slots_are_freed_by_other_threads(2),
        || new_keys_have_one_owner(2),
        || new_keys_have_one_owner(4),
        records_change_hands,
        sleepers_are_woken,
        topologies_pass_and_drain,
    ];
    hammers.iter().for_each(|hammer| hammer());
    println!("tsan_engine: {} passed, 0 failed", hammers.len());
}
