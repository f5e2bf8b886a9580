//! The set of keys seen lately, beside ordinary collections that know its buckets.

use std::collections::{HashMap, VecDeque};

use levada_engine::seen::{Set, Sight};

use super::{operations, start};

/// The least the set remembers, and the words in each of its buckets.
const KEYS: usize = 256;
const WAYS: usize = 16;

/// The position taken first.
const FIRST: u64 = 1;

/// One operation.
#[derive(Clone, Copy)]
pub enum Op {
    Insert { number: u16, marks: u8 },
    InsertEach { first: u16, count: u16 },
    Rotate,
}

/// The operations that the bytes tell, a set to do them on, and the position it starts from.
pub fn told(bytes: &[u8]) -> (Set, u64, impl Iterator<Item = Op> + '_) {
    // A position has 48 bits in a word, and each insertion takes one.
    let (start, ops) = start(bytes, &[1 << 32, (1 << 48) - 16 * bytes.len() as u64]);
    let first = start.max(FIRST);
    (Set::starting_at(KEYS, [0; 4], first), first, operations(ops).map(|(op, amount)| op_of(op, amount)))
}

fn op_of(op: u8, amount: u8) -> Op {
    match op % 64 {
        0 => Op::Rotate,
        // Few keys that come again soon, all of one bucket; and more keys than the set holds, over all buckets.
        1..32 => Op::Insert { number: u16::from(amount) % 24 * BUCKETS, marks: 1 << (op % 8) },
        _ => Op::InsertEach { first: u16::from(amount) * 4, count: u16::from(op) % 32 },
    }
}

impl Op {
    /// The keys it inserts, by number, and the marks they get.
    pub fn inserts(self) -> (std::ops::Range<u16>, u8) {
        match self {
            Self::Insert { number, marks } => (number..number + 1, marks),
            Self::InsertEach { first, count } => (first..first + count, 0),
            Self::Rotate => (0..0, 0),
        }
    }
}

/// Buckets that the keys fall into: half of all.
const BUCKETS: u16 = 32;

/// Four keys that fall into a bucket have one fingerprint. Without a secret the words 1, 1, 1 make the fourth the hash of the key.
pub fn key(number: u16) -> [u8; 32] {
    let (bucket, fingerprint) = (u64::from(number % BUCKETS), u64::from(number / BUCKETS % 8));
    let words = [1, 1, 1, bucket << 32 | u64::from(number) << 8 | fingerprint];
    std::array::from_fn(|place| u64::to_le_bytes(words[place / 8])[place % 8])
}

/// What the set does, said in ordinary collections.
struct Model {
    keys: HashMap<u16, (u64, u8)>,
    /// The newest positions in each bucket.
    buckets: HashMap<u16, VecDeque<u64>>,
    next: u64,
    young: u64,
    horizon: u64,
    crowded_out: u64,
}

impl Model {
    fn insert(&mut self, number: u16, marks: u8) -> Sight {
        let bucket = self.buckets.entry(number % BUCKETS).or_default();
        if let Some((position, known)) = self.keys.get_mut(&number)
            && *position >= self.horizon
            && *position + KEYS as u64 >= self.next
            && bucket.contains(position)
        {
            let before = *known;
            *known |= marks;
            return Sight::Known { marks: before };
        }
        let position = self.next;
        self.next += 1;
        bucket.push_back(position);
        if bucket.len() > WAYS
            && let Some(lost) = bucket.pop_front()
            && lost >= self.horizon
            && position - lost < KEYS as u64
        {
            self.crowded_out += 1;
        }
        self.keys.insert(number, (position, marks));
        Sight::New
    }

    fn rotate(&mut self) {
        self.horizon = self.young;
        self.young = self.next;
    }
}

pub fn run(bytes: &[u8]) {
    let (set, first, ops) = told(bytes);
    let (keys, buckets) = (HashMap::new(), HashMap::new());
    let mut model = Model { keys, buckets, next: first, young: first, horizon: FIRST, crowded_out: 0 };
    for op in ops {
        let (numbers, marks) = op.inserts();
        for number in numbers {
            assert_eq!(set.insert(&key(number), marks), model.insert(number, marks));
        }
        if matches!(op, Op::Rotate) {
            set.rotate();
            model.rotate();
        }
        assert_eq!(set.crowded_out_total(), model.crowded_out);
    }
}
