//! A ring with one producer and one consumer.

use std::collections::VecDeque;

use levada_engine::ring::spsc::{Consumer, Mode, Producer, ring_at};

use super::{operations, start};

/// One operation on one of the ends.
#[derive(Clone, Copy)]
pub enum Op {
    Push(usize),
    Pop(Way, usize),
    ProducerLeaves,
    ConsumerLeaves,
}

/// How a consumer pops.
#[derive(Clone, Copy)]
pub enum Way {
    Singly,
    InBatches,
    Each,
}

/// The operations that the bytes tell, and a ring to do them on.
pub fn told(mode: Mode, bytes: &[u8]) -> (Pushing, Popping, usize, impl Iterator<Item = Op> + '_) {
    let capacity = [2, 8, 32][bytes.get(1).map_or(0, |byte| usize::from(*byte) % 3)];
    // Positions come round as integers do; the laps in the headers of a vector ring do after 2²⁴.
    let (start, ops) = start(bytes, &[0, (capacity as u64) << 24]);
    let (producer, consumer) = ring_at(mode, capacity, start as usize);
    let pushing = Pushing { end: Some(producer), next: 0, left: Vec::new() };
    let popping = Popping { end: Some(consumer), left: Vec::new() };
    (pushing, popping, capacity, operations(ops).map(|(op, amount)| op_of(op, amount)))
}

fn op_of(op: u8, amount: u8) -> Op {
    let most = usize::from(amount) % 40;
    match op % 32 {
        0 if amount == 0 => Op::ConsumerLeaves,
        1 if amount == 0 => Op::ProducerLeaves,
        0..16 => Op::Push(most),
        op if op % 3 == 0 => Op::Pop(Way::Singly, most),
        op if op % 3 == 1 => Op::Pop(Way::InBatches, most),
        _ => Op::Pop(Way::Each, most),
    }
}

/// The pushing end, while it is there; it pushes the numbers from 0 on.
pub struct Pushing {
    end: Option<Producer>,
    pub next: u32,
    /// What it was given when it left.
    pub left: Vec<u32>,
}

impl Pushing {
    pub fn push(&mut self, most: usize) -> usize {
        let Some(end) = &mut self.end else { return 0 };
        let batch: Vec<u32> = (self.next..).take(most).collect();
        let pushed = end.push_batch(&batch);
        self.next += pushed as u32;
        pushed
    }

    pub fn leave(&mut self) {
        if let Some(end) = self.end.take() {
            end.retire(|index| self.left.push(index));
        }
    }
}

/// The popping end, while it is there.
pub struct Popping {
    end: Option<Consumer>,
    /// What it was given when it left.
    pub left: Vec<u32>,
}

impl Popping {
    pub fn pop(&mut self, way: Way, most: usize) -> Vec<u32> {
        let mut popped = Vec::new();
        let Some(end) = &mut self.end else { return popped };
        match way {
            Way::Singly => popped.extend((0..most).map_while(|_| end.pop())),
            Way::InBatches => {
                popped.resize(most, 0);
                let count = end.pop_batch(&mut popped);
                popped.truncate(count);
            }
            Way::Each => {
                end.pop_each(most, |index| {
                    popped.push(index);
                    true
                });
            }
        }
        popped
    }

    pub fn leave(&mut self) {
        if let Some(end) = self.end.take() {
            end.retire(|index| self.left.push(index));
        }
    }
}

pub fn run_vector(bytes: &[u8]) {
    run(Mode::Vector, bytes);
}

pub fn run_index(bytes: &[u8]) {
    run(Mode::Index, bytes);
}

fn run(mode: Mode, bytes: &[u8]) {
    let (mut pushing, mut popping, capacity, ops) = told(mode, bytes);
    let mut model = VecDeque::new();
    for op in ops {
        match op {
            Op::Push(most) => {
                let (first, room) = (pushing.next, capacity - model.len());
                let expected = if pushing.end.is_some() { most.min(room) } else { 0 };
                assert_eq!(pushing.push(most), expected);
                model.extend(first..pushing.next);
            }
            Op::Pop(way, most) => {
                let most_there = if popping.end.is_some() { model.len() } else { 0 };
                assert!(model.drain(..most.min(most_there)).eq(popping.pop(way, most)));
            }
            Op::ProducerLeaves => pushing.leave(),
            Op::ConsumerLeaves => popping.leave(),
        }
        check(&pushing, &popping, &mut model);
    }
}

/// Both ends know of the other and of what is in the ring; the last one to leave was given that.
fn check(pushing: &Pushing, popping: &Popping, model: &mut VecDeque<u32>) {
    match (&pushing.end, &popping.end) {
        (None, None) => {
            assert!(pushing.left.is_empty() || popping.left.is_empty());
            assert!(pushing.left.iter().chain(&popping.left).eq(&*model));
        }
        (producer, consumer) => {
            assert!(pushing.left.is_empty() && popping.left.is_empty());
            assert!(producer.as_ref().is_none_or(|end| end.gauge().depth() == model.len()));
            assert!(producer.as_ref().is_none_or(|end| end.is_abandoned() == consumer.is_none()));
            assert!(consumer.as_ref().is_none_or(|end| end.is_empty() == model.is_empty()));
            assert!(consumer.as_ref().is_none_or(|end| end.is_closed() == producer.is_none()));
        }
    }
}
