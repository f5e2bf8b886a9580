//! A node with parts switched off says so.

use crate::support::http::Client;
use crate::support::message::{MESSAGES, Message};
use crate::support::node::Node;

#[test]
fn without_a_store_queries_are_answered_with_412() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(folder.path(), &["--store=false"]);
    let mut client = Client::new(node.rest());
    let answer = client.get("/store/v3/messages");
    assert_eq!(answer.status, 412);
    assert!(answer.text().contains("--store=true"), "{}", answer.text());
    assert_eq!(client.post(MESSAGES, Message::new("relayed").json().to_string()).text(), "OK");
    assert_eq!(client.get(MESSAGES).json().as_array().unwrap().len(), 1);
    let health = client.get("/health").json();
    assert_eq!(health["nodeHealth"], "READY");
    assert!(health["protocolsHealth"].to_string().contains("{\"Store\":\"NOT_MOUNTED\"}"), "{health}");
}

#[test]
fn without_relay_publishing_and_subscribing_say_that_it_is_off() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(folder.path(), &["--relay=false"]);
    let mut client = Client::new(node.rest());
    let published = client.post(MESSAGES, Message::new("nowhere").json().to_string());
    assert_eq!(published.status, 400);
    assert!(published.text().contains("relay is off"), "{}", published.text());
    let subscribed = client.post("/relay/v1/subscriptions", "[\"/waku/2/rs/0/0\"]");
    assert_eq!(subscribed.status, 400);
    assert!(subscribed.text().contains("--relay=true"), "{}", subscribed.text());
    assert_eq!(client.get(MESSAGES).status, 404);
    assert_eq!(client.get("/store/v3/messages").status, 200);
    let health = client.get("/health").json();
    assert_eq!(health["nodeHealth"], "READY");
    assert!(health["protocolsHealth"].to_string().contains("{\"Relay\":\"NOT_MOUNTED\"}"), "{health}");
}

#[test]
fn archives_in_memory_work_without_a_file() {
    for url in ["memory", "sqlite://:memory:"] {
        let folder = tempfile::tempdir().unwrap();
        let node = Node::start(folder.path(), &[&format!("--store-message-db-url={url}")]);
        let mut client = Client::new(node.rest());
        let message = Message::new("in memory");
        assert_eq!(client.post(MESSAGES, message.json().to_string()).text(), "OK");
        let page = client.get("/store/v3/messages").json();
        assert_eq!(page["messages"], serde_json::json!([{"messageHash": message.hash()}]), "{url}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "{url}");
    }
}
