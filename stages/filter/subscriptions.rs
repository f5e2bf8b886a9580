//! The subscriptions of light clients: who has which criteria, within which limits, and until when (12/WAKU2-FILTER).

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use levada_engine::Counter;
use levada_wire::waku::filter::{CONTENT_TOPICS_MAX, FilterSubscribeRequest, FilterSubscribeType};

use super::index::{Criterion, Index};
use super::refusal::Refusal;

/// The longest pubsub or content topic of a criterion, in bytes.
pub const TOPIC_BYTES_MAX: usize = 1_024;

/// Memory for the criteria of all subscribers, by the estimate of [`criterion_bytes`].
const CRITERIA_BYTES_MAX: usize = 64 << 20;

/// What a criterion costs beside its content topic: entries of the two tables, two handles, its place in a list.
const CRITERION_OVERHEAD_BYTES: usize = 160;

/// How many may subscribe to how much, and for how long. The defaults are those of nwaku's flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Subscribers (`--filter-max-peers-to-serve`).
    pub subscribers_max: usize,
    /// Criteria of each (`--filter-max-criteria`).
    pub criteria_max: usize,
    /// How long a subscription lives after its subscriber was last heard (`--filter-subscription-timeout`).
    pub timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { subscribers_max: 1_000, criteria_max: 1_000, timeout: Duration::from_secs(300) }
    }
}

/// What a request that was granted changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Nothing that concerns others.
    None,
    /// There is a new subscriber, by this number from now on.
    Opened(u32),
    /// The subscriber of this number is gone.
    Closed(u32),
}

/// Who wants what. Shared by all lanes, by those who push, and by those who change it.
#[derive(Debug, Default)]
pub struct Subscriptions {
    limits: Limits,
    index: RwLock<Index>,
    book: Mutex<Book>,
    criteria: AtomicUsize,
    pub(super) matched: Counter,
    pub(super) checked: Counter,
}

#[derive(Debug, Default)]
struct Book {
    numbers: HashMap<Box<[u8]>, u32>,
    subscribers: HashMap<u32, Subscriber>,
    next: u32,
    criteria_bytes: usize,
    /// Numbers whose subscriber has gone by itself, until somebody asks.
    expired: Vec<u32>,
}

#[derive(Debug)]
struct Subscriber {
    key: Box<[u8]>,
    criteria: HashSet<Criterion>,
    heard: Instant,
}

impl Subscriptions {
    /// None yet.
    pub fn new(limits: Limits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Does what a client asks; `key` is what it is known by.
    ///
    /// # Errors
    /// [`Refusal`], which has the status and the text of the response.
    pub fn request(&self, key: &[u8], request: &FilterSubscribeRequest<'_>, now: Instant) -> Result<Change, Refusal> {
        let mut book = self.book();
        if let Some(number) = book.numbers.get(key).copied()
            && !book.is_alive(number, self.limits.timeout, now)
        {
            self.expire_one(&mut book, number);
        }
        match request.kind {
            FilterSubscribeType::SubscriberPing => book.hear(key, now).map(|_| Change::None),
            FilterSubscribeType::Subscribe => self.add(&mut book, key, named(request)?, now),
            FilterSubscribeType::Unsubscribe => self.remove(&mut book, key, named(request)?, now),
            FilterSubscribeType::UnsubscribeAll => {
                let number = book.hear(key, now)?;
                self.close(&mut book, number);
                Ok(Change::Closed(number))
            }
        }
    }

    /// Subscribes `key` to one content topic.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn subscribe(
        &self,
        key: &[u8],
        pubsub_topic: &str,
        content_topic: &str,
        now: Instant,
    ) -> Result<Change, Refusal> {
        let (kind, content_topics) = (FilterSubscribeType::Subscribe, vec![content_topic]);
        let request = FilterSubscribeRequest { request_id: "", kind, pubsub_topic: Some(pubsub_topic), content_topics };
        self.request(key, &request, now)
    }

