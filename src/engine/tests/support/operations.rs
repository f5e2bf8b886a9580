//! Operations on rings and arena beside a plain model, told by bytes: what the model test draws at random and the fuzzer
//! makes up.
//!
//! Each `run_*` interprets bytes as operations and fails by panicking.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use levada_engine::ring::{mpmc, spsc};
use levada_engine::{Arena, ArenaConfig, ClaimError, ClassConfig, Envelope, Held, Unique};

/// Two bytes per operation: what, and how much.
fn operations(ops: &[u8]) -> impl Iterator<Item = (u8, u8)> + '_ {
    ops.chunks_exact(2).map(|pair| (pair[0], pair[1]))
}

pub fn run_spsc_vector(ops: &[u8]) {
    run_spsc(spsc::Mode::Vector, ops);
}

pub fn run_spsc_index(ops: &[u8]) {
    run_spsc(spsc::Mode::Index, ops);
}

fn run_spsc(mode: spsc::Mode, ops: &[u8]) {
    const CAPACITY: usize = 32;
    let (producer, consumer) = spsc::ring_of(mode, CAPACITY);
    let (mut producer, mut consumer) = (Some(producer), Some(consumer));
    let (mut model, mut next) = (VecDeque::new(), 0);
    for (op, amount) in operations(ops) {
        match (op % 32, &mut producer, &mut consumer) {
            (0, _, Some(_)) if amount == 0 => {
                let gone = producer.is_none();
                let mut left = Vec::new();
                consumer.take().unwrap().retire(|index| left.push(index));
                assert!(if gone { left.iter().eq(&model) } else { left.is_empty() });
            }
            (1, Some(_), _) if amount == 0 => {
                let gone = consumer.is_none();
                let mut left = Vec::new();
                producer.take().unwrap().retire(|index| left.push(index));
                assert!(if gone { left.iter().eq(&model) } else { left.is_empty() });
            }
            (0..16, Some(producer), consumer) => {
                let batch: Vec<u32> = (next..).take(usize::from(amount) % 40).collect();
                let pushed = producer.push_batch(&batch);
                assert_eq!(pushed, batch.len().min(CAPACITY - model.len()));
                model.extend(&batch[..pushed]);
                next += pushed as u32;
                assert_eq!(producer.is_abandoned(), consumer.is_none());
                assert_eq!(producer.gauge().depth(), model.len());
            }
            (op, producer, Some(consumer)) => {
                let expected: Vec<u32> = model.drain(..model.len().min(usize::from(amount) % 40)).collect();
                assert_eq!(pop_some(op, consumer, usize::from(amount) % 40), expected);
                assert_eq!(consumer.is_empty(), model.is_empty());
                assert_eq!(consumer.is_closed(), producer.is_none());
            }
            _ => {}
        }
    }
}

/// Pops up to `most` in one of three ways.
fn pop_some(way: u8, consumer: &mut spsc::Consumer, most: usize) -> Vec<u32> {
    let mut popped = Vec::new();
    match way % 3 {
        0 => popped.extend((0..most).map_while(|_| consumer.pop())),
        1 => {
            popped.resize(most, 0);
            let count = consumer.pop_batch(&mut popped);
            popped.truncate(count);
        }
        _ => {
            consumer.pop_each(most, |index| {
                popped.push(index);
                true
            });
        }
    }
    popped
}

