//! A ring with any number of producers and consumers.

use std::collections::VecDeque;

use levada_engine::ring::mpmc::{Refused, Ring};

use super::{operations, start};

/// One operation.
#[derive(Clone, Copy)]
pub enum Op {
    Close,
    Push(usize),
    PushBatch(usize),
    Pop(usize),
    PopBatch(usize),
}

/// What an operation came to.
#[derive(Default)]
pub struct Done {
    pub pushed: usize,
    pub refused: Option<Refused>,
    pub popped: Vec<u32>,
}

/// The operations that the bytes tell, and a ring to do them on.
pub fn told(bytes: &[u8]) -> (Ring, impl Iterator<Item = Op> + '_) {
    let capacity = [2, 8][bytes.get(1).map_or(0, |byte| usize::from(*byte) % 2)];
    // Sequence numbers come round; positions must stay below the bit that says closed.
    let (start, ops) = start(bytes, &[1 << 32, (1 << 63) - 8 * bytes.len() as u64]);
    (Ring::starting_at(capacity, start), operations(ops).map(|(op, amount)| op_of(op, amount)))
}

fn op_of(op: u8, amount: u8) -> Op {
    let count = usize::from(amount) % 12;
    match op % 32 {
        0 if amount < 4 => Op::Close,
        0..12 => Op::Push(count),
        12..18 => Op::PushBatch(count),
        18..24 => Op::PopBatch(count),
        _ => Op::Pop(count),
    }
}

impl Op {
    /// Does it; pushed are the numbers from `next` on, which is left behind them.
    pub fn apply(self, ring: &Ring, next: &mut u32) -> Done {
        let mut done = Done::default();
        match self {
            Self::Close => ring.close(),
            Self::Push(count) => {
                while done.pushed < count && done.refused.is_none() {
                    match ring.push(*next + done.pushed as u32) {
                        Ok(()) => done.pushed += 1,
                        Err(refused) => done.refused = Some(refused),
                    }
                }
            }
            Self::PushBatch(count) => {
                let batch: Vec<u32> = (*next..).take(count).collect();
                match ring.push_batch(&batch) {
                    Ok(pushed) => done.pushed = pushed,
                    Err(refused) => done.refused = Some(refused),
                }
            }
            Self::Pop(count) => done.popped.extend((0..count).filter_map(|_| ring.pop())),
            Self::PopBatch(count) => {
                done.popped.resize(count, 0);
                let count = ring.pop_batch(&mut done.popped);
                done.popped.truncate(count);
            }
        }
        *next += done.pushed as u32;
        done
    }

    /// What it must come to beside no other thread.
    fn expected(self, is_closed: bool, depth: usize, capacity: usize) -> (usize, Option<Refused>, usize) {
        let room = capacity - depth;
        match self {
            Self::Close | Self::Push(0) => (0, None, 0),
            Self::Push(_) | Self::PushBatch(_) if is_closed => (0, Some(Refused::Closed), 0),
            Self::Push(count) => (count.min(room), (count > room).then_some(Refused::Full), 0),
            Self::PushBatch(count) => (count.min(room), (count > 0 && room == 0).then_some(Refused::Full), 0),
            Self::Pop(count) | Self::PopBatch(count) => (0, None, count.min(depth)),
        }
    }
}

pub fn run(bytes: &[u8]) {
    let (ring, ops) = told(bytes);
    let (mut model, mut next, mut closed) = (VecDeque::new(), 0, false);
    for op in ops {
        let (pushed, refused, popped) = op.expected(closed, model.len(), ring.capacity());
        let first = next;
        let done = op.apply(&ring, &mut next);
        assert_eq!((done.pushed, done.refused), (pushed, refused));
        assert!(model.drain(..popped).eq(done.popped));
        model.extend(first..next);
        closed |= matches!(op, Op::Close);
        assert_eq!((ring.depth(), ring.is_empty()), (model.len(), model.is_empty()));
        assert_eq!(ring.is_finished(), closed && model.is_empty());
    }
}
