//! All subscribers that are pushed to.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use bytes::{Bytes, BytesMut};
use levada_engine::{Held, Observed};
use levada_wire::waku::WakuRecord;
use levada_wire::waku::filter::{PushHeader, push_trailer};
use libp2p::PeerId;

use super::counters::FilterCounters;
use super::push::{Kept, Push};
use super::queue::Queue;
use super::writer;
use crate::exchange::Exchange;

/// What waits for one subscriber, in bytes of slots.
const QUEUE_BYTES_MAX: usize = 8 << 20;

/// Frames messages and queues them for their subscribers. Shared by whoever pushes and whoever keeps the subscriptions.
#[derive(Debug)]
pub struct Pushes {
    exchange: Exchange,
    queues: RwLock<HashMap<u32, Arc<Queue>>>,
    /// What stands behind the message, by the number of the topic.
    trailers: Mutex<HashMap<u32, Bytes>>,
    kept: Arc<Kept>,
    kept_bytes_max: usize,
    counters: Arc<FilterCounters>,
}

impl Pushes {
    /// Pushes to peers of `exchange`, that keep at most `kept_bytes_max` of slots while they wait.
    pub fn new(exchange: Exchange, kept_bytes_max: usize, counters: Arc<FilterCounters>) -> Self {
        let (queues, trailers) = (RwLock::default(), Mutex::default());
        Self { exchange, queues, trailers, kept: Arc::default(), kept_bytes_max, counters }
    }

    /// Begins to push to a subscriber, by a number of the caller's. Must be called inside of a tokio runtime.
    pub fn open(&self, number: u32, peer: PeerId) {
        let queue = Arc::new(Queue::new(QUEUE_BYTES_MAX.min(self.kept_bytes_max)));
        tokio::spawn(writer::run(queue.clone(), peer, self.exchange.clone(), self.counters.clone()));
        let earlier = self.queues.write().unwrap_or_else(PoisonError::into_inner).insert(number, queue);
        if let Some(earlier) = earlier {
            earlier.close();
        }
    }

    /// Pushes to a subscriber no longer; what waits for it is dropped.
    pub fn close(&self, number: u32) {
        let queue = self.queues.write().unwrap_or_else(PoisonError::into_inner).remove(&number);
        if let Some(queue) = queue {
            queue.close();
        }
    }

    /// Pushes to nobody any more.
    pub fn close_all(&self) {
        let queues = std::mem::take(&mut *self.queues.write().unwrap_or_else(PoisonError::into_inner));
        queues.values().for_each(|queue| queue.close());
    }

    /// Queues a message on `pubsub_topic` for its subscribers; waits for none of them.
    pub fn push(&self, message: Held<WakuRecord>, pubsub_topic: &str, subscribers: &[u32]) {
        let Ok(header) = PushHeader::new(pubsub_topic, message.payload().len()) else {
            return self.counters.too_large.add(1);
        };
        let trailer = self.trailer(message.record().topic, pubsub_topic);
        let push = Arc::new(Push::new(header, message, trailer, self.kept.clone()));
        self.counters.encoded.add(1);
        let queues = self.queues.read().unwrap_or_else(PoisonError::into_inner);
        for number in subscribers {
            // A subscriber may have gone since it was looked up.
            if let Some(queue) = queues.get(number)
                && !queue.push(push.clone())
            {
                self.counters.dropped.add(1);
            }
        }
        drop(push);
        while self.kept.bytes() > self.kept_bytes_max && self.drop_slowest(&queues) {}
    }

    /// Drops what waits for the subscriber that keeps most from others; `false` if nothing waits.
    fn drop_slowest(&self, queues: &HashMap<u32, Arc<Queue>>) -> bool {
        let Some(slowest) = queues.values().max_by_key(|queue| queue.bytes()) else { return false };
        let dropped = slowest.clear();
        self.counters.dropped.add(dropped);
        dropped > 0
    }

    fn trailer(&self, number: u32, pubsub_topic: &str) -> Bytes {
        let encode = || {
            let mut trailer = BytesMut::new();
            push_trailer(pubsub_topic, &mut trailer);
            trailer.freeze()
        };
        self.trailers().entry(number).or_insert_with(encode).clone()
    }

    fn trailers(&self) -> MutexGuard<'_, HashMap<u32, Bytes>> {
        self.trailers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes of the slots that wait to be pushed or are being pushed.
    pub fn kept_bytes(&self) -> usize {
        self.kept.bytes()
    }

    /// How long messages took to all their subscribers.
    pub fn durations(&self) -> Observed {
        self.kept.durations.observed()
    }

    /// Subscribers that are pushed to.
    pub fn subscribers(&self) -> usize {
        self.queues.read().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// What filter has done so far.
    pub fn counters(&self) -> &Arc<FilterCounters> {
        &self.counters
    }
}
