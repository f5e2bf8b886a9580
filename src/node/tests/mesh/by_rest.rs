//! Goal: an operator drives nodes by REST alone. Method: two nodes and a light one that know nobody at their start.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::received;
use crate::support::http::Client;
use crate::support::message::{MESSAGES, Message};
use crate::support::node::Node;
use crate::support::port;

/// Everything comes long before this, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(45);

fn until(what: &str, mut so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !so() {
        assert!(start.elapsed() < PATIENCE, "in vain: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn operated(folder: &Path, flags: &[&str]) -> (Node, Client) {
    let node = Node::start(folder, &[&["--rest-admin=true"], flags].concat());
    let client = Client::new(node.rest());
    (node, client)
}

fn address(client: &mut Client) -> String {
    client.get("/info").json()["listenAddresses"][0].as_str().unwrap().to_owned()
}

/// The state of a protocol, and why it is not ready.
fn health(client: &mut Client, protocol: &str) -> (String, Option<String>) {
    let health = client.get("/health").json();
    let all = health["protocolsHealth"].as_array().unwrap();
    let of = all.iter().find(|entry| entry.get(protocol).is_some()).unwrap_or_else(|| panic!("{protocol} in {health}"));
    (of[protocol].as_str().unwrap().to_owned(), of["desc"].as_str().map(str::to_owned))
}

fn is_ready(client: &mut Client, protocol: &str) -> bool {
    health(client, protocol).0 == "READY"
}

fn connect(client: &mut Client, address: &str) {
    let answer = client.post("/admin/v1/peers", json!([address]).to_string());
    assert_eq!((answer.status, answer.text()), (200, "OK"));
}

/// Hashes of messages in the archive of the node at `peer`, as `client`'s node fetches them.
fn fetched(client: &mut Client, peer: &str) -> Vec<String> {
    let path = format!("/store/v3/messages?includeData=true&peerAddr={}", peer.replace('/', "%2F"));
    let page = client.get(&path);
    assert_eq!(page.status, 200, "{}", page.text());
    let page = page.json();
    assert_eq!(page["statusCode"], 200, "{page}");
    page["messages"].as_array().unwrap().iter().map(|row| row["messageHash"].as_str().unwrap().to_owned()).collect()
}

fn pushed(message: &Message) -> String {
    json!({"pubsubTopic": "/waku/2/rs/0/0", "message": message.json()}).to_string()
}

fn payload_of(message: &Message) -> String {
    message.json()["payload"].as_str().unwrap().to_owned()
}

#[test]
fn two_nodes_are_joined_published_at_queried_and_restarted() {
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let key = format!("--nodekey={}", "17".repeat(32));
    let port = format!("--tcp-port={}", port::free());
    let (first, mut at_first) = operated(folders[0].path(), &[&key, &port]);
    let (second, mut at_second) = operated(folders[1].path(), &[]);
    let home = address(&mut at_first);
    assert_eq!(health(&mut at_second, "Relay"), ("NOT_READY".to_owned(), Some("No connected peers".to_owned())));
    let lonely = Some("Node has no relay peers to fullfill push requests".to_owned());
    assert_eq!(health(&mut at_second, "Lightpush"), ("NOT_READY".to_owned(), lonely));
    connect(&mut at_second, &home);
    for protocol in ["Relay", "Lightpush", "Legacy Lightpush", "Filter", "Lightpush Client", "Filter Client"] {
        until(protocol, || is_ready(&mut at_second, protocol) && is_ready(&mut at_first, protocol));
    }
    // As the operator sees it: connected, relaying and in the mesh.
    let peers = at_second.get("/admin/v1/peers/connected").json();
    assert_eq!((peers.as_array().unwrap().len(), &peers[0]["multiaddr"]), (1, &json!(home)));
    until("the mesh", || {
        let mesh = at_second.get("/admin/v1/peers/mesh/on/0").json();
        mesh["peers"][0]["multiaddr"] == json!(home) && mesh["peers"][0]["score"].is_number()
    });
    let peer = at_second.get(&format!("/admin/v1/peer/{}", first.peer_id())).json();
    assert_eq!((&peer["connected"], &peer["origin"]), (&json!("Connected"), &json!("UnknownOrigin")));
    assert_eq!(at_second.get("/admin/v1/peers/connected/on/0").json().as_array().map(Vec::len), Some(1));
    assert_eq!(at_second.get("/admin/v1/peers/stats").json()["Mesh peers"]["0"], 1);

    let published = Message::new("published by REST");
    assert_eq!(at_first.post(MESSAGES, published.json().to_string()).text(), "OK");
    until("the message", || received(&mut at_second).contains(&payload_of(&published)));
    let [old, new] = [Message::new("pushed by version 1"), Message::new("pushed by version 3")];
    assert_eq!(at_second.post("/lightpush/v1/message", pushed(&old)).text(), "OK");
    assert_eq!(at_second.post("/lightpush/v3/message", pushed(&new)).json(), json!({"relayPeerCount": 1}));
    let wanted = [published.hash(), old.hash(), new.hash()];
    until("three messages at the store node", || {
        let hashes = fetched(&mut at_second, &home);
        wanted.iter().all(|hash| hashes.contains(hash))
    });
    let again = at_second.post("/lightpush/v3/message", pushed(&new));
    assert_eq!((again.status, again.json()), (400, json!({"statusDesc": "Dropping already-seen message"})));

    assert_eq!(first.stop().code, Some(0));
    until("the loss", || health(&mut at_second, "Relay").0 == "NOT_READY");
    assert_ne!(at_second.get(&format!("/admin/v1/peer/{}", peer_id(&home))).json()["connected"], "Connected");
    let (first, mut at_first) = operated(folders[0].path(), &[&key, &port]);
    connect(&mut at_second, &home);
    let hashes = fetched(&mut at_second, &home);
    assert!(wanted.iter().all(|hash| hashes.contains(hash)), "a restart loses nothing");
    until("the return", || is_ready(&mut at_first, "Relay") && is_ready(&mut at_second, "Relay"));
    drop((first, second));
}

fn peer_id(address: &str) -> &str {
    address.rsplit('/').next().unwrap()
}

#[test]
fn a_light_node_uses_the_services_of_others() {
    let folders = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let (_full, mut at_full) = operated(folders[0].path(), &[]);
    let (_other, mut at_other) = operated(folders[1].path(), &[]);
    let (_light, mut at_light) = operated(folders[2].path(), &["--relay=false", "--store=false"]);
    let home = address(&mut at_full);
    connect(&mut at_other, &home);
    for client in [&mut at_full, &mut at_other] {
        until("a subscriber", || client.get("/admin/v1/peers/relay/on/0").json()["peers"][0].is_object());
    }
    let alone = at_light.post("/lightpush/v3/message", pushed(&Message::new("alone")));
    assert_eq!(alone.status, 503);
    assert!(alone.text().contains("No suitable service peer & none discovered"), "{}", alone.text());
    let alone = at_light.get("/store/v3/messages");
    assert_eq!(alone.status, 412);
    assert!(alone.text().contains("No suitable service peer & none discovered"), "{}", alone.text());
    for (protocol, state) in [("Relay", "NOT_MOUNTED"), ("Store", "NOT_MOUNTED"), ("Store Client", "NOT_READY")] {
        assert_eq!(health(&mut at_light, protocol).0, state, "{protocol}");
    }
    assert_eq!(at_light.get("/admin/v1/peers/mesh").status, 503);

    connect(&mut at_light, &home);
    for protocol in ["Lightpush Client", "Legacy Lightpush Client", "Store Client", "Filter Client"] {
        until(protocol, || is_ready(&mut at_light, protocol));
    }
    let message = Message::new("by a light node");
    assert_eq!(at_light.post("/lightpush/v3/message", pushed(&message)).json(), json!({"relayPeerCount": 1}));
    until("the message", || received(&mut at_other).contains(&payload_of(&message)));
    let page = at_light.get("/store/v3/messages?includeData=true").json();
    let row = &page["messages"][0];
    assert_eq!((&row["messageHash"], &row["pubsubTopic"]), (&json!(message.hash()), &json!("/waku/2/rs/0/0")));
    assert_eq!(row["message"]["payload"], payload_of(&message));
    let empty = at_light.post("/lightpush/v1/message", pushed(&message));
    assert_eq!((empty.status, empty.text()), (503, "Failed to request a message push: not_published_to_any_peer"));
}

#[test]
fn the_record_follows_the_shards_that_are_joined_by_rest() {
    for discovery in ["true", "false"] {
        let folder = tempfile::tempdir().unwrap();
        let (_node, mut client) = operated(folder.path(), &[&format!("--discv5-discovery={discovery}")]);
        let shards = |client: &mut Client| -> (u64, Vec<u16>) {
            let info: Value = client.get("/info").json();
            let record: levada_discovery::Record = info["enrUri"].as_str().unwrap().parse().unwrap();
            let said = record.advertised().unwrap().shards.unwrap();
            (record.sequence(), said.indices.into_iter().collect())
        };
        let (before, _) = shards(&mut client);
        assert_eq!(client.post("/relay/v1/subscriptions", r#"["/waku/2/rs/0/7","/waku/2/rs/0/9"]"#).text(), "OK");
        until("two more shards", || shards(&mut client).1 == [0, 7, 9]);
        assert!(shards(&mut client).0 > before, "a record that says something else is a newer one");
        assert_eq!(client.delete("/relay/v1/subscriptions", r#"["/waku/2/rs/0/0","/waku/2/rs/0/9"]"#).text(), "OK");
        until("one shard", || shards(&mut client).1 == [7]);
    }
}

#[test]
fn the_log_level_changes_while_the_node_runs() {
    let folder = tempfile::tempdir().unwrap();
    let (mut node, mut client) = operated(folder.path(), &["--log-level=ERROR"]);
    assert_eq!(client.post("/admin/v1/log-level/DEBUG", "").text(), "OK");
    node.await_log("the log level was changed");
    assert_eq!(client.post(MESSAGES, Message::new("seen at DEBUG").json().to_string()).text(), "OK");
    node.await_log("published for a REST client");
    let unknown = client.post("/admin/v1/log-level/LOUD", "");
    assert_eq!(unknown.status, 400);
    assert!(unknown.text().starts_with("Invalid log-level: LOUD. Please specify one of TRACE"), "{}", unknown.text());
}
