//! The metrics about peers, the relay and discovery. Names with the prefixes `waku_` and `libp2p_` are nwaku v0.38.1's.
//!
//! Whatever a peer says of itself may become the value of a label, so such values are few, short and printable.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use levada_engine::Counter;
use levada_net::{
    Census, Direction, NetHandle, Origin, PROTOCOLS, PeerRecord, RELAY_PROTOCOL, Reach, counters, open_streams,
};
use levada_wire::waku::topics::PubsubTopic;
use levada_wire::waku::{filter, lightpush, peer_exchange, store};
use tokio::time::timeout;

use crate::metrics::{Kind, Labels, Metrics, Value};

/// Agent strings that have a sample of their own; the peers of all others are counted together.
const AGENTS_MAX: usize = 20;

/// Characters of an agent string that are shown.
const AGENT_CHARS_MAX: usize = 64;

/// Shards that have a sample of their own; the network has no more.
const SHARDS_MAX: usize = 1_024;

/// How long a scrape waits for the network; after that it shows what was known at the last one.
const CENSUS_TIME_MAX: Duration = Duration::from_secs(1);

type Latest = Arc<Mutex<Arc<Census>>>;

/// What discovery has counted.
#[derive(Debug, Default)]
pub struct DiscoveryCounters {
    /// Records of nodes of the cluster that Discovery v5 has found.
    pub discv5_found: Counter,
    /// Those without an address that can be dialled.
    pub discv5_unusable: Counter,
    /// Records that the list in the DNS had at its last reading, summed over the readings.
    pub dns_found: Counter,
    /// Readings of the list that failed.
    pub dns_failed: Counter,
}

/// Adds everything that is read from a census of the peers, which is taken once for each scrape.
pub fn peers(table: Metrics, net: NetHandle) -> Metrics {
    let latest = Latest::default();
    let of = |read: fn(&Census) -> Vec<(Labels, Value)>| {
        let latest = latest.clone();
        move || read(&now(&latest))
    };
    let number = |read: fn(&Census) -> usize| {
        let latest = latest.clone();
        move || read(&now(&latest)) as u64
    };
    let kept = latest.clone();
    let table = table
        .before_scrape(move || {
            let (net, kept) = (net.clone(), kept.clone());
            Box::pin(async move {
                if let Ok(census) = timeout(CENSUS_TIME_MAX, net.census()).await {
                    *kept.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(census);
                }
            })
        })
        .family(Kind::Gauge, "waku_connected_peers", "Connected peers by direction and protocol", of(by_protocol))
        .family(Kind::Gauge, "waku_streams_peers", "Open streams by who opened them and protocol", || {
            let row =
                |(direction, protocol, open)| (direction_and_protocol(direction, protocol), Value::Unsigned(open));
            open_streams().map(row).collect()
        })
        .family(Kind::Gauge, "waku_connected_peers_per_shard", "Connected peers by the shards they serve", of(by_shard))
        .family(
            Kind::Gauge,
            "waku_connected_peers_per_agent",
            "Connected peers by what they call themselves",
            of(by_agent),
        )
        .gauge("waku_filter_peers", SERVING, number(|census| serving(census, filter::SUBSCRIBE_PROTOCOL)))
        .gauge("waku_store_peers", SERVING, number(|census| serving(census, store::PROTOCOL)))
        .gauge("waku_lightpush_peers", SERVING, number(|census| serving(census, lightpush::PROTOCOL_V3)))
        .gauge("waku_px_peers", SERVING, number(|census| serving(census, peer_exchange::PROTOCOL)))
        .gauge("waku_peer_store_size", "Peers known, connected or not", number(|census| census.peers.len()))
        .gauge("waku_total_unique_peers", "Peers known, each once", number(|census| census.peers.len()))
        .family(Kind::Gauge, "levada_peers", "Peers known, by whether they can be reached", of(by_reach))
        .family(Kind::Gauge, "levada_peers_by_origin", "Peers known, by how they became known", of(by_origin))
        .gauge("libp2p_pubsub_peers", "Connected peers that relay", number(relaying));
    topics(table, &latest)
}

