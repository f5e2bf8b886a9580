//! What the node serves to light clients, mounted by the configuration.

use std::sync::Arc;

use levada_net::lightpush::Publisher;
use levada_net::peer_exchange::RecordBook;
use levada_net::{filter, lightpush, peer_exchange, store};

use crate::config::{Config, Service};
use crate::node::backend::NodeBackend;
use crate::node::filter::Subscribers;
use crate::node::pages::ArchivePages;
use crate::node::pusher::Pusher;

/// What must not happen: the node mounts everything in one place.
const ONCE: &str = "each protocol is served once";

/// Serves filter subscriptions.
pub fn serve_filter(config: &Config, backend: &NodeBackend, subscribers: &Subscribers) {
    let (limit, counters) = (config.rate_limits.limit(Service::Filter), subscribers.pushes.counters().clone());
    filter::serve(backend.net.exchange(), Arc::new(subscribers.clone()), limit, counters).expect(ONCE);
}

/// Serves every protocol that is on. Peers that are connected already are told through identify.
pub fn serve(config: &Config, backend: &NodeBackend, records: &Arc<RecordBook>) {
    let exchange = backend.net.exchange();
    if let Some(archive) = &backend.store {
        store::serve(exchange, Arc::new(ArchivePages::new(archive.clone())), config.rate_limits.limit(Service::Store))
            .expect(ONCE);
    }
    if config.lightpush && config.relay {
        let pusher: Arc<dyn Publisher> = Arc::new(Pusher {
            ingress: backend.ingress.clone(),
            tickets: backend.tickets.clone(),
            subscriptions: backend.subscriptions.clone(),
            net: backend.net.clone(),
            cluster_id: backend.cluster_id,
            num_shards_in_network: backend.num_shards_in_network,
            message_bytes_max: backend.message_bytes_max,
        });
        lightpush::serve(exchange, &pusher, config.max_msg_bytes, config.rate_limits.limit(Service::Lightpush))
            .expect(ONCE);
    }
    if config.peer_exchange {
        peer_exchange::serve(exchange, records.clone(), config.rate_limits.limit(Service::PeerExchange)).expect(ONCE);
    }
}
