//! The way in: messages from peers, read into slots by the network, are handed to a lane.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use levada_engine::seen::Set;
use levada_engine::{Arena, Counter, Held, PushError, Source};
use levada_net::{Direction, Inbound, Refused};
use levada_stages::seen::SeenSet;
use levada_wire::waku::{TopicCounts, TopicTable, WakuRecord};

/// The router and the path tell their marks in the set of seen ids apart.
const _: () = assert!(levada_net::SEEN_MARKS & levada_stages::seen::SEEN_MARKS == 0);

/// Receives what relay delivers.
#[derive(Debug)]
pub struct Ingress {
    lanes: Vec<Source<WakuRecord>>,
    topics: Arc<TopicTable>,
    seen: Arc<SeenSet>,
    closed: AtomicBool,
    /// Messages on a pubsub topic this node takes no part in.
    pub unknown_topic: Counter,
    /// By direction.
    traffic: [TopicCounts; 2],
}

impl Ingress {
    /// A way into `lanes`, which share one arena and the ids they have `seen`.
    pub fn new(lanes: Vec<Source<WakuRecord>>, topics: Arc<TopicTable>, seen: Arc<SeenSet>) -> Self {
        let traffic = [(); 2].map(|()| TopicCounts::new(topics.clone()));
        Self { lanes, topics, seen, closed: AtomicBool::new(false), unknown_topic: Counter::new(), traffic }
    }

    /// Bytes that relay has moved in that direction: every copy of a message on a topic that the node takes part in, and the name of its
    /// topic with each, as nwaku counts them.
    pub fn traffic(&self, direction: Direction) -> &TopicCounts {
        &self.traffic[direction as usize]
    }

    /// Takes nothing more: the node is going down.
    pub fn close(&self) {
        self.closed.store(true, Relaxed);
    }

    /// True once [`close`](Self::close) was called.
    pub fn is_closed(&self) -> bool {
        self.closed.load(Relaxed)
    }

    /// The memory messages wait in.
    pub fn arena(&self) -> &Arc<Arena<WakuRecord>> {
        self.lanes[0].arena()
    }

    /// The lane of a number. A peer's number always gives the same, which keeps its messages in order.
    pub fn lane(&self, number: usize) -> &Source<WakuRecord> {
        &self.lanes[number % self.lanes.len()]
    }
}

impl Inbound for Ingress {
    fn arena(&self) -> &Arc<Arena<WakuRecord>> {
        self.arena()
    }

    fn topic(&self, name: &str) -> Option<u32> {
        let topic = self.topics.find(name);
        self.unknown_topic.add(u64::from(topic.is_none()));
        topic
    }

    fn seen(&self) -> Option<Arc<Set>> {
        Some(self.seen.ids().clone())
    }

    fn traffic(&self, direction: Direction, topic: u32, bytes: usize) {
        let name_bytes = self.topics.name(topic).map_or(0, str::len);
        self.traffic[direction as usize].add(topic, (bytes + name_bytes) as u64);
    }

    fn offer(&self, message: Held<WakuRecord>) -> Result<(), Refused> {
        if self.is_closed() {
            return Err(Refused::Dropped);
        }
        let lane = self.lane(message.record().peer as usize);
        if !lane.has_room() {
            return Err(Refused::Full(message));
        }
        // All lanes share the arena that the network reads into.
        let envelope = message.attach(lane.arena()).map_err(|_| Refused::Dropped)?;
        lane.push(envelope).map_err(|refused| match refused {
            PushError::Full(envelope) => Refused::Full(envelope.hold()),
            PushError::Closed(_) => Refused::Dropped,
        })
    }
}
