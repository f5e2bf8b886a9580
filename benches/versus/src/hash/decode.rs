//! The walk over a WakuMessage in the cache, beside prost, which shares the received bytes as well.

use std::hint::black_box;
use std::time::Instant;

use bytes::Bytes;
use levada_benches::workload;
use levada_wire::waku::message::decode;
use prost::Message as _;

use crate::engine::Effort;
use crate::machine::involuntary_switches;
use crate::pair::Sample;
use crate::row::{Contest, Row, absolute};

#[path = "../../../benches/shared/prost_message.rs"]
mod prost_message;

use prost_message::ProstMessage;

/// Messages read in a sample.
const MESSAGES: usize = 100_000;

/// Nanoseconds that a walk may take.
const LIMIT_NS: f64 = 60.0;

fn encoded(payload_bytes: usize) -> Bytes {
    let mut payload = vec![0; payload_bytes];
    workload::fill_payload(42, 0, &mut payload);
    let message = workload::message(&payload, 1_700_000_000_000_000_000);
    let mut encoded = vec![0; message.encoded_len()];
    message.encode_into(&mut encoded).expect("the buffer has the encoded length");
    encoded.into()
}

/// At least twice as fast.
pub fn beside_prost(measure: &'static str, payload_bytes: usize, effort: Effort) -> Row {
    let (data, count) = (encoded(payload_bytes), MESSAGES / effort.less);
    Contest::new(measure, "ns/msg", 2.0)
        .with("levada", || timed(count, || walk(&data)))
        .with("prost", || {
            timed(count, || {
                let message = ProstMessage::decode(data.clone()).expect("the workload is well-formed");
                message.payload.len() + message.content_topic.len()
            })
        })
        .run(effort.rounds)
}

/// The slowest of the three sizes.
pub fn hot(measure: &'static str, effort: Effort) -> Row {
    let (messages, count) = (workload::PROFILE.map(|(bytes, _)| encoded(bytes)), MESSAGES / effort.less);
    absolute(measure, "ns/msg", LIMIT_NS, effort.rounds, || {
        messages.iter().map(|data| timed(count, || walk(data)).value).fold(0.0, f64::max)
    })
}

fn walk(data: &[u8]) -> usize {
    let spans = decode(black_box(data)).expect("the workload is well-formed");
    spans.payload.of(data).len() + spans.content_topic.of(data).len()
}

fn timed(count: usize, mut work: impl FnMut() -> usize) -> Sample {
    let (before, began) = (involuntary_switches(), Instant::now());
    for _ in 0..count {
        black_box(work());
    }
    Sample::per(count, began.elapsed(), involuntary_switches() - before)
}
