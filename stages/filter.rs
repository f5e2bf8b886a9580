//! `filter`: finds the messages that light clients subscribed to, by exact pubsub and content topic (12/WAKU2-FILTER).
//!
//! A wanted message also goes to `wanted`, where it is pushed from; the path does not wait for that. A message whose deterministic hash was
//! pushed in the last two minutes is not pushed again, though its encoding may be another.
//! Cost: two look-ups per message while there is any subscription, else none; of a wanted message one more handle.

mod index;
mod refusal;
mod subscriptions;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Instant;

use levada_engine::{BatchLimit, Envelope, Stage};
use levada_wire::waku::{Origin, TopicTable, WakuRecord};

pub use index::Criterion;
pub use refusal::Refusal;
pub use subscriptions::{Change, Limits, Subscriptions, TOPIC_BYTES_MAX};

use crate::seen::{SeenSet, Sighting};
use crate::{Messages, Ports};

/// Message hashes remembered at least, in 6 MB: two minutes at five hundred wanted messages a second.
pub const HASHES_MAX: usize = 65_536;

/// Matches messages with the subscriptions.
#[derive(Debug)]
pub struct Filter {
    subscriptions: Arc<Subscriptions>,
    topics: Arc<TopicTable>,
    pushed: Arc<SeenSet>,
}

impl Filter {
    /// A lane over the shared subscriptions, the names of topics, and the hashes of the messages pushed lately.
    pub fn new(subscriptions: Arc<Subscriptions>, topics: Arc<TopicTable>, pushed: Arc<SeenSet>) -> Self {
        Self { subscriptions, topics, pushed }
    }

    fn is_wanted(&self, envelope: &Envelope<'_, WakuRecord>) -> bool {
        let record = envelope.record();
        let Some(pubsub_topic) = self.topics.name(record.topic) else { return false };
        let content_topic = std::str::from_utf8(record.content_topic.of(envelope.payload())).unwrap_or_default();
        let matched = self.subscriptions.matches(pubsub_topic, content_topic);
        self.subscriptions.checked.add(1);
        // The set tells apart how a message came, which does not matter here.
        if matched == 0 || self.pushed.insert(&record.hash, Origin::Gossip) != Sighting::New {
            return false;
        }
        self.subscriptions.matched.add(matched as u64);
        true
    }
}

const NEXT: usize = 0;
const WANTED: usize = 1;

impl Stage<WakuRecord> for Filter {
    fn ports(&self) -> &'static [&'static str] {
        &["next", "wanted"]
    }

    fn batch_limit(&self) -> BatchLimit {
        crate::HEADERS_ONLY
    }

    fn process(&mut self, batch: &mut Messages<'_>, ports: &mut Ports<'_>) {
        if self.subscriptions.count() == 0 {
            return batch.pass(ports, NEXT, |_| {});
        }
        self.pushed.tidy(Instant::now());
        for envelope in batch {
            if self.is_wanted(&envelope) {
                ports.send(WANTED, envelope.clone());
            }
            ports.send(NEXT, envelope);
        }
    }
}
