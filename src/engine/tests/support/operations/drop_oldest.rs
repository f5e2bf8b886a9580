//! A ring whose one producer never waits: of a full one the oldest goes.

use std::collections::VecDeque;

use levada_engine::ring::mpmc::Ring;

use super::{operations, start};

/// One operation.
#[derive(Clone, Copy)]
pub enum Op {
    Close,
    PushOver(usize),
    Pop(usize),
}

/// What an operation came to.
#[derive(Default)]
pub struct Done {
    /// Is in the ring, as far as nothing newer came.
    pub pushed: Vec<u32>,
    /// Is not, or no longer.
    pub dropped: Vec<u32>,
    pub popped: Vec<u32>,
}

/// The operations that the bytes tell, and a ring to do them on.
pub fn told(bytes: &[u8]) -> (Ring, impl Iterator<Item = Op> + '_) {
    let capacity = [2, 8][bytes.get(1).map_or(0, |byte| usize::from(*byte) % 2)];
    // As for the ring with many producers; each operation pushes less than twenty.
    let (start, ops) = start(bytes, &[1 << 32, (1 << 63) - 16 * bytes.len() as u64]);
    (Ring::starting_at(capacity, start), operations(ops).map(|(op, amount)| op_of(op, amount)))
}

fn op_of(op: u8, amount: u8) -> Op {
    match op % 32 {
        0 if amount < 4 => Op::Close,
        0..16 => Op::PushOver(usize::from(amount) % 20),
        _ => Op::Pop(usize::from(amount) % 12),
    }
}

impl Op {
    /// Does it; pushed are the numbers from `next` on, which is left behind them.
    pub fn apply(self, ring: &Ring, next: &mut u32) -> Done {
        let mut done = Done::default();
        match self {
            Self::Close => ring.close(),
            Self::PushOver(count) => {
                for index in (*next..).take(count) {
                    if ring.push_over_oldest(index, |lost| done.dropped.push(lost)) {
                        done.pushed.push(index);
                    }
                }
                *next += count as u32;
            }
            Self::Pop(count) => done.popped.extend((0..count).filter_map(|_| ring.pop())),
        }
        done
    }
}

pub fn run(bytes: &[u8]) {
    let (ring, ops) = told(bytes);
    let (mut model, mut next, mut closed) = (VecDeque::new(), 0, false);
    for op in ops {
        let first = next;
        let done = op.apply(&ring, &mut next);
        match op {
            Op::Close => closed = true,
            Op::PushOver(_) if closed => assert!(done.pushed.is_empty() && (first..next).eq(done.dropped)),
            Op::PushOver(_) => {
                assert!((first..next).eq(done.pushed));
                model.extend(first..next);
                let lost = model.len().saturating_sub(ring.capacity());
                assert!(model.drain(..lost).eq(done.dropped));
            }
            Op::Pop(count) => assert!(model.drain(..count.min(model.len())).eq(done.popped)),
        }
        assert_eq!((ring.depth(), ring.is_finished()), (model.len(), closed && model.is_empty()));
    }
}
