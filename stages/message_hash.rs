//! `message_hash`: the deterministic hash of 14/WAKU2-MESSAGE, once per new message for all stages behind it.
//!
//! Cost: one hash pass over the payload in its slot; the pieces are hashed where they lie. What waits is hashed side by
//! side in the lanes of one kernel, which at a backlog of 32 takes half the time; it never waits for more.

use std::sync::Arc;

use levada_engine::{BatchLimit, Stage, View};
use levada_wire::hash::Job;
use levada_wire::waku::{TopicTable, WakuRecord};

use crate::hash_batch::{HASH_LIMIT, HashBatch};
use crate::{Messages, Ports};

/// Fills in the hash.
#[derive(Debug)]
pub struct MessageHash {
    topics: Arc<TopicTable>,
    hashes: HashBatch,
}

impl MessageHash {
    /// A lane that knows the pubsub topics by their numbers in `topics`.
    pub fn new(topics: Arc<TopicTable>) -> Self {
        Self { topics, hashes: HashBatch::default() }
    }

    fn job<'a>(topics: &'a TopicTable, view: View<'a, WakuRecord>) -> Job<'a> {
        let (data, record) = (view.payload, view.record);
        let topic = topics.name(record.topic).expect("ingress interns the topic of every message");
        let [payload, content_topic, meta] =
            [record.payload, record.content_topic, record.meta].map(|span| span.of(data));
        Job::message_hash(topic, payload, content_topic, meta, record.timestamp)
    }
}

const NEXT: usize = 0;

impl Stage<WakuRecord> for MessageHash {
    fn ports(&self) -> &'static [&'static str] {
        &["next"]
    }

    fn batch_limit(&self) -> BatchLimit {
        HASH_LIMIT
    }

    fn process(&mut self, batch: &mut Messages<'_>, ports: &mut Ports<'_>) {
        let digests = self.hashes.hash(batch.peek().map(|view| Self::job(&self.topics, view)));
        // The digests come first: a zip asks its first side first, and an envelope asked for in vain would be lost.
        for (digest, mut envelope) in digests.iter().zip(batch) {
            let record = crate::record(&mut envelope);
            (record.hash, record.hashed) = (*digest, true);
            ports.send(NEXT, envelope);
        }
    }
}
