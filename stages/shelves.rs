//! What light clients of the node's own REST interface subscribed to at a filter node (12/WAKU2-FILTER): the newest messages of each
//! content topic, until they are collected. The `event` stage fills it.
//!
//! A message is kept whichever way it came first, by relay or pushed, and once: another encoding of it has the same message hash.
//! What is kept are handles to slots, not copies; each content topic has its bound in bytes of slots, and so have all together.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use levada_engine::{Counter, Envelope, Held};
use levada_wire::waku::{Origin, WakuRecord};

use crate::seen::{SeenSet, Sighting, WINDOW};

/// Hashes of kept messages that are remembered at least, in less than 1 MB.
const HASHES_MAX: usize = 8_192;

/// One content topic has at most this part of what all may keep.
const TOPIC_PART: usize = 2;

/// The newest messages of the content topics that somebody subscribed to.
#[derive(Debug)]
pub struct Shelves {
    state: Mutex<State>,
    /// Content topics; read without the lock, so that a node without any pays nothing.
    open: AtomicUsize,
    kept: SeenSet,
    slot_bytes_max: usize,
    evicted: Counter,
}

#[derive(Debug, Default)]
struct State {
    shelves: HashMap<Box<str>, Shelf>,
    slot_bytes: usize,
}

/// One content topic, on all pubsub topics it is subscribed to on.
#[derive(Debug, Default)]
struct Shelf {
    topics: Vec<u32>,
    /// In the order of arrival.
    messages: VecDeque<Held<WakuRecord>>,
    slot_bytes: usize,
}

impl Shelves {
    /// Shelves whose messages lie in slots of at most `slot_bytes_max` bytes together, and half of them for one content topic.
    pub fn new(slot_bytes_max: usize) -> Self {
        let (state, open, evicted) = (Mutex::default(), AtomicUsize::new(0), Counter::new());
        Self { state, open, kept: SeenSet::new(HASHES_MAX, WINDOW), slot_bytes_max, evicted }
    }

    /// Begins to keep the messages of a content topic on the pubsub topic of this number; `false` if it did before.
    pub fn open(&self, topic: u32, content_topic: &str) -> bool {
        let mut state = self.lock();
        let shelf = state.shelves.entry(content_topic.into()).or_default();
        let is_new = !shelf.topics.contains(&topic);
        if is_new {
            shelf.topics.push(topic);
        }
        self.open.store(state.shelves.len(), Relaxed);
        is_new
    }

    /// Keeps them no longer, and lets go of those that are kept.
    pub fn close(&self, topic: u32, content_topic: &str) {
        let mut state = self.lock();
        state.extract(content_topic, Some(topic));
        if let Some(shelf) = state.shelves.get_mut(content_topic) {
            shelf.topics.retain(|other| *other != topic);
            if shelf.topics.is_empty() {
                state.shelves.remove(content_topic);
            }
        }
        self.open.store(state.shelves.len(), Relaxed);
    }

    /// Keeps nothing any more.
    pub fn close_all(&self) {
        let mut state = self.lock();
        *state = State::default();
        self.open.store(0, Relaxed);
    }

    /// Hands out what is kept of a content topic, on one pubsub topic or on all, oldest first; `None` if it is not subscribed to there.
    pub fn take(&self, topic: Option<u32>, content_topic: &str) -> Option<Vec<Held<WakuRecord>>> {
        let mut state = self.lock();
        let shelf = state.shelves.get(content_topic)?;
        let is_open = topic.is_none_or(|topic| shelf.topics.contains(&topic));
        is_open.then(|| state.extract(content_topic, topic))
    }

    pub(crate) fn keep(&self, envelope: &Envelope<'_, WakuRecord>) {
        if self.open.load(Relaxed) == 0 {
            return;
        }
        let record = envelope.record();
        let Ok(content_topic) = std::str::from_utf8(record.content_topic.of(envelope.payload())) else { return };
        let mut state = self.lock();
        let is_wanted = state.shelves.get(content_topic).is_some_and(|shelf| shelf.topics.contains(&record.topic));
        if !is_wanted {
            return;
        }
        self.kept.tidy(Instant::now());
        // The set tells apart how a message came, which does not matter here.
        if self.kept.insert(&record.hash, Origin::Gossip) == Sighting::New {
            self.put(&mut state, content_topic, envelope);
        }
    }

    fn put(&self, state: &mut State, content_topic: &str, envelope: &Envelope<'_, WakuRecord>) {
        let bytes = envelope.slot_bytes();
        let of_topic_max = self.slot_bytes_max / TOPIC_PART;
        if bytes > of_topic_max {
            return self.evicted.add(1);
        }
        while state.shelves.get(content_topic).is_some_and(|shelf| shelf.slot_bytes + bytes > of_topic_max) {
            self.evicted.add(state.evict(content_topic));
        }
        while state.slot_bytes + bytes > self.slot_bytes_max {
            let largest = state.shelves.iter().max_by_key(|(_, shelf)| shelf.slot_bytes);
            let Some(largest) = largest.map(|(name, _)| name.clone()) else { break };
            self.evicted.add(state.evict(&largest));
        }
        if let Some(shelf) = state.shelves.get_mut(content_topic) {
            shelf.slot_bytes += bytes;
            shelf.messages.push_back(envelope.clone().hold());
            state.slot_bytes += bytes;
        }
    }

    /// Bytes of the slots kept now.
    pub fn slot_bytes(&self) -> usize {
        self.lock().slot_bytes
    }

