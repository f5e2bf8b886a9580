//! The administrator's routes: nwaku's shapes, and what is refused.

use std::sync::Arc;

use levada_net::{Census, Direction, Origin, PeerId, PeerRecord, RELAY_PROTOCOL, Reach, TopicPeers};
use levada_wire::waku::store;
use serde_json::{Value, json};

use super::{MemoryNode, Operated, get, post};
use crate::config::LogLevel;
use crate::rest::FilterSubscriber;

pub(super) const ADDRESS: &str = "/ip4/127.0.0.1/tcp/60001/p2p/16Uiu2HAmVFXtAfSj4EiR7mL2KvL4EE2wztuQgUSBoj2Jx2KeXFLN";

pub(super) fn id(text: &str) -> PeerId {
    text.parse().expect("a peer id")
}

pub(super) const HERE: &str = "16Uiu2HAmVFXtAfSj4EiR7mL2KvL4EE2wztuQgUSBoj2Jx2KeXFLN";
const AWAY: &str = "16Uiu2HAmPLe7Mzm8TsYUubgCAW1aJoeFScxrLj8ppHFivPo97bUZ";

/// A peer that is here and relays on shard 3, and one that is away.
pub(super) fn operated() -> Operated {
    let here = PeerRecord {
        peer_id: id(HERE),
        addresses: vec!["/ip4/127.0.0.1/tcp/60001".parse().expect("a multiaddress")],
        agent: "nwaku-v0.38.1".to_owned(),
        protocols: vec!["/ipfs/ping/1.0.0".to_owned(), RELAY_PROTOCOL.to_owned(), store::PROTOCOL.to_owned()],
        shards: vec![1, 3],
        reach: Reach::Connected,
        direction: Some(Direction::Out),
        origin: Origin::Discv5,
        score: Some(1.5),
    };
    let away = PeerRecord {
        peer_id: id(AWAY),
        addresses: Vec::new(),
        agent: String::new(),
        protocols: Vec::new(),
        shards: Vec::new(),
        reach: Reach::CannotConnect,
        direction: None,
        origin: Origin::Static,
        score: None,
    };
    let topic = |shard, mesh| TopicPeers { topic: format!("/waku/2/rs/0/{shard}"), subscribers: vec![id(HERE)], mesh };
    let topics = vec![topic(3, vec![id(HERE)]), topic(4, Vec::new())];
    let criteria = vec![("/waku/2/rs/0/3".to_owned(), "/a/1/b/proto".to_owned())];
    Operated {
        census: Census { peers: vec![here, away], topics, router: Vec::new() },
        subscribers: Some(vec![FilterSubscriber { peer_id: HERE.to_owned(), criteria }]),
        ..Operated::default()
    }
}

pub(super) fn node_of(operated: Operated) -> Arc<MemoryNode> {
    Arc::new(MemoryNode { operated: Some(operated), ..MemoryNode::default() })
}

fn here() -> Value {
    json!({
        "multiaddr": ADDRESS, "protocols": ["/ipfs/ping/1.0.0", RELAY_PROTOCOL, store::PROTOCOL], "shards": [1, 3],
        "connected": "Connected", "agent": "nwaku-v0.38.1", "origin": "Discv5",
    })
}

fn away() -> Value {
    json!({
        "multiaddr": format!("/p2p/{AWAY}"), "protocols": [], "shards": [], "connected": "CannotConnect", "agent": "",
        "origin": "Static",
    })
}

fn scored() -> Value {
    let mut peer = here();
    peer["score"] = json!(1.5);
    peer
}

#[tokio::test]
async fn peers_are_listed_whole_and_by_what_they_are() {
    let node = node_of(operated());
    let mut serving = here();
    serving["protocols"] = json!([RELAY_PROTOCOL, store::PROTOCOL]);
    for (path, expected) in [
        ("/admin/v1/peers", json!([here(), away()])),
        (&format!("/admin/v1/peer/{HERE}"), here()),
        (&format!("/admin/v1/peer/{AWAY}"), away()),
        ("/admin/v1/peers/service", json!([serving])),
        ("/admin/v1/peers/connected", json!([here()])),
        ("/admin/v1/peers/connected/on/3", json!([here()])),
        ("/admin/v1/peers/connected/on/2", json!([])),
        ("/admin/v1/peers/relay", json!([{"shard": 3, "peers": [scored()]}, {"shard": 4, "peers": [scored()]}])),
        ("/admin/v1/peers/relay/on/4", json!({"shard": 4, "peers": [scored()]})),
        ("/admin/v1/peers/relay/on/9", json!({"shard": 9, "peers": []})),
        ("/admin/v1/peers/mesh", json!([{"shard": 3, "peers": [scored()]}, {"shard": 4, "peers": []}])),
        ("/admin/v1/peers/mesh/on/3", json!({"shard": 3, "peers": [scored()]})),
    ] {
        assert_eq!(get(&node, path).await.json(), expected, "{path}");
    }
}