    fn add(&self, book: &mut Book, key: &[u8], named: Named<'_>, now: Instant) -> Result<Change, Refusal> {
        let number = book.numbers.get(key).copied();
        let held = number.and_then(|number| book.subscribers.get(&number));
        let new = self.new_criteria(held, &named);
        if held.map_or(0, |held| held.criteria.len()) + new.len() > self.limits.criteria_max {
            return Err(Refusal::PeerFull);
        }
        let bytes: usize = new.iter().map(criterion_bytes).sum();
        if book.criteria_bytes + bytes > CRITERIA_BYTES_MAX {
            return Err(Refusal::CriteriaFull);
        }
        let number = match number {
            Some(number) => number,
            None => self.open(book, key, now)?,
        };
        let Some(subscriber) = book.subscribers.get_mut(&number) else { return Err(Refusal::NoSubscription) };
        let opened = subscriber.criteria.is_empty();
        subscriber.heard = now;
        let mut index = self.index.write().unwrap_or_else(PoisonError::into_inner);
        for criterion in new {
            index.add(&criterion, number);
            subscriber.criteria.insert(criterion);
            self.criteria.fetch_add(1, Relaxed);
        }
        book.criteria_bytes += bytes;
        Ok(if opened { Change::Opened(number) } else { Change::None })
    }

    /// The named criteria that the subscriber does not have yet, each once.
    fn new_criteria(&self, held: Option<&Subscriber>, named: &Named<'_>) -> Vec<Criterion> {
        let index = self.index.read().unwrap_or_else(PoisonError::into_inner);
        let pubsub_topic = index.held_topic(named.pubsub_topic).unwrap_or_else(|| named.pubsub_topic.into());
        let mut new: Vec<Criterion> = Vec::new();
        let mut seen = HashSet::new();
        for content_topic in named.content_topics.iter().filter(|topic| seen.insert(**topic)) {
            let criterion = index.held(&pubsub_topic, content_topic).unwrap_or_else(|| Criterion {
                pubsub_topic: pubsub_topic.clone(),
                content_topic: (*content_topic).into(),
            });
            if held.is_none_or(|held| !held.criteria.contains(&criterion)) {
                new.push(criterion);
            }
        }
        new
    }

    /// A new subscriber without criteria.
    fn open(&self, book: &mut Book, key: &[u8], now: Instant) -> Result<u32, Refusal> {
        let subscribers_max = self.limits.subscribers_max;
        if book.subscribers.len() >= subscribers_max {
            self.expire_all(book, now);
        }
        if book.subscribers.len() >= subscribers_max {
            return Err(Refusal::NodeFull { subscribers_max });
        }
        while book.subscribers.contains_key(&book.next) {
            book.next = book.next.wrapping_add(1);
        }
        let number = book.next;
        book.next = book.next.wrapping_add(1);
        book.numbers.insert(key.into(), number);
        book.subscribers.insert(number, Subscriber { key: key.into(), criteria: HashSet::new(), heard: now });
        Ok(number)
    }

    /// As nwaku: a criterion that others have and this one has not is no error; what comes behind one that nobody has is not looked at.
    fn remove(&self, book: &mut Book, key: &[u8], named: Named<'_>, now: Instant) -> Result<Change, Refusal> {
        let number = book.hear(key, now)?;
        let mut outcome = Ok(Change::None);
        for content_topic in named.content_topics {
            let mut index = self.index.write().unwrap_or_else(PoisonError::into_inner);
            let Some(criterion) = index.held(named.pubsub_topic, content_topic) else {
                outcome = Err(Refusal::NoSubscription);
                break;
            };
            let Some(subscriber) = book.subscribers.get_mut(&number) else { break };
            if subscriber.criteria.remove(&criterion) {
                index.remove(&criterion, number);
                book.criteria_bytes -= criterion_bytes(&criterion);
                self.criteria.fetch_sub(1, Relaxed);
            }
        }
        let is_empty = book.subscribers.get(&number).is_some_and(|subscriber| subscriber.criteria.is_empty());
        if is_empty {
            self.close(book, number);
            match outcome {
                Ok(_) => outcome = Ok(Change::Closed(number)),
                // Who asked is told otherwise.
                Err(_) => book.expired.push(number),
            }
        }
        outcome
    }

