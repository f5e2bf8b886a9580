//! The hash stage between a source and a sink, turned by hand, and the messages that go through it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use levada_engine::{
    Arena, BatchLimit, Held, Invoker, LinkConfig, Policy, Sink, Source, Stage, TopologyBuilder, Waker,
};
use levada_stages::message_hash::MessageHash;
use levada_stages::{HashUnit, Messages, Ports};
use levada_wire::hash::{Digest, sha256};
use levada_wire::waku::{TopicTable, WakuRecord, message};
use rustix::time::{ClockId, clock_gettime};

use crate::micro::{BenchError, HashChoice};
use crate::slots::{arena_for, fill};
use crate::workload;

/// Links hold eight batches at least.
const LINK_ENVELOPES_MIN: usize = 512;

/// The messages of the reference mix, decoded, in slots.
pub struct Mix {
    arena: Arc<Arena<WakuRecord>>,
    topics: Arc<TopicTable>,
    messages: Vec<Held<WakuRecord>>,
}

impl Mix {
    /// `count` messages; one seed gives the same ones everywhere but for their timestamps.
    pub fn new(seed: u64, count: usize) -> Result<Self, BenchError> {
        let sizes = workload::payload_sizes(seed, count);
        let arena = arena_for(sizes.iter())?;
        let topics = Arc::new(TopicTable::new(1));
        let topic = topics.intern(workload::PUBSUB_TOPIC).expect("the table has room for one topic");
        let decoded = |held: Held<WakuRecord>| {
            let mut envelope = held.attach(&arena).expect("the messages lie in this arena");
            let spans = message::decode(envelope.payload()).expect("the generator writes well-formed messages");
            envelope.record_mut().expect("a message has one handle").fill(&spans);
            envelope.hold()
        };
        let messages = fill(&arena, seed, 0, &sizes, topic).into_iter().map(decoded).collect();
        Ok(Self { arena, topics, messages })
    }
}

/// What one pass over the messages came to.
pub struct Pass {
    /// Processor time of the stage's calls.
    pub stage_ns: u64,
    /// Over the digests in order.
    pub digest: Digest,
}

/// The stage with its ends.
pub struct Line {
    invoker: Invoker<WakuRecord>,
    source: Source<WakuRecord>,
    sink: Sink<WakuRecord>,
    stage_ns: Arc<AtomicU64>,
}

impl Line {
    /// A line whose stage hashes as `hash` says, with room for all of `mix`.
    pub fn new(mix: &Mix, hash: HashChoice) -> Result<Self, BenchError> {
        let capacity = mix.messages.len().next_power_of_two().max(LINK_ENVELOPES_MIN);
        let stage_ns = Arc::new(AtomicU64::new(0));
        let stage = MessageHash::new(HashUnit::with_scratch(mix.topics.clone(), hash.scratch()));
        let mut drawing = TopologyBuilder::new(mix.arena.clone());
        let worker = drawing.worker("hash");
        let stage = drawing.stage(worker, "message_hash", Timed { stage, stage_ns: stage_ns.clone() });
        let source = drawing.source("waiting", stage, capacity);
        let link = LinkConfig { capacity, policy: Policy::Reliable };
        let sink = drawing.sink("done", stage, "next", link, Waker::from_callback(|| ()));
        Ok(Self { invoker: drawing.build()?.invoker(), source, sink, stage_ns })
    }

    /// Sends every message through the stage, `waiting` at a time.
    pub fn pass(&mut self, mix: &mut Mix, waiting: usize) -> Pass {
        self.stage_ns.store(0, Relaxed);
        let mut messages = std::mem::take(&mut mix.messages).into_iter();
        while messages.len() > 0 {
            for message in messages.by_ref().take(waiting) {
                let mut envelope = message.attach(&mix.arena).expect("the messages lie in this arena");
                let record = envelope.record_mut().expect("a message has one handle");
                (record.hash, record.hashed) = ([0; 32], false);
                self.source.push(envelope).expect("the link has room for every message");
            }
            self.invoker.turn_until_idle();
            mix.messages.extend(std::iter::from_fn(|| self.sink.pop()));
        }
        let digests: Vec<u8> = mix.messages.iter().flat_map(|message| message.record().hash).collect();
        Pass { stage_ns: self.stage_ns.load(Relaxed), digest: sha256(&digests) }
    }
}

/// The hash stage, whose calls are timed.
struct Timed {
    stage: MessageHash,
    stage_ns: Arc<AtomicU64>,
}

impl Stage<WakuRecord> for Timed {
    fn ports(&self) -> &'static [&'static str] {
        self.stage.ports()
    }

    fn batch_limit(&self) -> BatchLimit {
        self.stage.batch_limit()
    }

    fn process(&mut self, batch: &mut Messages<'_>, ports: &mut Ports<'_>) {
        let started_ns = thread_ns();
        self.stage.process(batch, ports);
        self.stage_ns.fetch_add(thread_ns() - started_ns, Relaxed);
    }
}

/// Processor time of the calling thread: what others do with its core meanwhile does not count.
fn thread_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