    /// Messages dropped because newer ones needed their place.
    pub fn evicted_total(&self) -> u64 {
        self.evicted.value()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Drops the oldest message of a content topic; how many those were.
    fn evict(&mut self, content_topic: &str) -> u64 {
        let Some(shelf) = self.shelves.get_mut(content_topic) else { return 0 };
        let Some(oldest) = shelf.messages.pop_front() else { return 0 };
        shelf.slot_bytes -= oldest.slot_bytes();
        self.slot_bytes -= oldest.slot_bytes();
        1
    }

    fn extract(&mut self, content_topic: &str, topic: Option<u32>) -> Vec<Held<WakuRecord>> {
        let Some(shelf) = self.shelves.get_mut(content_topic) else { return Vec::new() };
        let of_topic = |message: &Held<WakuRecord>| topic.is_none_or(|topic| message.record().topic == topic);
        let (taken, kept): (VecDeque<_>, VecDeque<_>) =
            std::mem::take(&mut shelf.messages).into_iter().partition(of_topic);
        let bytes: usize = taken.iter().map(Held::slot_bytes).sum();
        shelf.messages = kept;
        shelf.slot_bytes -= bytes;
        self.slot_bytes -= bytes;
        taken.into()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use levada_engine::{Arena, ArenaConfig};
    use levada_wire::waku::message::{Message, decode};

    use super::*;

    struct Bench {
        arena: Arc<Arena<WakuRecord>>,
        shelves: Shelves,
    }

    impl Bench {
        fn new(slots: usize) -> Self {
            let arena = Arena::new(&ArenaConfig::with_budget(16 << 20, 1 << 10)).unwrap();
            let bytes = arena.claim(100).unwrap().share().slot_bytes();
            Self { arena, shelves: Shelves::new(slots * bytes) }
        }

        /// A message on pubsub topic `topic` whose hash is made of `number`.
        fn keep(&self, topic: u32, content_topic: &str, number: u32) {
            let number_bytes = number.to_be_bytes();
            let message = Message { payload: &number_bytes, content_topic, ..Message::default() };
            let mut slot = self.arena.claim(message.encoded_len()).unwrap();
            let count = message.encode_into(slot.payload_mut()).unwrap();
            slot.set_len(count);
            let spans = decode(&slot.payload_mut()[..count]).unwrap();
            let record = slot.record_mut();
            *record = WakuRecord { topic, ..WakuRecord::default() };
            record.fill(&spans);
            record.hash[..4].copy_from_slice(&number_bytes);
            record.hash[8..12].copy_from_slice(&number_bytes);
            self.shelves.keep(&slot.share());
        }

        fn take(&self, topic: Option<u32>, content_topic: &str) -> Option<Vec<u32>> {
            let number = |held: &Held<WakuRecord>| {
                u32::from_be_bytes(held.record().payload.of(held.payload()).try_into().unwrap())
            };
            Some(self.shelves.take(topic, content_topic)?.iter().map(number).collect())
        }
    }

    #[test]
    fn only_what_was_asked_for_is_kept_and_handed_out_once() {
        let bench = Bench::new(20);
        bench.keep(1, "a", 0);
        assert_eq!(bench.take(None, "a"), None);
        assert!(bench.shelves.open(1, "a") && !bench.shelves.open(1, "a") && bench.shelves.open(2, "a"));
        for (topic, content_topic, number) in
            [(1, "a", 1), (2, "a", 2), (3, "a", 3), (1, "b", 4), (1, "a", 5), (1, "a", 1)]
        {
            bench.keep(topic, content_topic, number);
        }
        assert_eq!((bench.take(Some(2), "a"), bench.take(Some(3), "a")), (Some(vec![2]), None));
        assert_eq!((bench.take(None, "a"), bench.take(None, "a")), (Some(vec![1, 5]), Some(vec![])));
        bench.keep(1, "a", 5);
        assert_eq!(bench.take(None, "a"), Some(vec![]), "a message that was handed out is not kept again");
        bench.keep(2, "a", 6);
        bench.keep(1, "a", 7);
        bench.shelves.close(2, "a");
        assert_eq!((bench.take(None, "a"), bench.take(Some(2), "a")), (Some(vec![7]), None));
        bench.keep(1, "a", 8);
        bench.shelves.close_all();
        assert_eq!((bench.take(None, "a"), bench.shelves.slot_bytes(), bench.arena.slots_in_use()), (None, 0, 0));
    }

    #[test]
    fn a_topic_has_its_bound_and_so_have_all_together() {
        let bench = Bench::new(4);
        for content_topic in ["a", "b", "c"] {
            bench.shelves.open(1, content_topic);
        }
        (0..5).for_each(|number| bench.keep(1, "a", number));
        (5..8).for_each(|number| bench.keep(1, "b", number));
        bench.keep(1, "c", 8);
        assert_eq!(bench.arena.slots_in_use(), 4);
        let kept = ["a", "b", "c"].map(|name| bench.take(None, name).unwrap());
        assert_eq!(kept.iter().flatten().count(), 4);
        assert_eq!((kept[2].as_slice(), bench.shelves.evicted_total()), (&[8][..], 5));
        assert!(
            kept[0].iter().chain(&kept[1]).all(|number| [3, 4, 6, 7].contains(number)),
            "the oldest went: {kept:?}"
        );
        assert_eq!((bench.shelves.slot_bytes(), bench.arena.slots_in_use()), (0, 0));
    }
}
