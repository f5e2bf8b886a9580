//! Two nodes of ours, one of which serves the other: what REST clients of the one ask, the other answers.

use std::path::Path;

use serde_json::json;

use super::client::until;
use super::filter::{CONTENT_TOPIC, publish};
use crate::support::http;
use crate::support::message::TOPIC;
use crate::support::metrics::Scrape;
use crate::support::node::Node;
use crate::support::port;

const SUBSCRIPTIONS: &str = "/filter/v2/subscriptions";
const MESSAGES: &str = "/filter/v2/messages/%2Flevada%2F1%2Ftest%2Fproto";
const MESSAGES_ON_SHARD: &str = "/filter/v2/messages/%2Fwaku%2F2%2Frs%2F0%2F0/%2Flevada%2F1%2Ftest%2Fproto";
const SUBSCRIBERS: &str = "waku_filter_subscriptions";
const NO_PEER: &str = "SERVICE_UNAVAILABLE: No suitable service peer & none discovered";
const NOT_FOUND: &str = "NOT_FOUND: peer has no subscriptions";

fn criteria() -> String {
    json!({"requestId": "7", "contentFilters": [CONTENT_TOPIC], "pubsubTopic": TOPIC}).to_string()
}

/// Status and text of an answer to request 7.
fn ask(rest: &mut http::Client, method: &str, path: &str, body: &str) -> (u16, String) {
    let answer = rest.request(method, path, body.as_bytes()).unwrap();
    let told = answer.json();
    assert_eq!(told["requestId"], "7", "{told}");
    (answer.status, told["statusDesc"].as_str().unwrap().to_owned())
}

fn ok() -> (u16, String) {
    (200, "OK".to_owned())
}

/// A node without relay that uses `of`, once they know each other.
async fn edge(folder: &Path, of: &Node, more: &[&str]) -> Node {
    let named = format!("--filternode={}", of.after("listening on ")[0]);
    let node = Node::start(folder, &[&["--relay=false", "--filter=false", "--store=false", &named][..], more].concat());
    let served = "waku_filter_peers";
    until(async || Scrape::of(node.metrics()).value(served) >= 1).await;
    node
}

/// The payloads that REST gives, as base64.
fn collected(rest: &mut http::Client, path: &str) -> Vec<String> {
    let messages = rest.get(path).json();
    messages.as_array().unwrap().iter().map(|message| message["payload"].as_str().unwrap().to_owned()).collect()
}

/// Waits for messages, of which each comes once.
async fn next(rest: &mut http::Client, path: &str, count: usize) -> Vec<String> {
    let mut all = Vec::new();
    until(async || {
        all.extend(collected(rest, path));
        all.len() >= count
    })
    .await;
    all
}

