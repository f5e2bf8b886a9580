//! `filter`: finds who subscribed to a message, by exact pubsub and content topic (12/WAKU2-FILTER).
//!
//! Matching only: nobody is pushed to yet. Cost: one lookup per message while there is any subscription, else none.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, PoisonError, RwLock};

use levada_engine::{BatchLimit, Counter, Stage};
use levada_wire::waku::WakuRecord;

use crate::{Messages, Ports};

/// Most criteria of all subscribers together.
pub const CRITERIA_MAX: usize = 100_000;

/// Longest content topic a criterion may name, in bytes.
pub const CONTENT_TOPIC_BYTES_MAX: usize = 1_024;

/// Why a subscription was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SubscribeError {
    /// [`CRITERIA_MAX`] criteria are held already.
    #[error("the node holds its maximum of {CRITERIA_MAX} filter criteria; unsubscribe some first")]
    TooMany,
    /// The content topic is too long.
    #[error(
        "a content topic of {bytes} bytes is longer than the {CONTENT_TOPIC_BYTES_MAX} a filter criterion may have"
    )]
    TopicTooLong {
        /// Its length.
        bytes: usize,
    },
}

/// Who wants what. Shared by all lanes and by those who change it.
#[derive(Debug, Default)]
pub struct Subscriptions {
    criteria: RwLock<Criteria>,
    count: AtomicUsize,
    matched: Counter,
    checked: Counter,
}

/// Subscribers by content topic, by pubsub topic number.
type Criteria = HashMap<u32, HashMap<Box<str>, BTreeSet<u64>>>;

impl Subscriptions {
    /// Adds a criterion of `subscriber`; true when it is new.
    ///
    /// # Errors
    /// [`SubscribeError`] when a bound would be passed.
    pub fn subscribe(&self, subscriber: u64, topic: u32, content_topic: &str) -> Result<bool, SubscribeError> {
        if content_topic.len() > CONTENT_TOPIC_BYTES_MAX {
            return Err(SubscribeError::TopicTooLong { bytes: content_topic.len() });
        }
        let mut criteria = self.criteria.write().unwrap_or_else(PoisonError::into_inner);
        if self.count.load(Relaxed) >= CRITERIA_MAX {
            return Err(SubscribeError::TooMany);
        }
        let added = criteria.entry(topic).or_default().entry(content_topic.into()).or_default().insert(subscriber);
        self.count.fetch_add(usize::from(added), Relaxed);
        Ok(added)
    }

    /// Removes a criterion of `subscriber`; false when it had none.
    pub fn unsubscribe(&self, subscriber: u64, topic: u32, content_topic: &str) -> bool {
        let mut criteria = self.criteria.write().unwrap_or_else(PoisonError::into_inner);
        let Some(topics) = criteria.get_mut(&topic) else { return false };
        let Some(subscribers) = topics.get_mut(content_topic) else { return false };
        let removed = subscribers.remove(&subscriber);
        if subscribers.is_empty() {
            topics.remove(content_topic);
        }
        if topics.is_empty() {
            criteria.remove(&topic);
        }
        self.count.fetch_sub(usize::from(removed), Relaxed);
        removed
    }

    /// Subscribers that want a message.
    pub fn matches(&self, topic: u32, content_topic: &str) -> usize {
        let criteria = self.criteria.read().unwrap_or_else(PoisonError::into_inner);
        criteria.get(&topic).and_then(|topics| topics.get(content_topic)).map_or(0, BTreeSet::len)
    }

    /// Criteria held now.
    pub fn count(&self) -> usize {
        self.count.load(Relaxed)
    }

    /// Messages compared with the criteria.
    pub fn checked_total(&self) -> u64 {
        self.checked.value()
    }

    /// Pairs of a message and a subscriber that wants it.
    pub fn matched_total(&self) -> u64 {
        self.matched.value()
    }
}

/// Matches messages with the subscriptions.
#[derive(Debug)]
pub struct Filter {
    subscriptions: Arc<Subscriptions>,
}

impl Filter {
    /// A lane over the shared subscriptions.
    pub fn new(subscriptions: Arc<Subscriptions>) -> Self {
        Self { subscriptions }
    }
}

const NEXT: usize = 0;

impl Stage<WakuRecord> for Filter {
    fn ports(&self) -> &'static [&'static str] {
        &["next"]
    }

    fn batch_limit(&self) -> BatchLimit {
        crate::HEADERS_ONLY
    }

    fn process(&mut self, batch: &mut Messages<'_>, ports: &mut Ports<'_>) {
        batch.pass(ports, NEXT, |envelope| {
            if self.subscriptions.count() > 0 {
                let record = envelope.record();
                let content_topic =
                    std::str::from_utf8(record.content_topic.of(envelope.payload())).unwrap_or_default();
                let matched = self.subscriptions.matches(record.topic, content_topic);
                self.subscriptions.checked.add(1);
                self.subscriptions.matched.add(matched as u64);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_exact_topics_only() {
        let subscriptions = Subscriptions::default();
        assert_eq!(subscriptions.subscribe(7, 0, "/a/1/b/proto"), Ok(true));
        assert_eq!(subscriptions.subscribe(7, 0, "/a/1/b/proto"), Ok(false));
        assert_eq!(subscriptions.subscribe(8, 0, "/a/1/b/proto"), Ok(true));
        assert_eq!(subscriptions.matches(0, "/a/1/b/proto"), 2);
        assert_eq!(subscriptions.matches(1, "/a/1/b/proto"), 0);
        assert_eq!(subscriptions.matches(0, "/a/1/B/proto"), 0);
        assert!(subscriptions.unsubscribe(7, 0, "/a/1/b/proto"));
        assert!(!subscriptions.unsubscribe(7, 0, "/a/1/b/proto"));
        assert_eq!((subscriptions.matches(0, "/a/1/b/proto"), subscriptions.count()), (1, 1));
    }

    #[test]
    fn bounds_hold() {
        let subscriptions = Subscriptions::default();
        let long = "x".repeat(CONTENT_TOPIC_BYTES_MAX + 1);
        assert_eq!(subscriptions.subscribe(1, 0, &long), Err(SubscribeError::TopicTooLong { bytes: long.len() }));
        (0..CRITERIA_MAX as u64)
            .for_each(|subscriber| assert_eq!(subscriptions.subscribe(subscriber, 0, "t"), Ok(true)));
        assert_eq!(subscriptions.subscribe(u64::MAX, 0, "t"), Err(SubscribeError::TooMany));
    }
}