#[tokio::test]
async fn numbers_stand_in_groups() {
    let stats = get(&node_of(operated()), "/admin/v1/peers/stats").await.json();
    assert_eq!(stats["Sum"], json!({"Total peers": 2}));
    let reach = json!({"Connected": 1, "NotConnected": 0, "CannotConnect": 1, "CanConnect": 0});
    assert_eq!(stats["By Connectedness"], reach);
    assert_eq!(stats["Relay peers"], json!({"3": 1, "4": 1, "Total relay peers": 2}));
    assert_eq!(stats["Mesh peers"], json!({"3": 1, "4": 0, "Total mesh peers": 2}));
    assert_eq!(
        (&stats["By Protocols"][RELAY_PROTOCOL], &stats["By Protocols"][store::PROTOCOL]),
        (&json!(1), &json!(1))
    );
}

#[tokio::test]
async fn peers_are_connected_to_in_order() {
    let node = node_of(operated());
    post(&node, "/admin/v1/peers", json!([ADDRESS, ADDRESS]).to_string()).await.is_ok();
    post(&node, "/admin/v1/peers", "[]").await.is_ok();
    let operated = node.operated.as_ref().expect("an operator");
    assert_eq!(*operated.connected.lock().expect("no test panics here"), [ADDRESS, ADDRESS]);
}

#[tokio::test]
async fn what_cannot_be_connected_to_is_named() {
    let failing = Operated { connect_error: Some("nobody is there".to_owned()), ..operated() };
    let node = node_of(failing);
    let body = json!([ADDRESS, ADDRESS]).to_string();
    let parts = ["Failed to connect to peer at index: 0", ADDRESS, "nobody is there"];
    post(&node, "/admin/v1/peers", body).await.refuses(400, &parts);
    for (body, parts) in [
        ("", &["Failed to decode request", "JSON array of multiaddresses"][..]),
        ("{}", &["Failed to decode request"]),
        ("[1]", &["Failed to decode request"]),
        (r#"["nonsense"]"#, &["Couldn't parse remote peer info", "nonsense"]),
        (r#"["/ip4/127.0.0.1/tcp/1"]"#, &["Couldn't parse remote peer info", "/p2p/"]),
    ] {
        post(&node, "/admin/v1/peers", body).await.refuses(400, parts);
    }
    let operated = node.operated.as_ref().expect("an operator");
    assert_eq!(operated.connected.lock().expect("no test panics here").len(), 1, "what is wrong is not dialled");
    let large = format!("[\"{}\"]", "x".repeat(64 * 1024));
    post(&node, "/admin/v1/peers", large).await.refuses(413, &["too large"]);
}

#[tokio::test]
async fn wrong_names_in_paths_are_refused() {
    let node = node_of(operated());
    for path in ["connected", "relay", "mesh"] {
        for shard in ["x", "-1", "65536", "1.5", "%ff"] {
            let answer = get(&node, &format!("/admin/v1/peers/{path}/on/{shard}")).await;
            answer.refuses(400, &["Invalid"]);
        }
    }
    get(&node, "/admin/v1/peer/nobody").await.refuses(400, &["Invalid argument", "nobody"]);
    let stranger = PeerId::random().to_string();
    get(&node, &format!("/admin/v1/peer/{stranger}")).await.refuses(404, &["Peer with ID", &stranger, "not found"]);
}

#[tokio::test]
async fn what_is_not_mounted_is_said() {
    let node = node_of(Operated { relay_off: true, subscribers: None, ..operated() });
    for path in ["relay", "mesh", "relay/on/3", "mesh/on/3"] {
        let answer = get(&node, &format!("/admin/v1/peers/{path}")).await;
        answer.refuses(503, &["Error: Relay Protocol is not mounted to the node", "--relay=true"]);
    }
    let answer = get(&node, "/admin/v1/filter/subscriptions").await;
    answer.refuses(400, &["Error: Filter Protocol is not mounted to the node", "--filter=true"]);
}

#[tokio::test]
async fn filter_subscribers_are_listed_with_what_they_want() {
    let expected = json!([{"peerId": HERE, "filterCriteria": [{"pubsubTopic": "/waku/2/rs/0/3", "contentTopic": "/a/1/b/proto"}]}]);
    assert_eq!(get(&node_of(operated()), "/admin/v1/filter/subscriptions").await.json(), expected);
}

#[tokio::test]
async fn the_log_level_is_one_of_a_list() {
    let node = node_of(operated());
    for (given, level) in [("TRACE", LogLevel::Trace), ("debug", LogLevel::Debug), ("Fatal", LogLevel::Fatal)] {
        post(&node, &format!("/admin/v1/log-level/{given}"), "").await.is_ok();
        let operated = node.operated.as_ref().expect("an operator");
        assert_eq!(*operated.log_level.lock().expect("no test panics here"), Some(level));
    }
    let answer = post(&node, "/admin/v1/log-level/loud", "").await;
    answer.refuses(400, &["Invalid log-level: loud", "TRACE, DEBUG, INFO, NOTICE, WARN, ERROR, FATAL"]);
    let node = node_of(Operated { log_error: Some("somebody else logs".to_owned()), ..operated() });
    post(&node, "/admin/v1/log-level/INFO", "").await.refuses(503, &["somebody else logs"]);
}
