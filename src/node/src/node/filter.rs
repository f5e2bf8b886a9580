//! Filter: between the requests of light clients, the subscriptions that the path matches with, and the pushes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use levada_engine::{Held, Sink};
use levada_net::filter::{Answer, Pushes, Registrar};
use levada_net::{Exchange, PeerId};
use levada_stages::filter::{Change, Subscriptions};
use levada_wire::waku::filter::FilterSubscribeRequest;
use levada_wire::waku::{TopicTable, WakuRecord};
use tokio::sync::Notify;

use crate::topology::Shared;

/// Time between two looks for subscribers that have fallen silent.
const SWEEP_EVERY: Duration = Duration::from_secs(1);

/// Messages pushed for one lane before the next has its turn.
const PASS_ENVELOPES: usize = 64;

/// The part of the arena's bytes that may wait to be pushed.
const KEPT_PART: usize = 8;

/// Keeps the subscriptions, and has the subscribers pushed to.
#[derive(Clone)]
pub struct Subscribers {
    subscriptions: Arc<Subscriptions>,
    topics: Arc<TopicTable>,
    /// What is pushed to them.
    pub pushes: Arc<Pushes>,
}

impl Registrar for Subscribers {
    fn request(&self, peer: PeerId, request: &FilterSubscribeRequest<'_>) -> Answer {
        match self.subscriptions.request(&peer.to_bytes(), request, Instant::now()) {
            Ok(change) => {
                match change {
                    Change::Opened(number) => self.pushes.open(number, peer),
                    Change::Closed(number) => self.pushes.close(number),
                    Change::None => {}
                }
                Answer::OK
            }
            Err(refusal) => {
                tracing::debug!(%peer, %refusal, "filter request refused");
                Answer { status_code: refusal.status(), status_desc: refusal.to_string().into() }
            }
        }
    }
}

impl Subscribers {
    /// None yet, to be found among the peers of `exchange`.
    pub fn new(shared: &Shared, exchange: &Exchange, arena_bytes: usize) -> Self {
        let pushes = Pushes::new(exchange.clone(), arena_bytes / KEPT_PART, Arc::default());
        Self { subscriptions: shared.subscriptions.clone(), topics: shared.topics.clone(), pushes: Arc::new(pushes) }
    }

    fn push(&self, message: Held<WakuRecord>) {
        let record = message.record();
        let Some(pubsub_topic) = self.topics.name(record.topic) else { return };
        let content_topic = std::str::from_utf8(record.content_topic.of(message.payload())).unwrap_or_default();
        // Whoever wanted it may have gone since the path looked.
        if let Some(subscribers) = self.subscriptions.subscribers_of(pubsub_topic, content_topic) {
            self.pushes.push(message, pubsub_topic, &subscribers);
        }
    }
}

/// Pushes what the lanes have found wanted, until the topology has ended. It waits for no subscriber.
pub async fn run(mut lanes: Vec<Sink<WakuRecord>>, ready: Arc<Notify>, subscribers: Subscribers) {
    while !lanes.iter().all(Sink::is_finished) {
        let mut moved = false;
        for lane in &mut lanes {
            for envelope in std::iter::from_fn(|| lane.pop()).take(PASS_ENVELOPES) {
                moved = true;
                subscribers.push(envelope);
            }
        }
        if moved {
            // There may be much to push, and others want their turn.
            tokio::task::yield_now().await;
        } else {
            ready.notified().await;
        }
    }
    subscribers.pushes.close_all();
}

/// Forgets subscribers that have fallen silent, until the node stops.
pub async fn sweep(subscribers: Subscribers, stopped: impl Future<Output = ()>) {
    let mut stopped = std::pin::pin!(stopped);
    let mut every = tokio::time::interval(SWEEP_EVERY);
    loop {
        tokio::select! {
            () = &mut stopped => return,
            _ = every.tick() => {
                for number in subscribers.subscriptions.expire(Instant::now()) {
                    subscribers.pushes.close(number);
                }
            }
        }
    }
}