pub fn run_mpmc(ops: &[u8]) {
    const CAPACITY: usize = 8;
    let ring = mpmc::Ring::new(CAPACITY);
    let (mut model, mut next, mut closed) = (VecDeque::new(), 0, false);
    for (op, amount) in operations(ops) {
        match op % 32 {
            0 if amount < 4 => {
                ring.close();
                closed = true;
            }
            0..16 => {
                for _ in 0..amount % 12 {
                    let expected = match (closed, model.len()) {
                        (true, _) => Err(mpmc::Refused::Closed),
                        (_, CAPACITY) => Err(mpmc::Refused::Full),
                        _ => Ok(()),
                    };
                    assert_eq!(ring.push(next), expected);
                    if expected.is_ok() {
                        model.push_back(next);
                        next += 1;
                    }
                }
            }
            16..20 => {
                let batch: Vec<u32> = (next..).take(usize::from(amount) % 12).collect();
                let fit = batch.len().min(CAPACITY - model.len());
                let expected = match (closed, fit) {
                    (true, _) => Err(mpmc::Refused::Closed),
                    (_, 0) if !batch.is_empty() => Err(mpmc::Refused::Full),
                    _ => Ok(fit),
                };
                assert_eq!(ring.push_batch(&batch), expected);
                model.extend(&batch[..expected.unwrap_or(0)]);
                next += expected.unwrap_or(0) as u32;
            }
            20..24 => {
                let mut popped = vec![0; usize::from(amount) % 12];
                let count = ring.pop_batch(&mut popped);
                assert_eq!(count, popped.len().min(model.len()));
                assert!(model.drain(..count).eq(popped[..count].iter().copied()));
            }
            _ => (0..amount % 12).for_each(|_| assert_eq!(ring.pop(), model.pop_front())),
        }
        assert_eq!((ring.depth(), ring.is_empty()), (model.len(), model.is_empty()));
        assert_eq!(ring.is_finished(), closed && model.is_empty());
    }
}

/// One producer that never waits: of a full ring the oldest goes.
pub fn run_drop_oldest(ops: &[u8]) {
    const CAPACITY: usize = 8;
    let ring = mpmc::Ring::new(CAPACITY);
    let (mut model, mut next, mut closed) = (VecDeque::new(), 0, false);
    for (op, amount) in operations(ops) {
        match op % 32 {
            0 if amount < 4 => {
                ring.close();
                closed = true;
            }
            0..16 => {
                for _ in 0..amount % 20 {
                    let mut dropped = Vec::new();
                    let pushed = ring.push_over_oldest(next, |index| dropped.push(index));
                    assert_eq!(pushed, !closed);
                    let gone = match (closed, model.len()) {
                        (true, _) => Some(next),
                        (_, CAPACITY) => model.pop_front(),
                        _ => None,
                    };
                    assert!(dropped.into_iter().eq(gone));
                    model.extend(pushed.then_some(next));
                    next += 1;
                }
            }
            _ => (0..amount % 12).for_each(|_| assert_eq!(ring.pop(), model.pop_front())),
        }
        assert_eq!((ring.depth(), ring.is_finished()), (model.len(), closed && model.is_empty()));
    }
}

/// One handle of any kind, and the number its payload and record were written from.
enum Handle<'a> {
    Unique(Unique<'a, u64>, u64),
    Envelope(Envelope<'a, u64>, u64),
    Held(Held<u64>, u64),
    Bytes(Bytes, u64),
}

/// How many bytes, and which, a number stands for.
fn payload(number: u64) -> Vec<u8> {
    vec![number as u8; (number % 300) as usize]
}

impl Handle<'_> {
    fn check(&self) {
        let (bytes, record, number) = match self {
            Self::Unique(..) => return,
            Self::Envelope(envelope, number) => (envelope.payload(), Some(*envelope.record()), *number),
            Self::Held(held, number) => (held.payload(), Some(held.record()), *number),
            Self::Bytes(bytes, number) => (&bytes[..], None, *number),
        };
        assert_eq!(bytes, payload(number));
        assert!(record.is_none_or(|record| record == number));
    }
}

const CLASSES: [(usize, u32); 2] = [(128, 5), (384, 130)];

pub fn run_arena(ops: &[u8]) {
    let class = |(payload_bytes, slots)| ClassConfig { payload_bytes, slots };
    let config = ArenaConfig { classes: CLASSES.map(class).into(), huge_pages: false, prefault: false };
    let arena: Arc<Arena<u64>> = Arena::new(&config).unwrap();
    let mut handles: VecDeque<Handle<'_>> = VecDeque::new();
    let (mut numbers, mut full) = (0, 0);
    for (op, amount) in operations(ops) {
        if op % 32 == 0 {
            claim_some(&arena, &mut handles, &mut numbers, usize::from(amount), &mut full);
        } else if op % 8 < 3 {
            numbers += 1;
            claim(&arena, &mut handles, u64::from(amount) * 7 + numbers * 256, &mut full);
        } else if !handles.is_empty() {
            let handle = handles.remove(usize::from(amount) % handles.len()).unwrap();
            handle.check();
            turn(&arena, &mut handles, handle, op % 8);
        }
        check_counts(&arena, &handles);
        assert_eq!(arena.full_total(), full);
    }
    handles.into_iter().for_each(|handle| handle.check());
    assert_eq!(arena.slots_in_use(), 0);
}

