//! The JSON of the administrator's routes, in nwaku's shapes.

use std::collections::{BTreeMap, HashMap};

use levada_net::{Census, PROTOCOLS, PeerId, PeerRecord, RELAY_PROTOCOL, Reach};
use levada_wire::waku::{filter, lightpush, peer_exchange, store};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::rest::backend::FilterSubscriber;

/// The protocols by which a peer serves others, in nwaku's order.
const SERVED: [&str; 6] = [
    RELAY_PROTOCOL,
    filter::SUBSCRIBE_PROTOCOL,
    store::PROTOCOL,
    lightpush::PROTOCOL_V2,
    lightpush::PROTOCOL_V3,
    peer_exchange::PROTOCOL,
];

/// A peer.
#[derive(Serialize)]
pub(super) struct PeerAnswer<'a> {
    multiaddr: String,
    protocols: Vec<&'a str>,
    shards: &'a [u16],
    connected: &'static str,
    agent: &'a str,
    origin: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<f64>,
}

impl<'a> PeerAnswer<'a> {
    /// As the lists of all peers show it: nwaku tells scores of relay peers only.
    pub(super) fn unscored(peer: &'a PeerRecord) -> Self {
        let address = peer.addresses.first().map(ToString::to_string).unwrap_or_default();
        Self {
            multiaddr: format!("{address}/p2p/{}", peer.peer_id),
            protocols: peer.protocols.iter().map(String::as_str).collect(),
            shards: &peer.shards,
            connected: peer.reach.as_str(),
            agent: &peer.agent,
            origin: peer.origin.as_str(),
            score: None,
        }
    }

    fn scored(peer: &'a PeerRecord) -> Self {
        Self { score: peer.score, ..Self::unscored(peer) }
    }
}

/// Peers that serve, each with what it serves of [`SERVED`].
pub(super) fn service_peers(census: &Census) -> Vec<PeerAnswer<'_>> {
    let serving = census.peers.iter().map(|peer| {
        let protocols = SERVED.into_iter().filter(|served| peer.protocols.iter().any(|protocol| protocol == served));
        PeerAnswer { protocols: protocols.collect(), ..PeerAnswer::unscored(peer) }
    });
    serving.filter(|peer| !peer.protocols.is_empty()).collect()
}

/// A shard and its peers.
#[derive(Serialize)]
pub(super) struct ShardAnswer<'a> {
    shard: u16,
    peers: Vec<PeerAnswer<'a>>,
}

impl<'a> ShardAnswer<'a> {
    pub(super) fn of(shard: u16, census: &'a Census, ids: &[PeerId]) -> Self {
        let known: HashMap<PeerId, &PeerRecord> = census.peers.iter().map(|peer| (peer.peer_id, peer)).collect();
        let peers = ids.iter().filter_map(|id| known.get(id)).map(|peer| PeerAnswer::scored(peer)).collect();
        Self { shard, peers }
    }
}

/// Numbers of peers by nwaku's groups.
pub(super) fn stats(census: &Census) -> Value {
    let peers = &census.peers;
    let reach = Reach::ALL.map(|reach| {
        let count = peers.iter().filter(|peer| peer.reach == reach).count();
        (reach.as_str().to_owned(), json!(count))
    });
    let by_shard = |total: &str, of: fn(&levada_net::TopicPeers) -> usize| {
        let mut numbers = Map::new();
        for topic in &census.topics {
            let shard = topic.topic.rsplit('/').next().unwrap_or_default();
            numbers.insert(shard.to_owned(), json!(of(topic)));
        }
        // In nwaku too this is the number of shards.
        numbers.insert(total.to_owned(), json!(census.topics.len()));
        numbers
    };
    let protocols = PROTOCOLS.map(|protocol| {
        let count = peers.iter().filter(|peer| peer.protocols.iter().any(|named| named == protocol)).count();
        (protocol.to_owned(), json!(count))
    });
    json!({
        "Sum": {"Total peers": peers.len()},
        "By Connectedness": Map::from_iter(reach),
        "Relay peers": by_shard("Total relay peers", |topic| topic.subscribers.len()),
        "Mesh peers": by_shard("Total mesh peers", |topic| topic.mesh.len()),
        "By Protocols": Map::from_iter(protocols),
    })
}

/// A filter subscriber.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SubscriberAnswer<'a> {
    peer_id: &'a str,
    filter_criteria: Vec<BTreeMap<&'static str, &'a str>>,
}

impl<'a> From<&'a FilterSubscriber> for SubscriberAnswer<'a> {
    fn from(subscriber: &'a FilterSubscriber) -> Self {
        let criterion = |(pubsub_topic, content_topic): &'a (String, String)| {
            BTreeMap::from([("pubsubTopic", pubsub_topic.as_str()), ("contentTopic", content_topic.as_str())])
        };
        Self { peer_id: &subscriber.peer_id, filter_criteria: subscriber.criteria.iter().map(criterion).collect() }
    }
}
