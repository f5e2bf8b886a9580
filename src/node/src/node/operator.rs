//! What operators may do by REST (`--rest-admin`).

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use levada_net::{Census, Multiaddr, NetHandle, PeerId};
use levada_stages::filter::Subscriptions;

use crate::cli::logging;
use crate::config::LogLevel;
use crate::rest::{Admin, FilterSubscriber};

/// The node in the hands of its operator.
pub struct Operator {
    /// The network.
    pub net: NetHandle,
    /// Whether relay is on.
    pub relay: bool,
    /// Who has subscribed by filter, if it is served.
    pub filter: Option<Arc<Subscriptions>>,
}

impl Admin for Operator {
    fn census(&self) -> BoxFuture<'_, Census> {
        self.net.census().boxed()
    }

    fn relays(&self) -> bool {
        self.relay
    }

    fn connect(&self, address: Multiaddr) -> BoxFuture<'_, Result<(), String>> {
        async move {
            let shown = address.to_string();
            let peer = self.net.connect(address).await.map_err(|error| error.to_string())?;
            tracing::info!(%peer, address = shown, "connected on behalf of a REST client");
            Ok(())
        }
        .boxed()
    }

    fn filter_subscriptions(&self) -> Option<Vec<FilterSubscriber>> {
        let row = |(key, criteria): (Box<[u8]>, Vec<levada_stages::filter::Criterion>)| FilterSubscriber {
            peer_id: PeerId::from_bytes(&key).map(|peer| peer.to_string()).unwrap_or_default(),
            criteria: criteria
                .iter()
                .map(|criterion| (criterion.pubsub_topic.to_string(), criterion.content_topic.to_string()))
                .collect(),
        };
        Some(self.filter.as_ref()?.all().into_iter().map(row).collect())
    }

    fn set_log_level(&self, level: LogLevel) -> Result<(), String> {
        logging::set_level(level).map_err(|error| error.to_string())
    }
}
