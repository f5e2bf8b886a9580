//! The way in: messages from peers are copied into slots, the one copy they see on this node, and handed to a lane.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use levada_engine::{Arena, ClaimError, Counter, PushError, Source};
use levada_net::{Inbound, InboundMessage, Offer};
use levada_wire::waku::{Origin, TopicTable, WakuRecord};

/// Receives what relay delivers.
#[derive(Debug)]
pub struct Ingress {
    lanes: Vec<Source<WakuRecord>>,
    topics: Arc<TopicTable>,
    closed: AtomicBool,
    /// Messages on a pubsub topic this node takes no part in.
    pub unknown_topic: Counter,
}

impl Ingress {
    /// A way into `lanes`, which share one arena.
    pub fn new(lanes: Vec<Source<WakuRecord>>, topics: Arc<TopicTable>) -> Self {
        Self { lanes, topics, closed: AtomicBool::new(false), unknown_topic: Counter::new() }
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
    fn offer(&self, message: &InboundMessage) -> Offer {
        if self.is_closed() {
            return Offer::Dropped;
        }
        let Some(topic) = self.topics.find(&message.topic) else {
            self.unknown_topic.add(1);
            return Offer::Dropped;
        };
        let lane = self.lane(message.peer.0 as usize);
        if !lane.has_room() {
            return Offer::Full;
        }
        let mut slot = match lane.arena().claim(message.data.len()) {
            Ok(slot) => slot,
            Err(ClaimError::Full { .. }) => return Offer::Full,
            Err(error) => {
                tracing::warn!(%error, topic = message.topic, "a message was dropped");
                return Offer::Dropped;
            }
        };
        slot.fill(&message.data);
        *slot.record_mut() = WakuRecord {
            id: message.id,
            id_known: true,
            topic,
            peer: message.peer.0,
            origin: Origin::Gossip,
            ..WakuRecord::default()
        };
        match lane.push(slot.share()) {
            Ok(()) => Offer::Taken,
            Err(PushError::Full(_)) => Offer::Full,
            Err(PushError::Closed(_)) => Offer::Dropped,
        }
    }
}
