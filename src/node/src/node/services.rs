//! What the node serves to light clients, mounted by the configuration.

use std::sync::Arc;

use levada_net::lightpush::Publisher;
use levada_net::peer_exchange::RecordBook;
use levada_net::{NetHandle, PeerId, filter, lightpush, peer_exchange, store};
use levada_stages::filter::Subscriptions;
use levada_wire::waku as wire;

use crate::config::{Config, Service};
use crate::node::backend::NodeBackend;
use crate::node::filter::Subscribers;
use crate::node::light_clients::LightClients;
use crate::node::operator::Operator;
use crate::node::pages::ArchivePages;
use crate::node::peer_asker::peer_of;
use crate::node::pusher::Pusher;

/// What must not happen: the node mounts everything in one place.
const ONCE: &str = "each protocol is served once";

/// The peers that the configuration names for a service, by protocol.
pub fn named(config: &Config) -> Vec<(&'static str, PeerId)> {
    let all = [
        (wire::store::PROTOCOL, &config.store_node),
        (wire::filter::SUBSCRIBE_PROTOCOL, &config.filter_node),
        (wire::lightpush::PROTOCOL_V3, &config.lightpush_node),
        (wire::peer_exchange::PROTOCOL, &config.peer_exchange_node),
    ];
    all.into_iter().filter_map(|(protocol, node)| Some((protocol, peer_of(node.as_deref()?)?))).collect()
}

/// What asks services on behalf of REST clients.
pub fn clients(config: &Config, net: &NetHandle) -> LightClients {
    LightClients {
        net: net.clone(),
        lightpush_node: config.lightpush_node.as_deref().and_then(peer_of),
        store_node: config.store_node.as_deref().and_then(peer_of),
        own_lightpush: None,
        cluster_id: config.cluster_id,
        num_shards_in_network: config.num_shards_in_network,
        message_bytes_max: config.max_msg_bytes,
    }
}

/// What operators may do.
pub fn operator(config: &Config, net: &NetHandle, subscriptions: &Arc<Subscriptions>) -> Operator {
    let filter = config.filter.then(|| subscriptions.clone());
    Operator { net: net.clone(), relay: config.relay, filter }
}

/// The protocols that [`serve`] and [`serve_filter`] will serve.
pub fn mounted(config: &Config) -> Vec<&'static str> {
    let lightpush = config.lightpush && config.relay;
    let all = [
        (lightpush, wire::lightpush::PROTOCOL_V3),
        (lightpush, wire::lightpush::PROTOCOL_V2),
        (config.filter, wire::filter::SUBSCRIBE_PROTOCOL),
        (config.store, wire::store::PROTOCOL),
        (config.peer_exchange, wire::peer_exchange::PROTOCOL),
    ];
    all.into_iter().filter(|(is_on, _)| *is_on).map(|(_, protocol)| protocol).collect()
}

/// Serves filter subscriptions.
pub fn serve_filter(config: &Config, backend: &NodeBackend, subscribers: &Subscribers) {
    let (limit, counters) = (config.rate_limits.limit(Service::Filter), subscribers.pushes.counters().clone());
    filter::serve(backend.net.exchange(), Arc::new(subscribers.clone()), limit, counters).expect(ONCE);
}

/// Serves every protocol that is on. Peers that are connected already are told through identify.
pub fn serve(config: &Config, backend: &mut NodeBackend, records: &Arc<RecordBook>) {
    let net = backend.net.clone();
    let exchange = net.exchange();
    if let Some(archive) = &backend.store {
        store::serve(exchange, Arc::new(ArchivePages::new(archive.clone())), config.rate_limits.limit(Service::Store))
            .expect(ONCE);
    }
    if config.lightpush && config.relay {
        let pusher = Arc::new(Pusher {
            ingress: backend.ingress.clone(),
            tickets: backend.tickets.clone(),
            subscriptions: backend.subscriptions.clone(),
            net: backend.net.clone(),
            cluster_id: backend.cluster_id,
            num_shards_in_network: backend.num_shards_in_network,
            message_bytes_max: backend.message_bytes_max,
        });
        backend.clients.own_lightpush = Some(pusher.clone());
        let pusher: Arc<dyn Publisher> = pusher;
        lightpush::serve(exchange, &pusher, config.max_msg_bytes, config.rate_limits.limit(Service::Lightpush))
            .expect(ONCE);
    }
    if config.peer_exchange {
        peer_exchange::serve(exchange, records.clone(), config.rate_limits.limit(Service::PeerExchange)).expect(ONCE);
    }
}