/// Those of relay.
fn topics(table: Metrics, latest: &Latest) -> Metrics {
    let of = |read: fn(&Census) -> Vec<(Labels, Value)>| {
        let latest = latest.clone();
        move || read(&now(&latest))
    };
    let known = latest.clone();
    table
        .gauge("libp2p_pubsub_topics", "Pubsub topics that the node takes part in", move || {
            now(&known).topics.len() as u64
        })
        .family(
            Kind::Gauge,
            "libp2p_gossipsub_peers_per_topic_mesh",
            MESH,
            of(|census| others(census.topics.iter().map(|topic| topic.mesh.len()).sum())),
        )
        .family(
            Kind::Gauge,
            "libp2p_gossipsub_peers_per_topic_gossipsub",
            "Subscribed peers, of all topics",
            of(|census| others(census.topics.iter().map(|topic| topic.subscribers.len()).sum())),
        )
        .family(
            Kind::Gauge,
            "levada_relay_peers",
            "Peers by pubsub topic and whether they are in its mesh",
            of(by_topic),
        )
        .family(
            Kind::Counter,
            "levada_router_events",
            "What the relay's router has done and refused",
            of(|census| {
                let row =
                    |(event, count): &(&str, u64)| (vec![("event", (*event).to_owned())], Value::Unsigned(*count));
                census.router.iter().map(row).collect()
            }),
        )
}

const SERVING: &str = "Connected peers that serve this";

const MESH: &str = "Peers in the relay's meshes, of all topics";

/// Adds the counters of the network that nwaku has names for.
pub fn network(table: Metrics) -> Metrics {
    macro_rules! counters {
        ($table:expr, $($name:literal, $help:literal, [$($label:literal = $value:literal)?], $counter:ident;)*) => {
            $table$(.counter_with_labels($name, $help, &[$(($label, $value))?], || counters::$counter.value()))*
        };
    }
    let table = Origin::ALL.iter().fold(table, |table, origin| {
        let origin = *origin;
        let name = "waku_node_conns_initiated";
        table.counter_with_labels(
            name,
            "Dials by how the peer became known",
            &[("source", origin.as_str())],
            move || origin.dials_total(),
        )
    });
    counters! { table,
        "waku_peers_dials", "Dials by outcome", ["outcome" = "successful"], DIALS_OK;
        "waku_peers_dials", "Dials by outcome", ["outcome" = "failed"], DIALS_FAILED;
        "waku_peers_errors", "Peers that were not kept", ["type" = "dial_failure"], DIALS_FAILED;
        "waku_peers_errors", "Peers that were not kept", ["type" = "other_cluster"], METADATA_OTHER_CLUSTER;
        "waku_peers_errors", "Peers that were not kept", ["type" = "ip_colocation"], COLOCATION_REFUSALS;
        "waku_node_errors", "What failed, by kind", ["type" = "keep_alive_failure"], PING_DISCONNECTS;
        "waku_node_errors", "What failed, by kind", ["type" = "message_dropped"], MESSAGES_DROPPED;
        "libp2p_pubsub_subscriptions", "Pubsub topics joined", [], TOPICS_JOINED;
        "libp2p_pubsub_unsubscriptions", "Pubsub topics left", [], TOPICS_LEFT;
        "libp2p_pubsub_messages_published", "Messages published to at least one peer", [], PUBLISHED;
        "libp2p_pubsub_validation_success", "Messages accepted", [], VERDICTS_ACCEPT;
        "libp2p_pubsub_validation_failure", "Messages rejected", [], VERDICTS_REJECT;
        "libp2p_pubsub_validation_ignore", "Messages ignored", [], VERDICTS_IGNORE;
        "libp2p_gossipsub_received", "Messages that the relay delivered, each once", [], MESSAGES_IN;
        "libp2p_gossipsub_duplicate", "Messages that came again", [], MESSAGES_DUPLICATE;
        "libp2p_network_bytes", "Bytes of all connections", ["direction" = "in"], SOCKET_BYTES_IN;
        "libp2p_network_bytes", "Bytes of all connections", ["direction" = "out"], SOCKET_BYTES_OUT;
    }
}

