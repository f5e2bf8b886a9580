//! Lightpush and store queries, to the two nodes in turns.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use levada_net::lightpush::push;
use levada_net::store::query;
use levada_net::{Multiaddr, NetHandle, PeerId};
use levada_wire::waku::lightpush::LightpushRequest;
use levada_wire::waku::store::StoreRequest;
use tokio::time::{interval, sleep};

use crate::client::{Viewer, start};
use crate::ledger::{Ledger, Tally};
use crate::message::{TOPIC, stamp};
use crate::run::Error;

const PAGE: u64 = 100;
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(50);

/// What the light client did.
#[derive(Default)]
pub struct LightCounters {
    pub pushed: AtomicU64,
    pub queried: AtomicU64,
    /// Requests to a node that was there and did not do what was asked.
    pub failed: AtomicU64,
    /// The time of the last query, in microseconds.
    pub query_us: AtomicU64,
    /// A node is being restarted: requests to it may stay unanswered.
    pub restarting: AtomicBool,
}

/// A client of both nodes.
pub struct Light {
    handle: NetHandle,
    nodes: Vec<PeerId>,
    pub counters: LightCounters,
}

impl Light {
    pub async fn connect(addresses: &[Multiaddr], nodes: &[PeerId]) -> Result<Arc<Self>, Error> {
        let handle = start(addresses, false, Viewer::new(|_| ())?).await?;
        while handle.connected_count() < nodes.len() {
            sleep(LOOK_AGAIN_AFTER).await;
        }
        Ok(Arc::new(Self { handle, nodes: nodes.to_vec(), counters: LightCounters::default() }))
    }

    /// Pushes so many messages a second for so long.
    pub async fn push(self: Arc<Self>, ledger: Arc<Ledger>, rate: u64, seconds: u64) {
        let mut ticks = interval(Duration::from_secs(1) / rate.max(1) as u32);
        for turn in 0..rate * seconds {
            ticks.tick().await;
            let Some((node, calm)) = self.node_of(turn) else { continue };
            let (number, message) = ledger.next();
            let request = LightpushRequest { request_id: "load", pubsub_topic: Some(TOPIC), message: &message };
            match push(self.handle.exchange(), node, &request).await {
                Ok(_) => {
                    ledger.sent(number);
                    self.counters.pushed.fetch_add(1, Relaxed);
                }
                Err(_) if calm => _ = self.counters.failed.fetch_add(1, Relaxed),
                Err(_) => {}
            }
        }
    }

    /// Asks for the newest page so many times a second for so long.
    pub async fn query(self: Arc<Self>, rate: u64, seconds: u64) {
        let mut ticks = interval(Duration::from_secs(1) / rate.max(1) as u32);
        for turn in 0..rate * seconds {
            ticks.tick().await;
            let Some((node, calm)) = self.node_of(turn) else { continue };
            let began = Instant::now();
            match query(self.handle.exchange(), node, &page(None, Some(false))).await {
                Ok(_) => {
                    self.counters.query_us.store(began.elapsed().as_micros() as u64, Relaxed);
                    self.counters.queried.fetch_add(1, Relaxed);
                }
                Err(_) if calm => _ = self.counters.failed.fetch_add(1, Relaxed),
                Err(_) => {}
            }
        }
    }

    /// Whose turn it is, if it is there, and whether it must answer.
    fn node_of(&self, turn: u64) -> Option<(&PeerId, bool)> {
        let node = &self.nodes[turn as usize % self.nodes.len()];
        let calm = !self.counters.restarting.load(Relaxed);
        self.handle.exchange().is_connected(node).then_some((node, calm))
    }

    /// Everything that a node has stored.
    pub async fn stored(&self, node: &PeerId) -> Result<Tally, Error> {
        let (stored, mut cursor) = (Tally::default(), None);
        loop {
            let page = query(self.handle.exchange(), node, &page(cursor, Some(true))).await?;
            for message in &page.messages {
                if let Some((data, ..)) = &message.body
                    && let Some((number, _)) = stamp(data)
                {
                    stored.count(number);
                }
            }
            cursor = page.cursor;
            if cursor.is_none() {
                return Ok(stored);
            }
        }
    }
}

fn page(cursor: Option<[u8; 32]>, forward: Option<bool>) -> StoreRequest<'static> {
    StoreRequest {
        request_id: "load",
        include_data: true,
        pubsub_topic: Some(TOPIC),
        cursor,
        forward,
        limit: Some(PAGE),
        ..StoreRequest::default()
    }
}