#[tokio::test]
async fn rest_subscribes_at_a_filter_node_and_collects_what_it_pushes() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let server = Node::start(folders[0].path(), &[]);
    let edge = edge(folders[1].path(), &server, &[]).await;
    let (mut at_server, mut rest) = (http::Client::new(server.rest()), http::Client::new(edge.rest()));

    let ping = "/filter/v2/subscriptions/7";
    assert_eq!(ask(&mut rest, "GET", ping, ""), (404, NOT_FOUND.to_owned()));
    assert_eq!(rest.get(MESSAGES).text(), format!("Not subscribed to topic: {CONTENT_TOPIC}"));
    assert_eq!(ask(&mut rest, "POST", SUBSCRIPTIONS, &criteria()), ok());
    assert_eq!(ask(&mut rest, "GET", ping, ""), ok());
    for (payload, path) in [(&b"one"[..], MESSAGES), (b"two", MESSAGES_ON_SHARD)] {
        publish(&mut at_server, payload);
        let message = next(&mut rest, path, 1).await;
        assert_eq!(message, [base64(payload)]);
    }
    // A push is counted a moment after it was handed over.
    until(async || Scrape::of(edge.metrics()).value("levada_filter_received_total") == 2).await;
    assert_eq!(Scrape::of(edge.metrics()).value("levada_message_decodes_total"), 2);
    // What follows is not collected before the end of the subscription.
    publish(&mut at_server, b"three");
    until(async || Scrape::of(edge.metrics()).value("levada_filter_received_total") == 3).await;
    assert_eq!(ask(&mut rest, "DELETE", SUBSCRIPTIONS, &criteria()), ok());
    assert_eq!(rest.get(MESSAGES).status, 400);
    assert_eq!(ask(&mut rest, "GET", ping, ""), (404, NOT_FOUND.to_owned()));

    assert_eq!(ask(&mut rest, "PUT", SUBSCRIPTIONS, &criteria()), ok());
    assert_eq!(ask(&mut rest, "DELETE", "/filter/v2/subscriptions/all", r#"{"requestId": "7"}"#), ok());
    let again = ask(&mut rest, "DELETE", "/filter/v2/subscriptions/all", r#"{"requestId": "7"}"#);
    assert_eq!((again, rest.get(MESSAGES).status), ((404, NOT_FOUND.to_owned()), 400));
}

#[tokio::test]
async fn a_message_that_comes_by_relay_and_by_filter_is_collected_once_and_decoded_once() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let server = Node::start(folders[0].path(), &[]);
    let named = format!("--filternode={}", server.after("listening on ")[0]);
    let node = Node::start(folders[1].path(), &[&named]);
    until(async || Scrape::of(node.metrics()).value("waku_filter_peers") == 1).await;
    let (mut at_server, mut rest) = (http::Client::new(server.rest()), http::Client::new(node.rest()));
    assert_eq!(ask(&mut rest, "POST", SUBSCRIPTIONS, &criteria()), ok());
    let by_relay = "levada_net_messages_in_total";
    // Until the two are in each other's mesh, messages come by filter alone.
    let (mut sent, mut all) = (0, Vec::new());
    until(async || {
        sent += 1;
        publish(&mut at_server, format!("{sent}").as_bytes());
        all.extend(collected(&mut rest, MESSAGES));
        Scrape::of(node.metrics()).value(by_relay) > 0
    })
    .await;
    publish(&mut at_server, b"last");
    sent += 1;
    until(async || Scrape::of(node.metrics()).value("levada_filter_received_total") == sent).await;
    let rest_of_them = sent as usize - all.len();
    all.extend(next(&mut rest, MESSAGES, rest_of_them).await);
    assert_eq!(all.len() as u64, sent);
    all.sort();
    all.dedup();
    assert_eq!(all.len() as u64, sent, "each once");
    let scrape = Scrape::of(node.metrics());
    assert!(scrape.value(by_relay) >= 1);
    assert!(collected(&mut rest, MESSAGES).is_empty());
}

#[tokio::test]
async fn a_filter_node_that_is_lost_is_replaced_by_another() {
    let folders = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let first = Node::start(folders[0].path(), &[]);
    let second = Node::start(folders[1].path(), &[]);
    let known = format!("--staticnode={}", second.after("listening on ")[0]);
    let edge = edge(folders[2].path(), &first, &[&known]).await;
    until(async || Scrape::of(edge.metrics()).value("waku_filter_peers") == 2).await;
    let mut rest = http::Client::new(edge.rest());
    assert_eq!(ask(&mut rest, "POST", SUBSCRIPTIONS, &criteria()), ok());
    let at = |node: &Node| Scrape::of(node.metrics()).value(SUBSCRIBERS);
    assert_eq!((at(&first), at(&second)), (1, 0), "the node that is named comes first");
    first.kill();
    until(async || at(&second) == 1).await;
    publish(&mut http::Client::new(second.rest()), b"from the other");
    assert_eq!(next(&mut rest, MESSAGES, 1).await, [base64(b"from the other")]);
    second.kill();
    until(async || ask(&mut rest, "GET", "/filter/v2/subscriptions/7", "") == (503, NO_PEER.to_owned())).await;
    assert_eq!(ask(&mut rest, "PUT", SUBSCRIPTIONS, &criteria()), (503, NO_PEER.to_owned()));
    assert_eq!(rest.get(MESSAGES).text(), "[]", "it is still wanted");
}

#[tokio::test]
async fn a_filter_node_that_restarts_is_subscribed_to_anew() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let flags = [format!("--tcp-port={}", port::free()), format!("--nodekey={}", "5a".repeat(32))];
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let server = Node::start(folders[0].path(), &flags);
    let edge = edge(folders[1].path(), &server, &[]).await;
    let mut rest = http::Client::new(edge.rest());
    assert_eq!(ask(&mut rest, "POST", SUBSCRIPTIONS, &criteria()), ok());
    assert_eq!(server.stop().code, Some(0));
    let server = Node::start(folders[0].path(), &flags);
    until(async || Scrape::of(server.metrics()).value(SUBSCRIBERS) == 1).await;
    publish(&mut http::Client::new(server.rest()), b"after the restart");
    assert_eq!(next(&mut rest, MESSAGES, 1).await, [base64(b"after the restart")]);
}

#[tokio::test]
async fn what_a_filter_node_could_not_grant_is_refused_here() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let server = Node::start(folders[0].path(), &["--filter-max-criteria=2"]);
    let edge = edge(folders[1].path(), &server, &[]).await;
    let mut rest = http::Client::new(edge.rest());
    let subscribe = |rest: &mut http::Client, topics: &[&str], pubsub_topic: Option<&str>| {
        let mut body = json!({"requestId": "7", "contentFilters": topics});
        if let Some(topic) = pubsub_topic {
            body["pubsubTopic"] = topic.into();
        }
        ask(rest, "POST", SUBSCRIPTIONS, &body.to_string())
    };
    let long = "/a/1/b/".to_owned() + &"c".repeat(1_024);
    let static_sharding = "BAD_REQUEST: Pubsub topic must be specified when static sharding is enabled";
    for (topics, pubsub_topic, text) in [
        (&[][..], Some(TOPIC), "BAD_REQUEST: contentFilters must name at least one content topic"),
        (&[""], Some(TOPIC), "BAD_REQUEST: a content topic has 1 to 1024 bytes"),
        (&[&*long], Some(TOPIC), "BAD_REQUEST: a content topic has 1 to 1024 bytes"),
        (&[CONTENT_TOPIC], None, static_sharding),
        (&[CONTENT_TOPIC], Some("/waku/2/rs/1/0"), "BAD_REQUEST: Invalid pubsubTopic, this node is in cluster 0"),
        (&[CONTENT_TOPIC], Some("x"), "BAD_REQUEST: Invalid pubsubTopic, give /waku/2/rs/CLUSTER/SHARD"),
    ] {
        assert_eq!(subscribe(&mut rest, topics, pubsub_topic), (400, text.to_owned()), "{topics:?}");
    }
    let full = "SERVICE_UNAVAILABLE: peer has reached maximum number of filter criteria";
    assert_eq!(subscribe(&mut rest, &["a", "b", "c"], Some(TOPIC)), (503, full.to_owned()));
    assert_eq!(rest.get("/filter/v2/messages/a").status, 400, "what was refused is not kept");
    assert_eq!(subscribe(&mut rest, &["a", "b"], Some(TOPIC)), ok());
    assert_eq!(rest.get("/filter/v2/messages/a").text(), "[]");
}

fn base64(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}