/// Adds what discovery has found.
pub fn discovery(table: Metrics, counters: &Arc<DiscoveryCounters>) -> Metrics {
    let [found, unusable, listed, failed] = [(); 4].map(|()| counters.clone());
    table
        .gauge("waku_discv5_discovered", "Records that Discovery v5 has found", move || found.discv5_found.value())
        .counter_with_labels(
            "waku_discv5_errors",
            "Records that are of no use",
            &[("type", "no_dialable_address")],
            move || unusable.discv5_unusable.value(),
        )
        .gauge("waku_dnsdisc_discovered", "Records that the list in the DNS had", move || listed.dns_found.value())
        .counter_with_labels(
            "waku_dnsdisc_errors",
            "Readings of the list that failed",
            &[("type", "tree_sync_failure")],
            move || failed.dns_failed.value(),
        )
}

fn now(latest: &Latest) -> Arc<Census> {
    latest.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

fn here(census: &Census) -> impl Iterator<Item = &PeerRecord> {
    census.peers.iter().filter(|peer| peer.reach == Reach::Connected)
}

fn serves(peer: &PeerRecord, protocol: &str) -> bool {
    peer.protocols.iter().any(|served| served == protocol)
}

fn relaying(census: &Census) -> usize {
    serving(census, RELAY_PROTOCOL)
}

fn serving(census: &Census, protocol: &str) -> usize {
    here(census).filter(|peer| serves(peer, protocol)).count()
}

fn direction_and_protocol(direction: Direction, protocol: &str) -> Labels {
    let direction = match direction {
        Direction::In => "In",
        Direction::Out => "Out",
    };
    vec![("direction", direction.to_owned()), ("protocol", protocol.to_owned())]
}

fn by_protocol(census: &Census) -> Vec<(Labels, Value)> {
    let row = |direction: Direction, protocol: &str| {
        let counted = here(census).filter(|peer| peer.direction == Some(direction) && serves(peer, protocol)).count();
        (direction_and_protocol(direction, protocol), Value::Unsigned(counted as u64))
    };
    [Direction::In, Direction::Out]
        .into_iter()
        .flat_map(|direction| PROTOCOLS.map(|protocol| row(direction, protocol)))
        .collect()
}

fn by_shard(census: &Census) -> Vec<(Labels, Value)> {
    let mut counts = BTreeMap::<u16, u64>::new();
    for shard in here(census).flat_map(|peer| &peer.shards) {
        if counts.len() < SHARDS_MAX || counts.contains_key(shard) {
            *counts.entry(*shard).or_default() += 1;
        }
    }
    counts.into_iter().map(|(shard, count)| (vec![("shard", shard.to_string())], Value::Unsigned(count))).collect()
}

fn by_agent(census: &Census) -> Vec<(Labels, Value)> {
    let mut counts = HashMap::<String, u64>::new();
    here(census).for_each(|peer| *counts.entry(shown(&peer.agent)).or_default() += 1);
    let mut counts: Vec<(String, u64)> = counts.into_iter().collect();
    counts.sort_by(|(left, more), (right, less)| less.cmp(more).then_with(|| left.cmp(right)));
    let others: u64 = counts.iter().skip(AGENTS_MAX).map(|(_, count)| count).sum();
    counts.truncate(AGENTS_MAX);
    if others > 0 {
        // An agent may call itself so, and is then counted with them.
        match counts.iter_mut().find(|(agent, _)| agent == "other") {
            Some((_, count)) => *count += others,
            None => counts.push(("other".to_owned(), others)),
        }
    }
    counts.into_iter().map(|(agent, count)| (vec![("agent", agent)], Value::Unsigned(count))).collect()
}

/// What a peer calls itself, as a label: short, and of characters that are seen.
fn shown(agent: &str) -> String {
    let seen = |character: char| if character.is_control() { '?' } else { character };
    let shown: String = agent.chars().take(AGENT_CHARS_MAX).map(seen).collect();
    if shown.is_empty() { "unknown".to_owned() } else { shown }
}

fn by_reach(census: &Census) -> Vec<(Labels, Value)> {
    let count = |reach| census.peers.iter().filter(|peer| peer.reach == reach).count() as u64;
    Reach::ALL.map(|reach| (vec![("state", reach.as_str().to_owned())], Value::Unsigned(count(reach)))).into()
}

fn by_origin(census: &Census) -> Vec<(Labels, Value)> {
    let count = |origin| census.peers.iter().filter(|peer| peer.origin == origin).count() as u64;
    Origin::ALL.map(|origin| (vec![("origin", origin.as_str().to_owned())], Value::Unsigned(count(origin)))).into()
}

/// nwaku's nodes know no topic by name, and count all of them under this one.
fn others(count: usize) -> Vec<(Labels, Value)> {
    vec![(vec![("topic", "other".to_owned())], Value::Unsigned(count as u64))]
}

fn by_topic(census: &Census) -> Vec<(Labels, Value)> {
    let shards = census.topics.iter().filter(|topic| PubsubTopic::parse(&topic.topic).is_ok());
    let rows = shards.flat_map(|topic| {
        let row = |in_mesh: bool, count: usize| {
            let labels = vec![("shard", topic.topic.clone()), ("mesh", in_mesh.to_string())];
            (labels, Value::Unsigned(count as u64))
        };
        let outside = topic.subscribers.len().saturating_sub(topic.mesh.len());
        [row(true, topic.mesh.len()), row(false, outside)]
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use levada_net::{PeerId, TopicPeers};

    use super::*;

    fn peer(agent: &str, shards: &[u16], reach: Reach) -> PeerRecord {
        PeerRecord {
            peer_id: PeerId::random(),
            addresses: Vec::new(),
            agent: agent.to_owned(),
            protocols: vec![RELAY_PROTOCOL.to_owned(), "/made/up/1.0.0".to_owned()],
            shards: shards.to_vec(),
            reach,
            direction: Some(Direction::In),
            origin: Origin::Discv5,
            score: None,
        }
    }

    fn value(rows: &[(Labels, Value)], labels: &[(&'static str, &str)]) -> Option<u64> {
        let wanted: Labels = labels.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        rows.iter().find(|(labels, _)| *labels == wanted).map(|(_, value)| match value {
            Value::Unsigned(value) => *value,
            _ => panic!("counts are whole"),
        })
    }

    #[test]
    fn what_peers_say_makes_few_and_short_labels() {
        let mut peers: Vec<PeerRecord> =
            (0..100).map(|number| peer(&format!("agent {number:03}"), &[1], Reach::Connected)).collect();
        peers.push(peer(&"x\n\"\u{7f}".repeat(5_000), &[], Reach::Connected));
        peers.extend((0..3).map(|_| peer("", &[], Reach::Connected)));
        let census = Census { peers, ..Census::default() };
        let rows = by_agent(&census);
        assert_eq!(rows.len(), AGENTS_MAX + 1);
        assert_eq!((value(&rows, &[("agent", "unknown")]), value(&rows, &[("agent", "other")])), (Some(3), Some(82)));
        let total: u64 =
            rows.iter().map(|(labels, _)| value(&rows, &[("agent", labels[0].1.as_str())]).unwrap_or(0)).sum();
        assert_eq!(total, 104);
        assert!(rows.iter().all(|(labels, _)| labels[0].1.chars().count() <= AGENT_CHARS_MAX));
        assert!(!shown("a\u{0}\nb").contains(char::is_control));
        assert_eq!(by_protocol(&census).len(), 2 * PROTOCOLS.len(), "what is made up has no sample");
    }

    #[test]
    fn connected_peers_are_counted_by_what_they_are() {
        let id = PeerId::random();
        let topics =
            vec![TopicPeers { topic: "/waku/2/rs/0/3".to_owned(), subscribers: vec![id; 5], mesh: vec![id; 2] }];
        let peers = vec![peer("a", &[3, 4], Reach::Connected), peer("b", &[3], Reach::CannotConnect)];
        let census = Census { peers, topics, router: vec![("messages_new", 7)] };
        assert_eq!(value(&by_protocol(&census), &[("direction", "In"), ("protocol", RELAY_PROTOCOL)]), Some(1));
        assert_eq!(value(&by_shard(&census), &[("shard", "3")]), Some(1));
        assert_eq!(value(&by_reach(&census), &[("state", "CannotConnect")]), Some(1));
        assert_eq!(value(&by_origin(&census), &[("origin", "Discv5")]), Some(2));
        assert_eq!(relaying(&census), 1);
        let rows = by_topic(&census);
        assert_eq!(value(&rows, &[("shard", "/waku/2/rs/0/3"), ("mesh", "true")]), Some(2));
        assert_eq!(value(&rows, &[("shard", "/waku/2/rs/0/3"), ("mesh", "false")]), Some(3));
    }
}
