//! What REST says while the node starts and while it stops. What holds it up is in the test's hands.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::thread;

use serde_json::{Value, json};

use crate::support::held::Held;
use crate::support::http::Client;
use crate::support::message::{MESSAGES, Message};
use crate::support::node::{Node, ephemeral};
use crate::support::port;

/// The states of the protocols that are mounted.
fn mounted(health: &Value) -> Vec<(String, String)> {
    let protocols = health["protocolsHealth"].as_array().expect("a list").iter();
    let states =
        protocols.map(|protocol| protocol.as_object().and_then(|protocol| protocol.iter().next()).expect("a name"));
    let states = states.map(|(name, state)| (name.clone(), state.as_str().expect("a state").to_owned()));
    states.filter(|(_, state)| state != "NOT_MOUNTED").collect()
}

/// Asserts that the node and each of its protocols are in that state, whose names it gives.
fn all_are(health: &Value, state: &str) -> Vec<String> {
    assert_eq!(health["nodeHealth"], state, "{health}");
    let mounted = mounted(health);
    assert!(mounted.iter().all(|(_, of_protocol)| of_protocol == state), "{health}");
    mounted.into_iter().map(|(name, _)| name).collect()
}

#[test]
fn a_node_that_starts_says_so_and_refuses_the_rest_until_it_is_ready() {
    let folder = tempfile::tempdir().unwrap();
    // Nobody writes to it yet, so the node waits where it reads the peers that it has known.
    let peers = folder.path().join("levada-peers.txt");
    assert!(Command::new("mkfifo").arg(&peers).status().unwrap().success());
    let rest = SocketAddr::from(([127, 0, 0, 1], port::free()));
    let flags = [&*format!("--rest-port={}", rest.port()), "--peer-persistence=true", "--filter=false"];
    let mut command = ephemeral(folder.path(), &flags);
    let started = thread::spawn(move || Node::start_command(&mut command));
    while TcpStream::connect(rest).is_err() {
        assert!(!started.is_finished(), "the node has ended");
        thread::yield_now();
    }
    let mut client = Client::new(rest);
    let health = client.get("/health");
    assert_eq!((health.status, &health.json()["connectionStatus"]), (200, &json!("Disconnected")));
    let names = all_are(&health.json(), "INITIALIZING");
    assert!(names.contains(&"Relay".to_owned()) && names.contains(&"Store".to_owned()), "{names:?}");
    assert!(!names.contains(&"Filter".to_owned()), "it is switched off: {names:?}");
    assert_eq!(client.get("/version").text(), levada::rest::VERSION);
    for (method, path) in [
        ("GET", "/info"),
        ("GET", MESSAGES),
        ("POST", MESSAGES),
        ("DELETE", "/relay/v1/subscriptions"),
        ("GET", "/store/v3/messages"),
        ("GET", "/admin/v1/peers"),
        ("GET", "/nothing"),
    ] {
        let answer = client.request(method, path, b"[]").unwrap();
        let text =
            format!("{method} {path} is not available while the node is initializing; GET /health says when it is");
        assert_eq!((answer.status, answer.text()), (503, text.as_str()));
        assert_eq!(answer.header("retry-after"), Some("1"));
    }
    std::fs::OpenOptions::new().write(true).open(&peers).unwrap().write_all(b"\n").unwrap();
    let node = started.join().unwrap();
    assert_eq!(node.rest(), rest);
    // On the connection that was opened before.
    let health = client.get("/health").json();
    assert_eq!(health["nodeHealth"], "READY", "{health}");
    assert!(mounted(&health).iter().all(|(_, state)| state != "INITIALIZING"), "{health}");
    assert_eq!(client.post(MESSAGES, Message::new("now").json().to_string()).text(), "OK");
    assert_eq!(node.stop().code, Some(0));
}

#[test]
fn a_node_that_stops_says_so_until_all_is_stored() {
    let folder = tempfile::tempdir().unwrap();
    let mut node = Node::start(folder.path(), &[]);
    let (held, rest) = (Held::take(folder.path()), node.rest());
    let publisher = thread::spawn(move || {
        Client::new(rest).post(MESSAGES, Message::new("stuck").json().to_string()).text().to_owned()
    });
    let mut client = Client::new(rest);
    // The REST cache has it once it was relayed, which is the last thing before the archive.
    while client.get(MESSAGES).json() == json!([]) {}
    node.signal("TERM");
    node.await_log("stopping: what was accepted is being stored");
    // A new connection is taken too.
    let mut client = Client::new(rest);
    while client.get("/health").json()["nodeHealth"] != "SHUTTING_DOWN" {}
    all_are(&client.get("/health").json(), "SHUTTING_DOWN");
    let refused = client.post(MESSAGES, Message::new("too late").json().to_string());
    assert_eq!((refused.status, refused.text()), (503, "Failed to publish: the node is shutting down"));
    drop(held);
    assert_eq!(publisher.join().unwrap(), "OK", "it was accepted before");
    assert_eq!(node.ended().code, Some(0));
    assert!(TcpStream::connect(rest).is_err(), "nobody listens any more");
}
