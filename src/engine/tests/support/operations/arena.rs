//! The arena, and handles of every kind to its slots.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use levada_engine::{Arena, ArenaConfig, ClaimError, ClassConfig, Envelope, Held, HeldUnique, Unique};

use super::{operations, start};

/// Slots of both sizes; of the larger there are enough for threads to keep some.
pub const CLASSES: [(usize, u32); 2] = [(128, 5), (384, 130)];

/// One operation.
#[derive(Clone, Copy)]
pub enum Op {
    Claim(u64),
    ClaimSome { wanted: usize, taken: usize },
    Turn { which: usize, step: u8 },
    Give(usize),
    Take,
}

/// The operations that the bytes tell, and an arena to do them on.
pub fn told(bytes: &[u8]) -> (Arc<Arena<u64>>, impl Iterator<Item = Op> + '_) {
    // Generations and the tags of the free stacks come round.
    let (start, ops) = start(bytes, &[1 << 32]);
    let class = |(payload_bytes, slots)| ClassConfig { payload_bytes, slots };
    let config = ArenaConfig { classes: CLASSES.map(class).into(), huge_pages: false, prefault: false };
    let arena = Arena::starting_at(&config, start as u32).expect("a small arena");
    (arena, operations(ops).map(|(op, amount)| op_of(op, amount)))
}

fn op_of(op: u8, amount: u8) -> Op {
    let which = usize::from(amount);
    match op % 32 {
        0 => Op::ClaimSome { wanted: which % 50, taken: which / 5 },
        7 => Op::Give(which),
        15 => Op::Take,
        op if op % 8 < 3 => Op::Claim(u64::from(amount) * 7),
        op => Op::Turn { which, step: op % 8 },
    }
}

/// One handle of any kind, and the number its payload and record were written from.
pub enum Handle<'a> {
    Unique(Unique<'a, u64>, u64),
    HeldUnique(HeldUnique<u64>, u64),
    Envelope(Envelope<'a, u64>, u64),
    Held(Held<u64>, u64),
    Bytes(Bytes, u64),
}

/// How many bytes, and which, a number stands for.
fn payload(number: u64) -> Vec<u8> {
    vec![number as u8; (number % 300) as usize]
}

impl Handle<'_> {
    pub fn check(&self) {
        let (bytes, record, number) = match self {
            Self::Unique(..) | Self::HeldUnique(..) => return,
            Self::Envelope(envelope, number) => (envelope.payload(), Some(*envelope.record()), *number),
            Self::Held(held, number) => (held.payload(), Some(held.record()), *number),
            Self::Bytes(bytes, number) => (&bytes[..], None, *number),
        };
        assert_eq!(bytes, payload(number));
        assert!(record.is_none_or(|record| record == number));
    }

    fn number(&self) -> u64 {
        match self {
            Self::Unique(_, number)
            | Self::HeldUnique(_, number)
            | Self::Envelope(_, number)
            | Self::Held(_, number)
            | Self::Bytes(_, number) => *number,
        }
    }
}

/// Handles on their way from one thread to another.
pub type Common = Mutex<VecDeque<(Held<u64>, u64)>>;

/// The handles of one thread.
pub struct Hands<'a> {
    arena: &'a Arc<Arena<u64>>,
    common: &'a Common,
    pub handles: VecDeque<Handle<'a>>,
    /// Claims so far; with another first number, those of a thread are told from all others.
    numbers: u64,
    pub full: u64,
}

impl<'a> Hands<'a> {
    pub fn new(arena: &'a Arc<Arena<u64>>, common: &'a Common, numbers: u64) -> Self {
        Self { arena, common, handles: VecDeque::new(), numbers, full: 0 }
    }

    /// Does it. `free` says how many slots are free in either class, where nobody else is there to take them.
    pub fn apply(&mut self, op: Op, free: Option<[u64; 2]>) {
        match op {
            Op::Claim(amount) => self.claim(amount, free),
            Op::ClaimSome { wanted, taken } => self.claim_some(wanted, taken, free),
            Op::Take => {
                let taken = self.common.lock().expect("nobody panics in here").pop_front();
                self.handles.extend(taken.map(|(held, number)| Handle::Held(held, number)));
            }
            Op::Give(which) | Op::Turn { which, .. } if !self.handles.is_empty() => {
                let handle = self.handles.remove(which % self.handles.len()).expect("there are so many");
                handle.check();
                match op {
                    Op::Turn { step, .. } => self.turn(handle, step),
                    _ => self.give(handle),
                }
            }
            Op::Give(_) | Op::Turn { .. } => {}
        }
    }

