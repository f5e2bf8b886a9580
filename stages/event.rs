//! `event`: keeps the newest messages of each pubsub topic for the REST interface to collect.
//!
//! What is kept are handles to slots, not copies; the cache is bounded in messages and in bytes, the oldest go first.
//! Cost: one handle per message, no payload byte.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use levada_engine::{Counter, Envelope, Held, Stage};
use levada_wire::waku::WakuRecord;

use crate::{Messages, Ports};

/// Bytes of payload the default cache keeps out of the arena at most.
pub const CACHE_BYTES_MAX: usize = 16 << 20;

/// What a reader of the cache asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interest<'a> {
    /// Every message of a pubsub topic, by its number.
    Topic(u32),
    /// The messages of one content topic on a pubsub topic.
    ContentTopic(u32, &'a str),
}

/// The newest messages of the topics somebody asked for.
#[derive(Debug)]
pub struct EventCache {
    queues: Mutex<Queues>,
    messages_max: usize,
    bytes_max: usize,
    evicted: Counter,
}

#[derive(Debug, Default)]
struct Queues {
    by_topic: HashMap<u32, TopicQueues>,
    messages: usize,
    bytes: usize,
    arrivals: u64,
}

/// Messages kept for one interest, each with its place in the order of arrival.
type Queue = VecDeque<(u64, Held<WakuRecord>)>;

#[derive(Debug, Default)]
struct TopicQueues {
    all: Option<Queue>,
    by_content_topic: HashMap<Box<str>, Queue>,
}

impl EventCache {
    /// A cache of at most `messages_max` messages and `bytes_max` bytes over all topics. A message kept for two interests
    /// counts twice.
    pub fn new(messages_max: usize, bytes_max: usize) -> Self {
        Self { queues: Mutex::default(), messages_max, bytes_max, evicted: Counter::new() }
    }

    fn lock(&self) -> MutexGuard<'_, Queues> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts keeping messages.
    pub fn open(&self, interest: Interest<'_>) {
        let mut queues = self.lock();
        match interest {
            Interest::Topic(topic) => _ = queues.by_topic.entry(topic).or_default().all.get_or_insert_default(),
            Interest::ContentTopic(topic, content_topic) => {
                let topic = queues.by_topic.entry(topic).or_default();
                topic.by_content_topic.entry(content_topic.into()).or_default();
            }
        }
    }

    /// Stops, and lets go of what is kept.
    pub fn close(&self, interest: Interest<'_>) {
        let mut queues = self.lock();
        let gone = match interest {
            Interest::Topic(topic) => queues.by_topic.get_mut(&topic).and_then(|topic| topic.all.take()),
            Interest::ContentTopic(topic, content_topic) => {
                queues.by_topic.get_mut(&topic).and_then(|topic| topic.by_content_topic.remove(content_topic))
            }
        };
        queues.forget(gone.iter().flatten());
    }

    /// Hands out what is kept, oldest first, and keeps it no longer; `None` for an interest that is not open.
    pub fn take(&self, interest: Interest<'_>) -> Option<Vec<Held<WakuRecord>>> {
        let mut queues = self.lock();
        let taken = match interest {
            Interest::Topic(topic) => std::mem::take(queues.by_topic.get_mut(&topic)?.all.as_mut()?),
            Interest::ContentTopic(topic, content_topic) => {
                std::mem::take(queues.by_topic.get_mut(&topic)?.by_content_topic.get_mut(content_topic)?)
            }
        };
        queues.forget(taken.iter());
        Some(taken.into_iter().map(|(_, held)| held).collect())
    }

    fn keep(&self, envelope: &Envelope<'_, WakuRecord>) {
        let mut queues = self.lock();
        let (data, record) = (envelope.payload(), envelope.record());
        let Some(topic) = queues.by_topic.get(&record.topic) else { return };
        let content_topic = std::str::from_utf8(record.content_topic.of(data)).unwrap_or_default();
        let wanted = [topic.all.is_some(), topic.by_content_topic.contains_key(content_topic)];
        for wanted_by_content_topic in [false, true] {
            if wanted[usize::from(wanted_by_content_topic)] && self.make_room(&mut queues, data.len()) {
                queues.arrivals += 1;
                let entry = (queues.arrivals, envelope.clone().hold());
                queues.messages += 1;
                queues.bytes += data.len();
                let topic = queues.by_topic.entry(record.topic).or_default();
                let queue = if wanted_by_content_topic {
                    topic.by_content_topic.get_mut(content_topic)
                } else {
                    topic.all.as_mut()
                };
                queue.expect("the queue was open a moment ago, under the same lock").push_back(entry);
            }
        }
    }

    /// Evicts the oldest until a message of `bytes` fits; false when it never can.
    fn make_room(&self, queues: &mut Queues, bytes: usize) -> bool {
        if bytes > self.bytes_max || self.messages_max == 0 {
            return false;
        }
        while queues.messages >= self.messages_max || queues.bytes + bytes > self.bytes_max {
            queues.evict_oldest();
            self.evicted.add(1);
        }
        true
    }

    /// Messages dropped because newer ones needed their place.
    pub fn evicted_total(&self) -> u64 {
        self.evicted.value()
    }
}

impl Queues {
    fn forget<'a>(&mut self, gone: impl Iterator<Item = &'a (u64, Held<WakuRecord>)>) {
        for (_, held) in gone {
            self.messages -= 1;
            self.bytes -= held.payload().len();
        }
    }

    fn evict_oldest(&mut self) {
        let queues = self
            .by_topic
            .values_mut()
            .flat_map(|topic| topic.all.iter_mut().chain(topic.by_content_topic.values_mut()));
        let oldest = queues.filter(|queue| !queue.is_empty()).min_by_key(|queue| queue[0].0);
        if let Some(gone) = oldest.and_then(VecDeque::pop_front) {
            self.forget([gone].iter());
        }
    }
}

/// Offers accepted messages to the cache.
#[derive(Debug)]
pub struct Event {
    cache: Arc<EventCache>,
}

impl Event {
    /// A lane over the shared cache.
    pub fn new(cache: Arc<EventCache>) -> Self {
        Self { cache }
    }
}

const NEXT: usize = 0;

impl Stage<WakuRecord> for Event {
    fn ports(&self) -> &'static [&'static str] {
        &["next"]
    }

    fn process(&mut self, batch: &mut Messages<'_>, ports: &mut Ports<'_>) {
        for envelope in batch {
            if !envelope.record().repeated {
                self.cache.keep(&envelope);
            }
            ports.send(NEXT, envelope);
        }
    }
}
