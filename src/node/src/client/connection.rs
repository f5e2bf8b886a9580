//! A connection to one node, by a network that listens nowhere and relays nothing.

use std::sync::Arc;

use levada_net::{Exchange, Inbound, NetConfig, NetHandle, NodeKey, PeerId, counters};

use super::Fault;
use crate::cli::Target;

/// A node that is connected.
pub(super) struct Connection {
    pub(super) net: NetHandle,
    pub(super) peer: PeerId,
    address: String,
}

impl Connection {
    /// Connects to the node, with a key made for this connection alone. Messages that are pushed go to `inbound`.
    pub(super) async fn open(target: &Target, inbound: Arc<dyn Inbound>) -> Result<Self, Fault> {
        let address = target.address.to_string();
        let mut config = NetConfig::new(NodeKey::generate());
        (config.listen, config.relay, config.cluster_id) = (false, false, target.cluster);
        config.outgoing_wanted = 0;
        let (net, task) = levada_net::start(config, inbound).await.map_err(|error| Fault::Start(error.to_string()))?;
        tokio::spawn(task);
        let connected = tokio::time::timeout(target.timeout, net.connect(target.address.clone()));
        let timed_out = levada_net::ConnectError::TimedOut { seconds: target.timeout.as_secs() };
        let peer = connected.await.unwrap_or(Err(timed_out));
        let peer = peer.map_err(|source| Fault::Unreachable { address: address.clone(), source })?;
        Ok(Self { net, peer, address })
    }

    pub(super) fn exchange(&self) -> &Exchange {
        self.net.exchange()
    }

    /// A request has failed with `fault`: if the connection is gone, that is the reason.
    pub(super) fn blame(&self, fault: impl Into<Fault>) -> Fault {
        if self.exchange().is_connected(&self.peer) { fault.into() } else { self.lost() }
    }

    /// Why the connection is gone.
    pub(super) fn lost(&self) -> Fault {
        if counters::METADATA_OTHER_CLUSTER.value() > 0 {
            Fault::OtherCluster(self.address.clone())
        } else {
            Fault::Closed(self.address.clone())
        }
    }

    /// Ends when the connection is gone.
    pub(super) async fn gone(&self) {
        let mut changes = self.net.changes();
        while self.exchange().is_connected(&self.peer) && changes.changed().await.is_ok() {}
    }

    /// The address that was asked for.
    pub(super) fn address(&self) -> &str {
        &self.address
    }
}
