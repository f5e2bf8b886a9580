//! SHA-256 of many messages at once against the `sha2` crate one by one: payloads of one size that stay in the cache, with
//! each kernel of this CPU; and the reference mix in slots of the arena, taken in batches of the backlog.

#[path = "shared/comparison.rs"]
mod comparison;
#[path = "shared/repeat.rs"]
mod repeat;

use comparison::Comparison;
use criterion::{Criterion, criterion_group, criterion_main};
use levada_benches::workload::{CONTENT_TOPIC, PROFILE, PUBSUB_TOPIC, fill_payload, payload_sizes};
use levada_engine::{Arena, ArenaConfig, Envelope};
use levada_wire::hash::{Digest, Job, Kernel, Scratch, hash_many};
use repeat::repeat;
use sha2::Digest as _;

/// Messages of the mix: about 33 MB, more than L2 holds.
const MESSAGES: usize = 512;

/// Messages hashed side by side in the cache.
const HOT_MESSAGES: usize = 64;

/// Messages that wait when the hash stage looks; the last stands for a queue that never ends.
const BACKLOGS: [usize; 7] = [1, 2, 8, 16, 32, 64, MESSAGES];

const TIMESTAMP: i64 = 1_700_000_000_000_000_000;

fn job(payload: &[u8]) -> Job<'_> {
    Job::message_hash(PUBSUB_TOPIC, payload, CONTENT_TOPIC, &[], TIMESTAMP)
}

/// What the rival makes of the same message.
#[expect(clippy::disallowed_methods, reason = "the rival is the bare crate")]
fn bare_sha2(payload: &[u8]) -> Digest {
    let mut hasher = sha2::Sha256::new();
    for piece in [PUBSUB_TOPIC.as_bytes(), payload, CONTENT_TOPIC.as_bytes(), &TIMESTAMP.to_be_bytes()] {
        hasher.update(piece);
    }
    hasher.finalize().into()
}

/// A digest of digests in which each one's place counts.
fn fold(work: u64, digest: &Digest) -> u64 {
    digest.iter().take(8).fold(work.rotate_left(1), |work, byte| work.rotate_left(8) ^ u64::from(*byte))
}

fn one_by_one(payloads: &[&[u8]]) -> u64 {
    payloads.iter().fold(0, |work, payload| fold(work, &bare_sha2(payload)))
}

fn in_batches(jobs: &[Job<'_>], backlog: usize, digests: &mut [Digest], scratch: &mut Scratch) -> u64 {
    for (jobs, digests) in jobs.chunks(backlog).zip(digests.chunks_mut(backlog)) {
        hash_many(jobs, digests, scratch);
    }
    digests.iter().fold(0, fold)
}

fn hot(criterion: &mut Criterion) {
    for (payload_bytes, _) in PROFILE {
        let mut payload = vec![0; payload_bytes];
        fill_payload(42, 0, &mut payload);
        let payloads = [payload.as_slice(); HOT_MESSAGES];
        let jobs = &payloads.map(job);
        let name = format!("hash_hot_{}kB", payload_bytes / 1_000);
        let mut comparison = Comparison::new(criterion, &name, HOT_MESSAGES as u64);
        comparison.bench("bare_sha2", |iterations| repeat(iterations, || one_by_one(&payloads)));
        for mut scratch in Kernel::ALL.into_iter().filter_map(|kernel| Scratch::with_kernel(kernel).ok()) {
            let mut digests = [[0; 32]; HOT_MESSAGES];
            comparison.bench(scratch.kernel(HOT_MESSAGES).name(), move |iterations| {
                repeat(iterations, || in_batches(jobs, HOT_MESSAGES, &mut digests, &mut scratch))
            });
        }
        comparison.finish();
    }
}

fn mix(criterion: &mut Criterion) {
    let largest = PROFILE[PROFILE.len() - 1].0;
    let arena: std::sync::Arc<Arena<u64>> =
        Arena::new(&ArenaConfig::with_budget(128 << 20, largest)).expect("the layout is valid and small");
    let slots: Vec<Envelope<'_, u64>> = payload_sizes(42, MESSAGES)
        .into_iter()
        .zip(0..)
        .map(|(payload_bytes, number)| {
            let mut slot = arena.claim(payload_bytes).expect("the arena holds all messages");
            fill_payload(42, number, &mut slot.payload_mut()[..payload_bytes]);
            slot.set_len(payload_bytes);
            slot.share()
        })
        .collect();
    let payloads: Vec<&[u8]> = slots.iter().map(Envelope::payload).collect();
    let jobs: Vec<Job<'_>> = payloads.iter().map(|payload| job(payload)).collect();
    for backlog in BACKLOGS {
        let (mut digests, mut scratch) = (vec![[0; 32]; MESSAGES], Scratch::new());
        let mut comparison = Comparison::new(criterion, &format!("hash_mix_backlog_{backlog}"), MESSAGES as u64);
        comparison.bench("bare_sha2", |iterations| repeat(iterations, || one_by_one(&payloads)));
        comparison.bench("hash_many", |iterations| {
            repeat(iterations, || in_batches(&jobs, backlog, &mut digests, &mut scratch))
        });
        comparison.finish();
    }
}

criterion_group!(benches, hot, mix);
criterion_main!(benches);
