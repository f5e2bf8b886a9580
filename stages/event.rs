//! `event`: keeps the newest messages of each pubsub topic for the REST interface to collect, and those of [`Shelves`].
//!
//! What is kept are handles to slots, not copies; the cache is bounded in messages and in the bytes of
//! their slots; the oldest go first.
//! Cost: one handle per message, no payload byte.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use levada_engine::{BatchLimit, Counter, Envelope, Held, Stage};
use levada_wire::waku::WakuRecord;

use crate::shelves::Shelves;
use crate::{Messages, Ports};

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
    state: Mutex<State>,
    messages_max: usize,
    slot_bytes_max: usize,
    evicted: Counter,
}

#[derive(Debug, Default)]
struct State {
    open: HashMap<u32, Interests>,
    /// In the order of arrival, so that the oldest of all interests goes first.
    kept: VecDeque<Kept>,
    slot_bytes: usize,
}

/// Who asked for messages of one pubsub topic.
#[derive(Debug, Default)]
struct Interests {
    topic: bool,
    content_topics: HashSet<Box<str>>,
}

#[derive(Debug)]
struct Kept {
    /// Kept for the content topic's sake, not the pubsub topic's.
    for_content_topic: bool,
    message: Held<WakuRecord>,
}

impl Kept {
    fn is_for(&self, interest: Interest<'_>) -> bool {
        let record = self.message.record();
        match interest {
            Interest::Topic(topic) => !self.for_content_topic && record.topic == topic,
            Interest::ContentTopic(topic, content_topic) => {
                self.for_content_topic
                    && record.topic == topic
                    && record.content_topic.of(self.message.payload()) == content_topic.as_bytes()
            }
        }
    }
}

impl EventCache {
    /// A cache of at most `messages_max` messages over all topics, in slots of at most `slot_bytes_max` bytes together.
    /// What counts is the slot, not the payload in it: that is what others cannot use meanwhile. A message kept for two
    /// interests counts twice.
    pub fn new(messages_max: usize, slot_bytes_max: usize) -> Self {
        Self { state: Mutex::default(), messages_max, slot_bytes_max, evicted: Counter::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts keeping messages.
    pub fn open(&self, interest: Interest<'_>) {
        let mut state = self.lock();
        match interest {
            Interest::Topic(topic) => state.open.entry(topic).or_default().topic = true,
            Interest::ContentTopic(topic, content_topic) => {
                state.open.entry(topic).or_default().content_topics.insert(content_topic.into());
            }
        }
    }

    /// Stops, and lets go of what is kept.
    pub fn close(&self, interest: Interest<'_>) {
        let mut state = self.lock();
        let (Interest::Topic(topic) | Interest::ContentTopic(topic, _)) = interest;
        if let Some(interests) = state.open.get_mut(&topic) {
            match interest {
                Interest::Topic(_) => interests.topic = false,
                Interest::ContentTopic(_, content_topic) => _ = interests.content_topics.remove(content_topic),
            }
            if !interests.topic && interests.content_topics.is_empty() {
                state.open.remove(&topic);
            }
        }
        state.extract(interest);
    }

    /// Hands out what is kept, oldest first, and keeps it no longer; `None` for an interest that is not open.
    pub fn take(&self, interest: Interest<'_>) -> Option<Vec<Held<WakuRecord>>> {
        let mut state = self.lock();
        let is_open = match interest {
            Interest::Topic(topic) => state.open.get(&topic)?.topic,
            Interest::ContentTopic(topic, content_topic) => {
                state.open.get(&topic)?.content_topics.contains(content_topic)
            }
        };
        is_open.then(|| state.extract(interest))
    }

    fn keep(&self, envelope: &Envelope<'_, WakuRecord>) {
        let mut state = self.lock();
        let record = envelope.record();
        let Some(interests) = state.open.get(&record.topic) else { return };
        let for_topic = interests.topic;
        let for_content_topic = !interests.content_topics.is_empty() && {
            let content_topic = record.content_topic.of(envelope.payload());
            std::str::from_utf8(content_topic).is_ok_and(|name| interests.content_topics.contains(name))
        };
        for (wanted, for_content_topic) in [(for_topic, false), (for_content_topic, true)] {
            if wanted && self.make_room(&mut state, envelope.slot_bytes()) {
                state.slot_bytes += envelope.slot_bytes();
                state.kept.push_back(Kept { for_content_topic, message: envelope.clone().hold() });
            }
        }
    }

    /// Evicts the oldest until one more slot fits; false when it never can.
    fn make_room(&self, state: &mut State, slot_bytes: usize) -> bool {
        if slot_bytes > self.slot_bytes_max || self.messages_max == 0 {
            return false;
        }
        while state.kept.len() >= self.messages_max || state.slot_bytes + slot_bytes > self.slot_bytes_max {
            let Some(oldest) = state.kept.pop_front() else { break };
            state.slot_bytes -= oldest.message.slot_bytes();
            self.evicted.add(1);
        }
        true
    }

    /// Messages dropped because newer ones needed their place.
    pub fn evicted_total(&self) -> u64 {
        self.evicted.value()
    }
}

impl State {
    /// The queue is turned once and keeps its memory, so that `keep` allocates nothing once it has grown.
    fn extract(&mut self, interest: Interest<'_>) -> Vec<Held<WakuRecord>> {
        let mut taken = Vec::new();
        for _ in 0..self.kept.len() {
            let Some(kept) = self.kept.pop_front() else { break };
            if kept.is_for(interest) {
                self.slot_bytes -= kept.message.slot_bytes();
                taken.push(kept.message);
            } else {
                self.kept.push_back(kept);
            }
        }
        taken
    }
}

/// Offers accepted messages to the cache.
#[derive(Debug)]
pub struct Event {
    cache: Arc<EventCache>,
    shelves: Option<Arc<Shelves>>,
}

impl Event {
    /// A lane over the shared cache.
    pub fn new(cache: Arc<EventCache>) -> Self {
        Self { cache, shelves: None }
    }

    /// The same, which also fills the shelves of filter's client side.
    #[must_use]
    pub fn with_shelves(self, shelves: Arc<Shelves>) -> Self {
        Self { shelves: Some(shelves), ..self }
    }
}

const NEXT: usize = 0;

impl Stage<WakuRecord> for Event {
    fn ports(&self) -> &'static [&'static str] {
        &["next"]
    }

    fn batch_limit(&self) -> BatchLimit {
        crate::HEADERS_ONLY
    }

    fn process(&mut self, batch: &mut Messages<'_>, ports: &mut Ports<'_>) {
        batch.pass(ports, NEXT, |envelope| {
            if !envelope.record().repeated {
                self.cache.keep(envelope);
                if let Some(shelves) = &self.shelves {
                    shelves.keep(envelope);
                }
            }
        });
    }
}