fn claim<'a>(arena: &'a Arena<u64>, handles: &mut VecDeque<Handle<'a>>, number: u64, full: &mut u64) {
    let wanted = payload(number).len();
    let before: Vec<u64> = arena.usage().map(|class| class.slots - class.slots_in_use).collect();
    match arena.claim(wanted) {
        Ok(mut unique) => {
            let smallest = if wanted <= CLASSES[0].0 && before[0] > 0 { 0 } else { 1 };
            assert_eq!(unique.payload_mut().len(), CLASSES[smallest].0);
            assert_eq!(*unique.record_mut(), 0);
            handles.push_back(Handle::Unique(unique, number));
        }
        Err(error) => {
            assert_eq!(error, ClaimError::Full { payload_bytes: wanted });
            assert!(before[1] == 0 && (before[0] == 0 || wanted > CLASSES[0].0), "{before:?} were free");
            *full += 1;
        }
    }
}

/// Claims several for payloads of the larger class, and lets go of the claims before or after their end.
fn claim_some<'a>(
    arena: &'a Arena<u64>,
    handles: &mut VecDeque<Handle<'a>>,
    numbers: &mut u64,
    amount: usize,
    full: &mut u64,
) {
    let free: Vec<u64> = arena.usage().map(|class| class.slots - class.slots_in_use).collect();
    let (wanted, taken_max) = (amount % 50, amount / 5);
    let mut taken = 0;
    for mut unique in arena.claims(CLASSES[1].0, wanted).take(taken_max) {
        assert_eq!((unique.payload_mut().len(), *unique.record_mut()), (CLASSES[1].0, 0));
        *numbers += 1;
        taken += 1;
        handles.push_back(Handle::Unique(unique, *numbers * 256));
    }
    assert_eq!(taken, wanted.min(taken_max).min(free[1] as usize));
    *full += u64::from(taken < wanted.min(taken_max));
}

/// Moves a handle one step on, or copies or drops it.
fn turn<'a>(arena: &'a Arc<Arena<u64>>, handles: &mut VecDeque<Handle<'a>>, handle: Handle<'a>, step: u8) {
    match (step, handle) {
        (3, _) => {}
        (_, Handle::Unique(mut unique, number)) => {
            unique.fill(&payload(number));
            *unique.record_mut() = number;
            handles.push_back(Handle::Envelope(unique.share(), number));
        }
        (4, Handle::Envelope(mut envelope, number)) => {
            let alone = envelope.record_mut().is_some();
            let copy = envelope.clone();
            assert!(envelope.record_mut().is_none());
            drop(copy);
            assert_eq!(envelope.record_mut().is_some(), alone);
            handles.push_back(Handle::Envelope(envelope, number));
        }
        (5, Handle::Envelope(envelope, number)) => {
            handles.push_front(Handle::Envelope(envelope.clone(), number));
            handles.push_back(Handle::Envelope(envelope, number));
        }
        (_, Handle::Envelope(envelope, number)) => handles.push_back(Handle::Held(envelope.hold(), number)),
        (4 | 5, Handle::Held(held, number)) => {
            handles.push_back(Handle::Envelope(held.attach(arena).unwrap(), number));
        }
        (_, Handle::Held(held, number)) => handles.push_back(Handle::Bytes(held.into_bytes(), number)),
        (4 | 5, Handle::Bytes(bytes, number)) => {
            handles.push_front(Handle::Bytes(bytes.clone(), number));
            handles.push_back(Handle::Bytes(bytes, number));
        }
        (_, Handle::Bytes(bytes, number)) => handles.push_back(Handle::Bytes(bytes, number)),
    }
}

/// A slot is in use exactly while some handle to its number exists.
fn check_counts(arena: &Arena<u64>, handles: &VecDeque<Handle<'_>>) {
    let mut numbers: Vec<u64> = handles
        .iter()
        .map(|handle| match handle {
            Handle::Unique(_, number)
            | Handle::Envelope(_, number)
            | Handle::Held(_, number)
            | Handle::Bytes(_, number) => *number,
        })
        .collect();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(arena.slots_in_use(), numbers.len() as u64);
}
