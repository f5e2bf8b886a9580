//! Whom to ask.

use std::time::Duration;

use levada_net::{NetHandle, PeerId};
use levada_wire::waku::store;
use tokio::time::{Instant, sleep_until, timeout_at};

/// Between two looks at the peers: one that is connected may say later what it serves.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Finds store nodes.
pub(super) struct Choice {
    /// The network.
    pub(super) net: NetHandle,
    /// The node of `--storenode`, which has the first word.
    pub(super) named: Option<PeerId>,
    /// Whom the last try failed with: others have the next word, if there are any.
    pub(super) failed: Option<PeerId>,
}

impl Choice {
    /// A store node that is connected, waited for until `deadline`. The one that is named is waited for alone until a try has failed.
    pub(super) async fn wait(&self, others_too: bool, deadline: Instant) -> Option<PeerId> {
        let mut changes = self.net.changes();
        loop {
            if let Some(peer) = self.now(others_too).await {
                return Some(peer);
            }
            let look_at = (Instant::now() + LOOK_EVERY).min(deadline);
            if Instant::now() >= deadline {
                return None;
            }
            if let Ok(Err(_)) = timeout_at(look_at, changes.changed()).await {
                // The network has stopped: nobody will come.
                sleep_until(deadline).await;
            }
        }
    }

    async fn now(&self, others_too: bool) -> Option<PeerId> {
        let named = self.named.filter(|peer| self.net.exchange().is_connected(peer));
        let mut candidates: Vec<PeerId> = named.into_iter().collect();
        if others_too || self.named.is_none() {
            let peers = self.net.peers().await;
            let serves = |peer: &levada_net::PeerInfo| peer.protocols.iter().any(|served| served == store::PROTOCOL);
            let mut others: Vec<PeerId> = peers.iter().filter(|peer| serves(peer)).map(|peer| peer.peer_id).collect();
            others.sort_unstable();
            candidates.extend(others);
        }
        let other = candidates.iter().find(|peer| Some(**peer) != self.failed);
        other.or(candidates.first()).copied()
    }
}
