//! `id_hash` and `message_hash` beside the `sha2` crate message by message: in the cache, and in slots that have left it.

use criterion::Criterion;
use levada_benches::workload::{CONTENT_TOPIC, PUBSUB_TOPIC, payload_sizes};
use levada_engine::Stage;
use levada_stages::HashUnit;
use levada_stages::id_hash::IdHash;
use levada_stages::message_hash::MessageHash;
use levada_wire::hash::Digest;
use levada_wire::waku::WakuRecord;
use sha2::Digest as _;

use crate::comparison::Comparison;
use crate::repeat::repeat;
use crate::through::{Plain, Slots, Through};

/// What stays in the cache of a core, and what does not: 640 kB and 33 MB.
fn temperatures() -> [(&'static str, Vec<usize>); 2] {
    [("hot", vec![10_000; 64]), ("cold", payload_sizes(42, 512))]
}

/// A part of the digest of a pass.
pub fn first_bytes(digest: &Digest) -> u64 {
    digest.iter().take(8).fold(0, |bytes, byte| bytes << 8 | u64::from(*byte))
}

#[expect(clippy::disallowed_methods, reason = "the rival is the bare crate")]
fn bare_sha2(pieces: &[&[u8]]) -> Digest {
    let mut hasher = sha2::Sha256::new();
    pieces.iter().for_each(|piece| hasher.update(piece));
    hasher.finalize().into()
}

fn compare<S: Stage<WakuRecord> + 'static>(
    criterion: &mut Criterion,
    name: &str,
    stage: impl Fn(&Slots) -> S,
    look: fn(&WakuRecord) -> u64,
    rival: fn(&Plain) -> Digest,
) {
    for (temperature, sizes) in temperatures() {
        let mut comparison = Comparison::new(criterion, &format!("{name}_{temperature}"), sizes.len() as u64);
        let slots = Slots::new(&sizes);
        let plain = slots.plain();
        let stage = stage(&slots);
        let mut stage = Through::new(slots, stage);
        let forget = |record: &mut WakuRecord| (record.id_known, record.hashed) = (false, false);
        comparison.bench("stage", move |iterations| repeat(iterations, || stage.pass(forget, look)));
        comparison.bench("bare_sha2", move |iterations| {
            repeat(iterations, || {
                plain.iter().fold(0_u64, |work, message| work.wrapping_add(first_bytes(&rival(message))))
            })
        });
        comparison.finish();
    }
}

pub fn id_hash(criterion: &mut Criterion) {
    let look = |record: &WakuRecord| first_bytes(&record.id);
    compare(
        criterion,
        "stage_id_hash",
        |slots| IdHash::new(HashUnit::new(slots.topics.clone())),
        look,
        |message| bare_sha2(&[&message.data]),
    );
}

pub fn message_hash(criterion: &mut Criterion) {
    let look = |record: &WakuRecord| first_bytes(&record.hash);
    let stage = |slots: &Slots| MessageHash::new(HashUnit::new(slots.topics.clone()));
    compare(criterion, "stage_message_hash", stage, look, |message| {
        let payload = message.record.payload.of(&message.data);
        let timestamp = message.record.timestamp.to_be_bytes();
        bare_sha2(&[PUBSUB_TOPIC.as_bytes(), payload, CONTENT_TOPIC.as_bytes(), &timestamp])
    });
}
