//! Reading a WakuMessage and hashing it, against prost and against the bare `sha2` crate.

#[path = "shared/comparison.rs"]
mod comparison;
#[path = "shared/prost_message.rs"]
mod prost_message;
#[path = "shared/repeat.rs"]
mod repeat;

use bytes::Bytes;
use comparison::Comparison;
use criterion::{Criterion, criterion_group, criterion_main};
use levada_benches::workload::{self, CONTENT_TOPIC, PROFILE, PUBSUB_TOPIC};
use levada_wire::hash::{Digest, message_hash};
use levada_wire::waku::message::decode;
use prost::Message as _;
use prost_message::ProstMessage;
use repeat::repeat;

const TIMESTAMP: i64 = 1_700_000_000_000_000_000;

fn payload(payload_bytes: usize) -> Vec<u8> {
    let mut payload = vec![0; payload_bytes];
    workload::fill_payload(42, 0, &mut payload);
    payload
}

fn encoded(payload: &[u8]) -> Bytes {
    let message = workload::message(payload, TIMESTAMP);
    let mut encoded = vec![0; message.encoded_len()];
    message.encode_into(&mut encoded).expect("the buffer has the encoded length");
    encoded.into()
}

/// The digest of a decoded message.
fn fields(payload: &[u8], content_topic: &[u8], timestamp: i64) -> u64 {
    payload.len() as u64 ^ (content_topic.len() as u64) << 32 ^ timestamp.cast_unsigned()
}

fn decode_walk(criterion: &mut Criterion) {
    for (payload_bytes, _) in PROFILE {
        let data = encoded(&payload(payload_bytes));
        let mut comparison = Comparison::new(criterion, &format!("wire_decode_{}kB", payload_bytes / 1_000), 1);
        comparison.bench("walk", |iterations| {
            repeat(iterations, || {
                let spans = decode(&data).expect("the workload is well-formed");
                fields(spans.payload.of(&data), spans.content_topic.of(&data), spans.timestamp)
            })
        });
        comparison.bench("prost_bytes", |iterations| {
            repeat(iterations, || {
                let message = ProstMessage::decode(data.clone()).expect("the workload is well-formed");
                fields(&message.payload, message.content_topic.as_bytes(), message.timestamp)
            })
        });
        comparison.finish();
    }
}

fn first_bytes(digest: &Digest) -> u64 {
    digest.iter().take(8).fold(0, |bytes, byte| bytes << 8 | u64::from(*byte))
}

#[expect(clippy::disallowed_methods, reason = "the rival is the bare crate")]
fn bare_sha2(data: &[u8]) -> Digest {
    use sha2::Digest as _;
    sha2::Sha256::digest(data).into()
}

fn hash(criterion: &mut Criterion) {
    for (payload_bytes, _) in PROFILE {
        let payload = payload(payload_bytes);
        // What the message hash covers, joined beforehand.
        let joined = [PUBSUB_TOPIC.as_bytes(), &payload, CONTENT_TOPIC.as_bytes(), &TIMESTAMP.to_be_bytes()].concat();
        let mut comparison = Comparison::new(criterion, &format!("wire_hash_{}kB", payload_bytes / 1_000), 1);
        comparison.bench("message_hash", |iterations| {
            repeat(iterations, || first_bytes(&message_hash(PUBSUB_TOPIC, &payload, CONTENT_TOPIC, &[], TIMESTAMP)))
        });
        comparison.bench("bare_sha2", |iterations| repeat(iterations, || first_bytes(&bare_sha2(&joined))));
        comparison.finish();
    }
}

criterion_group!(benches, decode_walk, hash);
criterion_main!(benches);
