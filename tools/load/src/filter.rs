//! Filter subscribers, as applications are: subscribed at two nodes, so that one may be away.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use levada_net::filter::{Client, FilterCounters};
use levada_net::{Multiaddr, NetHandle, PeerId};
use tokio::time::sleep;

use crate::client::{Viewer, start};
use crate::ledger::{Ledger, Tally};
use crate::message::{TOPIC, content_topic};
use crate::run::Error;

/// How often it is looked who is there.
const LOOK_AFTER: Duration = Duration::from_millis(200);

/// A subscriber of one content topic.
pub struct Subscriber {
    handle: NetHandle,
    client: Client,
    nodes: Vec<PeerId>,
    subscribed: Vec<AtomicBool>,
    pub topic: u64,
    /// What each node pushed, in the order of the nodes.
    pub got: Vec<Arc<Tally>>,
}

impl Subscriber {
    /// Connects to the nodes, to be subscribed by [`Self::keep`].
    pub async fn connect(
        addresses: &[Multiaddr],
        nodes: &[PeerId],
        topic: u64,
        ledger: &Arc<Ledger>,
    ) -> Result<Self, Error> {
        let got: Vec<Arc<Tally>> = nodes.iter().map(|_| Arc::default()).collect();
        let pushers: Vec<(u32, Arc<Tally>)> = nodes.iter().map(short).zip(got.iter().cloned()).collect();
        let ledger = ledger.clone();
        let viewer = Viewer::new(move |message| {
            let from = message.record().peer;
            let tally = pushers.iter().find(|(pusher, _)| *pusher == from);
            if let (Some((_, tally)), Some(number)) = (tally, ledger.came(message.payload())) {
                tally.count(number);
            }
        })?;
        let handle = start(addresses, false, viewer.clone()).await?;
        let client = Client::new(handle.exchange().clone(), viewer, Arc::new(FilterCounters::default()))?;
        let subscribed = nodes.iter().map(|_| AtomicBool::new(false)).collect();
        Ok(Self { handle, client, nodes: nodes.to_vec(), subscribed, topic, got })
    }

    /// Subscribes at each node that is there, and again at one that comes back, until it is dropped.
    pub async fn keep(self: Arc<Self>) {
        let name = content_topic(self.topic);
        loop {
            for (node, subscribed) in self.nodes.iter().zip(&self.subscribed) {
                if !self.handle.exchange().is_connected(node) {
                    subscribed.store(false, Relaxed);
                } else if !subscribed.load(Relaxed) {
                    subscribed.store(self.client.subscribe(node, TOPIC, &[&name]).await.is_ok(), Relaxed);
                }
            }
            sleep(LOOK_AFTER).await;
        }
    }

    /// Whether it is subscribed at every node.
    pub fn is_whole(&self) -> bool {
        self.subscribed.iter().all(|subscribed| subscribed.load(Relaxed))
    }
}

/// The number under which the network names the peer in its messages.
fn short(peer: &PeerId) -> u32 {
    peer.to_bytes().last_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}
