//! One payload to five readers on the same core: handles to a slot against clones of `Bytes`.
//!
//! The slot's whole life is measured: claimed, shared out, dropped by each reader, free again. Of `Bytes` only the
//! five clones and their drops are; the buffer stays.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use levada_engine::{Arena, ArenaConfig, ClassConfig};

use crate::engine::Effort;
use crate::machine::involuntary_switches;
use crate::pair::{Sample, bind};
use crate::row::{Contest, Row};

const READERS: usize = 5;

/// Messages in a sample.
const MESSAGES: usize = 1 << 16;

const PAYLOAD_BYTES: usize = 50_000;

/// At least twice as fast as `Bytes`.
pub fn row(measure: &'static str, effort: Effort) -> Row {
    let messages = MESSAGES / effort.less;
    let classes = vec![ClassConfig { payload_bytes: 64 << 10, slots: 1_024 }];
    let arena: Arc<Arena<u64>> =
        Arena::new(&ArenaConfig { classes, huge_pages: true, prefault: false }).expect("the layout is valid and small");
    // Shared before, as a payload that has been handed on once is: the first clone of an unshared one allocates.
    let buffer = Bytes::from(vec![7; PAYLOAD_BYTES]);
    let _shared = buffer.clone();
    Contest::new(measure, "ns/message", 2.0)
        .with("levada", || timed(messages, || slot_to_readers(&arena)))
        .with("bytes", || timed(messages, || bytes_to_readers(&buffer)))
        .run(effort.rounds)
}

fn slot_to_readers(arena: &Arena<u64>) {
    let mut slot = arena.claim(PAYLOAD_BYTES).expect("one slot is out at a time");
    slot.set_len(PAYLOAD_BYTES);
    let readers: [_; READERS] = slot.share().fan_out();
    readers.into_iter().for_each(|reader| drop(black_box(reader)));
}

fn bytes_to_readers(buffer: &Bytes) {
    let readers: [_; READERS] = std::array::from_fn(|_| buffer.clone());
    readers.into_iter().for_each(|reader| drop(black_box(reader)));
}

fn timed(messages: usize, mut message: impl FnMut() + Send) -> Sample {
    let mut work = || {
        bind(0);
        let (before, began) = (involuntary_switches(), Instant::now());
        (0..messages).for_each(|_| message());
        let elapsed = began.elapsed();
        Sample::per(messages, elapsed, involuntary_switches() - before)
    };
    std::thread::scope(|scope| scope.spawn(&mut work).join().expect("a contestant does not panic"))
}
