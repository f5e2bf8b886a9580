//! Health, info and version, and what a request gets that no route serves.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::support::http::Client;
use crate::support::node::Node;
use crate::support::port;

#[test]
fn a_node_without_peers_is_ready() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(folder.path(), &[]);
    let health = Client::new(node.rest()).get("/health");
    assert_eq!((health.status, health.header("content-type")), (200, Some("application/json")));
    let health = health.json();
    assert_eq!(health["nodeHealth"], "READY");
    assert_eq!(health["connectionStatus"], "Disconnected");
    let protocols = health["protocolsHealth"].as_array().unwrap();
    for (name, why) in [
        ("Relay", "No connected peers"),
        ("Lightpush", "Node has no relay peers to fullfill push requests"),
        ("Legacy Lightpush", "Node has no relay peers to fullfill push requests"),
        ("Filter", "Relay is not ready, filter will not be able to sort out messages"),
        ("Lightpush Client", "No Lightpush service peer available yet"),
        ("Legacy Lightpush Client", "No Lightpush service peer available yet"),
        ("Filter Client", "No Filter service peer available yet"),
    ] {
        assert!(protocols.contains(&json!({name: "NOT_READY", "desc": why})), "{name} in {protocols:?}");
    }
    for name in ["Store", "Store Client", "Peer Exchange"] {
        assert!(protocols.contains(&json!({name: "READY"})), "{name} in {protocols:?}");
    }
    assert!(protocols.contains(&json!({"Rln Relay": "NOT_MOUNTED"})), "{protocols:?}");
}

#[test]
fn info_names_the_addresses_of_the_start_up_lines() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(folder.path(), &[]);
    let mut client = Client::new(node.rest());
    for path in ["/info", "/debug/v1/info"] {
        let info = client.get(path).json();
        let told: Vec<&str> = info["listenAddresses"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        assert_eq!(BTreeSet::from_iter(told), BTreeSet::from_iter(node.after("listening on ")), "{path}");
        assert!(info["enrUri"].is_string());
    }
    for path in ["/version", "/debug/v1/version"] {
        assert_eq!(client.get(path).text(), concat!("v", env!("CARGO_PKG_VERSION")), "{path}");
    }
}

#[test]
fn an_announced_address_comes_first_in_info() {
    let folder = tempfile::tempdir().unwrap();
    // An announced port cannot be one that the system has yet to choose.
    let port = port::free();
    let node = Node::start(folder.path(), &["--nat=extip:192.0.2.7", &format!("--tcp-port={port}")]);
    let info = Client::new(node.rest()).get("/info").json();
    let expected = format!("/ip4/192.0.2.7/tcp/{port}/p2p/{}", node.peer_id());
    assert_eq!(info["listenAddresses"][0], expected);
}

#[test]
fn what_no_route_serves_is_told_the_routes() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(folder.path(), &[]);
    let mut client = Client::new(node.rest());
    let absent = client.get("/relay/v1/messages//waku/2/rs/0/0");
    assert_eq!(absent.status, 404);
    assert!(absent.text().contains("percent-encoded"), "{}", absent.text());
    assert_eq!(client.post("/health", "").status, 405);
    assert_eq!(Client::new(node.metrics()).get("/").status, 200);
    assert_eq!(Client::new(node.metrics()).get("/nothing").status, 404);
}
