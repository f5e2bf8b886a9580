//! Who wants the messages of a topic: two look-ups, however many subscriptions there are.

use std::collections::HashMap;
use std::sync::Arc;

/// What a subscriber wants: a pubsub topic and a content topic, byte by byte.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Criterion {
    /// On this pubsub topic.
    pub pubsub_topic: Arc<str>,
    /// With this content topic.
    pub content_topic: Arc<str>,
}

/// Subscribers by content topic.
type ContentTopics = HashMap<Arc<str>, Arc<[u32]>>;

/// Subscribers by content topic, by pubsub topic. A list is replaced when it changes, so that readers take it with them.
#[derive(Debug, Default)]
pub(super) struct Index(HashMap<Arc<str>, ContentTopics>);

impl Index {
    pub fn find(&self, pubsub_topic: &str, content_topic: &str) -> Option<&Arc<[u32]>> {
        self.0.get(pubsub_topic)?.get(content_topic)
    }

    /// The criterion as it is held already, whose names then need no memory again.
    pub fn held(&self, pubsub_topic: &str, content_topic: &str) -> Option<Criterion> {
        let (pubsub_topic, topics) = self.0.get_key_value(pubsub_topic)?;
        let (content_topic, _) = topics.get_key_value(content_topic)?;
        Some(Criterion { pubsub_topic: pubsub_topic.clone(), content_topic: content_topic.clone() })
    }

    /// The pubsub topic's name as it is held already.
    pub fn held_topic(&self, pubsub_topic: &str) -> Option<Arc<str>> {
        self.0.get_key_value(pubsub_topic).map(|(name, _)| name.clone())
    }

    /// Adds a subscriber that is not there.
    pub fn add(&mut self, criterion: &Criterion, subscriber: u32) {
        let topics = self.0.entry(criterion.pubsub_topic.clone()).or_default();
        let list = topics.entry(criterion.content_topic.clone()).or_default();
        *list = list.iter().copied().chain([subscriber]).collect();
    }

    pub fn remove(&mut self, criterion: &Criterion, subscriber: u32) {
        let Some(topics) = self.0.get_mut(&criterion.pubsub_topic) else { return };
        let Some(list) = topics.get_mut(&criterion.content_topic) else { return };
        *list = list.iter().copied().filter(|other| *other != subscriber).collect();
        if list.is_empty() {
            topics.remove(&criterion.content_topic);
        }
        if topics.is_empty() {
            self.0.remove(&criterion.pubsub_topic);
        }
    }
}
