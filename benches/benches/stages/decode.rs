//! `decode` beside the bare walk and `prost` with payloads that share the received bytes.

use bytes::Bytes;
use criterion::Criterion;
use levada_stages::decode::Decode;
use levada_wire::waku::{WakuRecord, message};
use prost::Message as _;

use crate::comparison::Comparison;
use crate::prost_message::ProstMessage;
use crate::repeat::repeat;
use crate::through::{FIRST_NS, Slots, Through, as_it_is};

/// Messages of 10 kB that stay in the cache.
const HOT: [usize; 64] = [10_000; 64];

/// What a decoder found, for the digest.
fn number(timestamp: i64) -> u64 {
    (timestamp - FIRST_NS).cast_unsigned()
}

pub fn decode(criterion: &mut Criterion) {
    let slots = Slots::new(&HOT);
    let encoded: Vec<Bytes> = slots.plain().into_iter().map(|plain| plain.data.into()).collect();
    let mut comparison = Comparison::new(criterion, "stage_decode_10kB", HOT.len() as u64);
    let look = |record: &WakuRecord| number(record.timestamp);
    let mut stage = Through::new(slots, Decode);
    comparison.bench("stage", move |iterations| repeat(iterations, || stage.pass(as_it_is, look)));
    let mut empty = Through::empty(Slots::new(&HOT));
    comparison.bench("empty_stage", move |iterations| repeat(iterations, || empty.pass(as_it_is, look)));
    comparison.bench("walk", |iterations| {
        repeat(iterations, || {
            let walk = |data: &Bytes| number(message::decode(data).expect("the workload is well-formed").timestamp);
            encoded.iter().map(walk).sum()
        })
    });
    comparison.bench("prost_bytes", |iterations| {
        repeat(iterations, || {
            let read = |data: &Bytes| ProstMessage::decode(data.clone()).expect("the workload is well-formed");
            encoded.iter().map(|data| number(read(data).timestamp)).sum()
        })
    });
    comparison.finish();
}
