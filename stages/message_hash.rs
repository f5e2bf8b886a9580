//! `message_hash`: the deterministic hash of 14/WAKU2-MESSAGE, once per new message for all stages behind it.
//!
//! Cost: one hash pass over the payload in its slot; the pieces are hashed where they lie.

use std::sync::Arc;

use levada_engine::Stage;
use levada_wire::hash;
use levada_wire::waku::{TopicTable, WakuRecord};

use crate::{Messages, Ports};

/// Fills in the hash.
#[derive(Debug)]
pub struct MessageHash {
    topics: Arc<TopicTable>,
}

impl MessageHash {
    /// A lane that knows the pubsub topics by their numbers in `topics`.
    pub fn new(topics: Arc<TopicTable>) -> Self {
        Self { topics }
    }
}

const NEXT: usize = 0;

impl Stage<WakuRecord> for MessageHash {
    fn ports(&self) -> &'static [&'static str] {
        &["next"]
    }

    fn process(&mut self, batch: &mut Messages<'_>, ports: &mut Ports<'_>) {
        for mut envelope in batch {
            let (data, record) = (envelope.payload(), envelope.record());
            let topic = self.topics.name(record.topic).expect("ingress interns the topic of every message");
            let [payload, content_topic, meta] =
                [record.payload, record.content_topic, record.meta].map(|span| span.of(data));
            let hash = hash::message_hash(topic, payload, content_topic, meta, record.timestamp);
            let record = crate::record(&mut envelope);
            (record.hash, record.hashed) = (hash, true);
            ports.send(NEXT, envelope);
        }
    }
}