    fn claim(&mut self, amount: u64, free: Option<[u64; 2]>) {
        self.numbers += 1;
        let number = amount + self.numbers * 256;
        let wanted = payload(number).len();
        match self.arena.claim(wanted) {
            Ok(mut unique) => {
                let slot_bytes = unique.payload_mut().len();
                assert!(slot_bytes >= wanted && *unique.record_mut() == 0);
                let is_small = |free: [u64; 2]| wanted <= CLASSES[0].0 && free[0] > 0;
                assert!(free.is_none_or(|free| slot_bytes == CLASSES[usize::from(!is_small(free))].0));
                self.handles.push_back(Handle::Unique(unique, number));
            }
            Err(error) => {
                assert_eq!(error, ClaimError::Full { payload_bytes: wanted });
                let is_full = |free: [u64; 2]| free[1] == 0 && (free[0] == 0 || wanted > CLASSES[0].0);
                assert!(free.is_none_or(is_full), "{free:?} were free");
                self.full += 1;
            }
        }
    }

    /// Claims several for payloads of the larger class, and lets go of the claims before or after their end.
    fn claim_some(&mut self, wanted: usize, taken_max: usize, free: Option<[u64; 2]>) {
        let mut taken = 0;
        for mut unique in self.arena.claims(CLASSES[1].0, wanted).take(taken_max) {
            assert_eq!((unique.payload_mut().len(), *unique.record_mut()), (CLASSES[1].0, 0));
            self.numbers += 1;
            taken += 1;
            self.handles.push_back(Handle::Unique(unique, self.numbers * 256));
        }
        assert!(free.is_none_or(|free| taken == wanted.min(taken_max).min(free[1] as usize)));
        self.full += u64::from(taken < wanted.min(taken_max));
    }

    fn give(&self, handle: Handle<'a>) {
        let (held, number) = match handle {
            Handle::Envelope(envelope, number) => (envelope.hold(), number),
            Handle::Held(held, number) => (held, number),
            _ => return,
        };
        self.common.lock().expect("nobody panics in here").push_back((held, number));
    }

    /// Moves a handle one step on, or copies or drops it.
    fn turn(&mut self, handle: Handle<'a>, step: u8) {
        let handles = &mut self.handles;
        match (step, handle) {
            (3, _) => {}
            (4, Handle::Unique(unique, number)) => handles.push_back(Handle::HeldUnique(unique.hold(), number)),
            (_, Handle::Unique(mut unique, number)) => {
                unique.fill(&payload(number));
                *unique.record_mut() = number;
                handles.push_back(Handle::Envelope(unique.share(), number));
            }
            (_, Handle::HeldUnique(mut unique, number)) => {
                let payload = payload(number);
                unique.payload_mut()[..payload.len()].copy_from_slice(&payload);
                unique.set_len(payload.len());
                *unique.record_mut() = number;
                handles.push_back(Handle::Held(unique.share(), number));
            }
            (4, Handle::Envelope(mut envelope, number)) => {
                let copy = envelope.clone();
                assert!(envelope.record_mut().is_none());
                drop(copy);
                handles.push_back(match envelope.into_unique() {
                    Ok(unique) => Handle::Unique(unique, number),
                    Err(envelope) => Handle::Envelope(envelope, number),
                });
            }
            (5, Handle::Envelope(envelope, number)) => {
                let [first, second, third] = envelope.fan_out();
                handles.extend([first, second].map(|envelope| Handle::Envelope(envelope, number)));
                handles.push_front(Handle::Envelope(third, number));
            }
            (6, Handle::Envelope(envelope, number)) => {
                handles.push_front(Handle::Envelope(envelope.clone(), number));
                handles.push_back(Handle::Envelope(envelope, number));
            }
            (_, Handle::Envelope(envelope, number)) => handles.push_back(Handle::Held(envelope.hold(), number)),
            (4 | 5, Handle::Held(held, number)) => {
                handles.push_back(Handle::Envelope(held.attach(self.arena).expect("it is of this arena"), number));
            }
            (_, Handle::Held(held, number)) => handles.push_back(Handle::Bytes(held.into_bytes(), number)),
            (4 | 5, Handle::Bytes(bytes, number)) => {
                handles.push_front(Handle::Bytes(bytes.clone(), number));
                handles.push_back(Handle::Bytes(bytes, number));
            }
            (_, Handle::Bytes(bytes, number)) => handles.push_back(Handle::Bytes(bytes, number)),
        }
    }
}

pub fn run(bytes: &[u8]) {
    let (arena, ops) = told(bytes);
    let common = Common::default();
    let mut hands = Hands::new(&arena, &common, 0);
    for op in ops {
        let mut free = arena.usage().map(|class| class.slots - class.slots_in_use);
        let free = [(); 2].map(|()| free.next().expect("there are two classes"));
        hands.apply(op, Some(free));
        check_counts(&arena, &hands);
    }
    std::mem::take(&mut hands.handles).into_iter().for_each(|handle| handle.check());
    std::mem::take(&mut *common.lock().expect("nobody panics in here"));
    assert_eq!(arena.slots_in_use(), 0);
}

/// A slot is in use exactly while some handle to its number exists.
fn check_counts(arena: &Arena<u64>, hands: &Hands<'_>) {
    let common = hands.common.lock().expect("nobody panics in here");
    let mut numbers: Vec<u64> =
        hands.handles.iter().map(Handle::number).chain(common.iter().map(|(_, number)| *number)).collect();
    drop(common);
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!((arena.slots_in_use(), arena.full_total()), (numbers.len() as u64, hands.full));
}
