//! `message_hash`: the deterministic hash of 14/WAKU2-MESSAGE, once per new message for all stages behind it.
//!
//! Cost: one hash pass over the payload in its slot; the pieces are hashed where they lie. What waits is hashed side by
//! side in the lanes of one kernel, which at a backlog of 32 takes a half to a third of the time; it never
//! waits for more.

use std::sync::Arc;

use levada_engine::{BatchLimit, Stage, View};
use levada_wire::hash::{Job, Scratch};
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
        Self::with_scratch(topics, Scratch::new())
    }

    /// The same with the kernels of `scratch`, for measurements that compare them within one process.
    pub fn with_scratch(topics: Arc<TopicTable>, scratch: Scratch) -> Self {
        Self { topics, hashes: HashBatch::new(scratch) }
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
        let mut digests = self.hashes.hash(batch.peek().map(|view| Self::job(&self.topics, view))).iter();
        batch.pass(ports, NEXT, |envelope| {
            let digest = digests.next().expect("a batch is within the limit, and every message of it was hashed");
            let record = crate::record(envelope);
            (record.hash, record.hashed) = (*digest, true);
        });
    }
}
