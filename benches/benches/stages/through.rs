//! Messages in slots, a stage they go through, and the same messages in ordinary vectors.

use std::sync::Arc;

use levada_benches::workload::{self, PUBSUB_TOPIC, SplitMix64};
use levada_engine::{
    Arena, ArenaConfig, Batch, BatchLimit, ClassConfig, Held, Invoker, LinkConfig, Outputs, Policy, Sink, Source,
    Stage, TopologyBuilder, Waker,
};
use levada_wire::hash::{Digest, WINDOW};
use levada_wire::waku::{TopicTable, Verdict, WakuRecord, message};

/// Messages of a pass where only records and headers are looked at.
pub const SMALL: [usize; 256] = [100; 256];

/// Room for topic, timestamp and field headers around a payload.
const ENVELOPE_BYTES: usize = 256;

/// What the size of a slot is a multiple of.
const SLOT_BYTES: usize = 128;

/// Timestamp of the first message in nanoseconds since the epoch; each of the others is one later.
pub const FIRST_NS: i64 = 1_700_000_000_000_000_000;

/// Messages as they come out of `message_hash`: decoded, accepted, hashed (by a generator), somebody waits for each.
pub struct Slots {
    pub arena: Arc<Arena<WakuRecord>>,
    pub topics: Arc<TopicTable>,
    pub messages: Vec<Held<WakuRecord>>,
}

/// A message in ordinary memory.
pub struct Plain {
    pub data: Vec<u8>,
    pub record: WakuRecord,
}

pub fn random_hash(random: &mut SplitMix64) -> Digest {
    let mut hash = [0; 32];
    hash.chunks_mut(8).for_each(|chunk| chunk.copy_from_slice(&random.next_u64().to_le_bytes()));
    hash
}

impl Slots {
    /// Messages with payloads of these sizes.
    pub fn new(payload_sizes: &[usize]) -> Self {
        let largest = payload_sizes.iter().max().copied().unwrap_or(0);
        let payload_bytes = (largest + ENVELOPE_BYTES).next_multiple_of(SLOT_BYTES);
        let class = ClassConfig { payload_bytes, slots: payload_sizes.len() as u32 };
        let config = ArenaConfig { classes: vec![class], huge_pages: true, prefault: true };
        let arena = Arena::new(&config).expect("the layout is valid and small");
        let topics = Arc::new(TopicTable::new(1));
        let topic = topics.intern(PUBSUB_TOPIC).expect("the table has room for one topic");
        let mut random = SplitMix64::new(42);
        let one = |(number, payload_bytes): (u64, &usize)| {
            let mut payload = vec![0; *payload_bytes];
            workload::fill_payload(42, number, &mut payload);
            let message = workload::message(&payload, FIRST_NS + number as i64);
            let mut slot = arena.claim(message.encoded_len()).expect("there is a slot for each message");
            let bytes = message.encode_into(slot.payload_mut()).expect("the slot was claimed by the encoded length");
            slot.set_len(bytes);
            let spans = message::decode(&slot.payload_mut()[..bytes]).expect("the workload is well-formed");
            let hash = random_hash(&mut random);
            let mut record = WakuRecord { topic, ticket: number + 1, hash, hashed: true, ..WakuRecord::default() };
            record.fill(&spans);
            record.verdict = Verdict::Accept;
            *slot.record_mut() = record;
            slot.share().hold()
        };
        let messages = (0..).zip(payload_sizes).map(one).collect();
        Self { arena: arena.clone(), topics, messages }
    }

    pub fn plain(&self) -> Vec<Plain> {
        let one = |message: &Held<WakuRecord>| Plain { data: message.payload().to_vec(), record: message.record() };
        self.messages.iter().map(one).collect()
    }
}

/// A stage alone in a topology, and the messages that go through it again and again.
pub struct Through {
    source: Source<WakuRecord>,
    sinks: Vec<Sink<WakuRecord>>,
    invoker: Invoker<WakuRecord>,
    messages: Vec<Held<WakuRecord>>,
}

impl Through {
    pub fn new(slots: Slots, stage: impl Stage<WakuRecord> + 'static) -> Self {
        let Slots { arena, messages, .. } = slots;
        let (ports, capacity) = (stage.ports(), messages.len().max(1_024) * 2);
        let mut drawing = TopologyBuilder::new(arena);
        let worker = drawing.worker("path");
        let stage = drawing.stage(worker, "stage", stage);
        let source = drawing.source("in", stage, capacity);
        let link = LinkConfig { capacity, policy: Policy::Reliable };
        let sink = |port: &&str| drawing.sink(port, stage, port, link, Waker::from_callback(|| {}));
        let sinks = ports.iter().map(sink).collect();
        let invoker = drawing.build().expect("the drawing is sound").invoker();
        Self { source, sinks, invoker, messages }
    }

    /// A stage in the same place that only passes on.
    pub fn empty(slots: Slots) -> Self {
        Self::new(slots, Empty)
    }

    /// Sends every message into a stage that lets none out.
    pub fn end(&mut self) {
        for message in &self.messages {
            let envelope = message.clone().attach(self.source.arena()).expect("the messages lie in this arena");
            assert!(self.source.push(envelope).is_ok(), "the link holds all messages");
        }
        self.invoker.turn_until_idle();
    }

    /// Sends every message through once. `prepare` sees the records before, unless the stage has kept a handle; the sum
    /// of what `look` says about those that come out is the digest of the pass.
    pub fn pass(&mut self, mut prepare: impl FnMut(&mut WakuRecord), look: impl Fn(&WakuRecord) -> u64) -> u64 {
        let count = self.messages.len();
        for message in self.messages.drain(..) {
            let mut envelope = message.attach(self.source.arena()).expect("the messages lie in this arena");
            if let Some(record) = envelope.record_mut() {
                prepare(record);
            }
            assert!(self.source.push(envelope).is_ok(), "the link holds all messages");
        }
        self.invoker.turn_until_idle();
        let mut work = 0_u64;
        for sink in &mut self.sinks {
            while let Some(message) = sink.pop() {
                work = work.wrapping_add(look(&message.record()));
                // A stage may send a message by two ports.
                if self.messages.len() < count {
                    self.messages.push(message);
                }
            }
        }
        work
    }
}

/// Passes on as much at once as the stages do that look at headers only.
struct Empty;

impl Stage<WakuRecord> for Empty {
    fn ports(&self) -> &'static [&'static str] {
        &["next"]
    }

    fn batch_limit(&self) -> BatchLimit {
        BatchLimit { envelopes: WINDOW, payload_bytes: usize::MAX }
    }

    fn process(&mut self, batch: &mut Batch<'_, WakuRecord>, ports: &mut Outputs<'_, WakuRecord>) {
        batch.pass(ports, 0, |_| ());
    }
}

/// For stages that need nothing renewed between two passes.
pub fn as_it_is(_: &mut WakuRecord) {}

/// What the digest of a pass is made of where the stage leaves the record as it is.
pub fn ticket(record: &WakuRecord) -> u64 {
    record.ticket
}