    /// Forgets a subscriber.
    fn close(&self, book: &mut Book, number: u32) {
        let Some(subscriber) = book.subscribers.remove(&number) else { return };
        book.numbers.remove(&subscriber.key);
        let mut index = self.index.write().unwrap_or_else(PoisonError::into_inner);
        for criterion in &subscriber.criteria {
            index.remove(criterion, number);
            book.criteria_bytes -= criterion_bytes(criterion);
        }
        self.criteria.fetch_sub(subscriber.criteria.len(), Relaxed);
    }

    fn expire_one(&self, book: &mut Book, number: u32) {
        self.close(book, number);
        book.expired.push(number);
    }

    fn expire_all(&self, book: &mut Book, now: Instant) {
        let timeout = self.limits.timeout;
        let silent = book.subscribers.keys().copied().filter(|number| !book.is_alive(*number, timeout, now));
        for number in silent.collect::<Vec<_>>() {
            self.expire_one(book, number);
        }
    }

    /// Forgets the subscribers that have been silent for too long, and gives the numbers of all that are gone without having asked for it
    /// since the last call.
    pub fn expire(&self, now: Instant) -> Vec<u32> {
        let mut book = self.book();
        self.expire_all(&mut book, now);
        std::mem::take(&mut book.expired)
    }

    /// Who wants a message, if anybody does.
    pub fn subscribers_of(&self, pubsub_topic: &str, content_topic: &str) -> Option<Arc<[u32]>> {
        self.index.read().unwrap_or_else(PoisonError::into_inner).find(pubsub_topic, content_topic).cloned()
    }

    /// How many want a message.
    pub fn matches(&self, pubsub_topic: &str, content_topic: &str) -> usize {
        let index = self.index.read().unwrap_or_else(PoisonError::into_inner);
        index.find(pubsub_topic, content_topic).map_or(0, |list| list.len())
    }

    /// Criteria held now.
    pub fn count(&self) -> usize {
        self.criteria.load(Relaxed)
    }

    /// Subscribers now.
    pub fn subscribers(&self) -> usize {
        self.book().subscribers.len()
    }

    /// The keys of all subscribers with their criteria, for the operator to see.
    pub fn all(&self) -> Vec<(Box<[u8]>, Vec<Criterion>)> {
        let row = |subscriber: &Subscriber| (subscriber.key.clone(), subscriber.criteria.iter().cloned().collect());
        self.book().subscribers.values().map(row).collect()
    }

    /// Messages compared with the criteria.
    pub fn checked_total(&self) -> u64 {
        self.checked.value()
    }

    /// Pairs of a message and a subscriber that wants it.
    pub fn matched_total(&self) -> u64 {
        self.matched.value()
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Book {
    fn is_alive(&self, number: u32, timeout: Duration, now: Instant) -> bool {
        let subscriber = self.subscribers.get(&number);
        subscriber.is_some_and(|subscriber| now.saturating_duration_since(subscriber.heard) <= timeout)
    }

    /// The number of a subscriber, whose subscription lives on.
    fn hear(&mut self, key: &[u8], now: Instant) -> Result<u32, Refusal> {
        let number = *self.numbers.get(key).ok_or(Refusal::NoSubscription)?;
        let subscriber = self.subscribers.get_mut(&number).ok_or(Refusal::NoSubscription)?;
        subscriber.heard = now;
        Ok(number)
    }
}

/// The criteria that a request names.
struct Named<'a> {
    pubsub_topic: &'a str,
    content_topics: &'a [&'a str],
}

fn named<'a>(request: &'a FilterSubscribeRequest<'_>) -> Result<Named<'a>, Refusal> {
    let pubsub_topic = request.pubsub_topic.ok_or(Refusal::Incomplete)?;
    let content_topics = &request.content_topics[..];
    if content_topics.is_empty() {
        return Err(Refusal::Incomplete);
    }
    if content_topics.len() > CONTENT_TOPICS_MAX {
        return Err(Refusal::TooManyTopics);
    }
    if content_topics.iter().chain([&pubsub_topic]).any(|topic| topic.len() > TOPIC_BYTES_MAX) {
        return Err(Refusal::TopicTooLong);
    }
    Ok(Named { pubsub_topic, content_topics })
}

fn criterion_bytes(criterion: &Criterion) -> usize {
    criterion.content_topic.len() + criterion.pubsub_topic.len() + CRITERION_OVERHEAD_BYTES
}
