//! Goal: the log tells no payload and no secret, one line per fact, and no call site floods it. Method: a node that logs all it can.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::support::http::Client;
use crate::support::message::{MESSAGES, Message};
use crate::support::metrics::Scrape;
use crate::support::node::Node;

const KEY: &str = "c0ffee11c0ffee22c0ffee33c0ffee44c0ffee55c0ffee66c0ffee77c0ffee88";
const PAYLOAD: &str = "a payload that no log may show";

fn is_secret(line: &str) -> bool {
    let payload =
        [PAYLOAD.to_owned(), STANDARD.encode(PAYLOAD), hex::encode(PAYLOAD), format!("{:?}", PAYLOAD.as_bytes())];
    payload.iter().any(|shown| line.contains(shown)) || line.to_lowercase().contains(KEY)
}

/// What the node has logged when it has published, relayed, stored and been queried for a message, and has refused one.
fn logged(format: &str) -> String {
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let flags = ["--log-level=TRACE", &format!("--log-format={format}"), &format!("--nodekey={KEY}")];
    let node = Node::start(folders[0].path(), &flags);
    let peer = Node::start(folders[1].path(), &[&format!("--staticnode={}", node.after("listening on ")[0])]);
    let (mut client, mut at_peer) = (Client::new(node.rest()), Client::new(peer.rest()));
    // Until it has come through the relay, which it does once.
    while at_peer.get(MESSAGES).json().as_array().is_none_or(Vec::is_empty) {
        let message = Message::new(PAYLOAD);
        assert_eq!(client.post(MESSAGES, message.json().to_string()).status, 200);
    }
    assert_eq!(client.get("/store/v3/messages?includeData=true").status, 200);
    let wrong = client.post(MESSAGES, format!(r#"{{"payload":"{}","contentTopic":""}}"#, STANDARD.encode(PAYLOAD)));
    assert_eq!(wrong.status, 400);
    node.stop().stderr
}

#[test]
fn neither_payloads_nor_keys_are_logged() {
    for format in ["TEXT", "JSON"] {
        let log = logged(format);
        let told = log.lines().find(|line| is_secret(line));
        assert_eq!(told, None, "{format}");
        assert!(log.contains("DEBUG") && log.lines().count() > 20, "it did log: {log}");
        if format == "JSON" {
            let is_object =
                |line: &str| serde_json::from_str::<serde_json::Value>(line).is_ok_and(|line| line.is_object());
            let other = log.lines().find(|line| !is_object(line));
            assert_eq!(other, None, "one object per line");
        } else {
            assert!(log.lines().any(|line| line.contains("topic=/waku/2/rs/0/0")), "key=value: {log}");
        }
    }
}

#[test]
fn a_call_site_does_not_flood_the_log() {
    const REQUESTS: u64 = 1_000;
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(folder.path(), &["--log-level=DEBUG", "--store=false"]);
    let mut client = Client::new(node.rest());
    for number in 0..REQUESTS {
        let message = Message::new(number.to_be_bytes());
        assert_eq!(client.post(MESSAGES, message.json().to_string()).text(), "OK");
    }
    let left_out = Scrape::of(node.metrics()).value("levada_log_lines_left_out_total");
    let log = node.stop().stderr;
    let lines = log.lines().filter(|line| line.contains("published for a REST client")).count() as u64;
    // Fifty in ten seconds; a slow machine takes several times ten.
    assert!(lines < REQUESTS && left_out >= REQUESTS - lines, "{lines} lines, {left_out} left out");
}
