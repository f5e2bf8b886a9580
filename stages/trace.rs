//! `trace`: what operators watch: messages and bytes per pubsub topic, how long payloads are, and a log line per message when asked for.
//!
//! Cost: a few additions per message, no payload byte.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use levada_engine::{BatchLimit, Histogram, Stage, Steps};
use levada_wire::hash::Hex;
use levada_wire::waku::{TopicRows, TopicTable, WakuRecord};

use crate::{Messages, Ports};

/// nwaku's steps of the sizes of messages, in bytes and shown in kB.
const PAYLOAD_STEPS: Steps = Steps::new(
    &[0, 1_000, 3_000, 5_000, 15_000, 50_000, 75_000, 100_000, 125_000, 150_000, 500_000, 700_000, 1_000_000],
    1_000,
);

/// Counts per pubsub topic, shared by all lanes.
#[derive(Debug)]
pub struct TopicTraffic {
    rows: TopicRows<Row>,
    payload_bytes: Histogram,
}

#[derive(Debug, Default)]
struct Row {
    messages: AtomicU64,
    bytes: AtomicU64,
    bytes_max: AtomicU64,
}

/// What one pubsub topic has carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Traffic<'a> {
    /// The pubsub topic.
    pub topic: &'a str,
    /// Accepted messages.
    pub messages: u64,
    /// Bytes of those messages, encoded.
    pub bytes: u64,
    /// The largest of them.
    pub bytes_max: u64,
}

impl TopicTraffic {
    /// Counts for the topics of `topics`.
    pub fn new(topics: Arc<TopicTable>) -> Self {
        Self { rows: TopicRows::new(topics), payload_bytes: Histogram::new(PAYLOAD_STEPS) }
    }

    /// How long the payloads of accepted messages are, shown in kB.
    pub fn payload_bytes(&self) -> &Histogram {
        &self.payload_bytes
    }

    fn count(&self, topic: u32, bytes: u64, payload_bytes: u64) {
        self.payload_bytes.observe(payload_bytes);
        if let Some(row) = self.rows.get(topic) {
            row.messages.fetch_add(1, Relaxed);
            row.bytes.fetch_add(bytes, Relaxed);
            row.bytes_max.fetch_max(bytes, Relaxed);
        }
    }

    /// One row per topic that is known.
    pub fn rows(&self) -> impl Iterator<Item = Traffic<'_>> + '_ {
        self.rows.rows().map(|(topic, row)| {
            let (messages, bytes, bytes_max) =
                (row.messages.load(Relaxed), row.bytes.load(Relaxed), row.bytes_max.load(Relaxed));
            Traffic { topic, messages, bytes, bytes_max }
        })
    }
}

/// Counts accepted messages.
#[derive(Debug)]
pub struct Trace {
    traffic: Arc<TopicTraffic>,
}

impl Trace {
    /// A lane that counts into `traffic`.
    pub fn new(traffic: Arc<TopicTraffic>) -> Self {
        Self { traffic }
    }
}

const NEXT: usize = 0;

impl Stage<WakuRecord> for Trace {
    fn ports(&self) -> &'static [&'static str] {
        &["next"]
    }

    fn batch_limit(&self) -> BatchLimit {
        crate::HEADERS_ONLY
    }

    fn process(&mut self, batch: &mut Messages<'_>, ports: &mut Ports<'_>) {
        batch.pass(ports, NEXT, |envelope| {
            let (data, record) = (envelope.payload(), envelope.record());
            if !record.repeated {
                self.traffic.count(record.topic, data.len() as u64, record.payload.len.into());
            }
            tracing::trace!(hash = %Hex(&record.hash), bytes = data.len(), peer = record.peer, "message");
        });
    }
}
