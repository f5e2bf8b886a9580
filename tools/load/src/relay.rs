//! Relay peers: each publishes its share of the messages, and counts those of the others.

use std::sync::Arc;
use std::time::Duration;

use levada_net::{Multiaddr, NetHandle};
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval, sleep};

use crate::client::{Viewer, start};
use crate::ledger::{Ledger, Tally};
use crate::message::{TOPIC, stamp};
use crate::run::Error;

const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(50);

/// A relay peer of both nodes.
pub struct RelayPeer {
    handle: NetHandle,
    /// Messages of others, and none of its own.
    pub got: Arc<Tally>,
    /// Messages of its own.
    pub published: Arc<Tally>,
}

impl RelayPeer {
    /// Joins, and waits until both nodes have it in their mesh or it has them in its own.
    pub async fn join(addresses: &[Multiaddr]) -> Result<Self, Error> {
        let (got, published) = (Arc::new(Tally::default()), Arc::default());
        let tally = got.clone();
        let viewer = Viewer::new(move |message| {
            if let Some((number, _)) = stamp(message.payload()) {
                tally.count(number);
            }
        })?;
        let handle = start(addresses, true, viewer).await?;
        handle.subscribe(TOPIC).await?;
        while handle.connected_count() < addresses.len() || handle.subscribers(TOPIC).await < addresses.len() {
            sleep(LOOK_AGAIN_AFTER).await;
        }
        Ok(Self { handle, got, published })
    }

    /// Publishes so many messages per second for so long.
    pub fn publish(&self, ledger: &Arc<Ledger>, rate: f64, seconds: u64) -> JoinHandle<Result<(), Error>> {
        let (handle, ledger, published) = (self.handle.clone(), ledger.clone(), self.published.clone());
        tokio::spawn(async move {
            let mut ticks = interval(Duration::from_secs_f64(1.0 / rate));
            // What the machine could not send in time is sent later, not left out.
            ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
            for _ in 0..(seconds as f64 * rate) as u64 {
                ticks.tick().await;
                let (number, data) = ledger.next();
                published.count(number);
                handle.queue_publish(TOPIC, data, None).await?;
                ledger.sent(number);
            }
            Ok(())
        })
    }
}
