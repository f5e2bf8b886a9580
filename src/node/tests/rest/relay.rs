//! The relay routes: publishing, the cache that is emptied by reading, and subscriptions.

use serde_json::json;

use crate::support::http::Client;
use crate::support::message::{MESSAGES, Message};
use crate::support::node::Node;

#[test]
fn reading_the_cache_empties_it() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(folder.path(), &[]);
    let mut client = Client::new(node.rest());
    assert_eq!(client.get(MESSAGES).json(), json!([]));
    let mut message = Message::new("to be fetched");
    message.meta = b"meta".to_vec();
    let sent = client.post(MESSAGES, message.json().to_string());
    assert_eq!((sent.status, sent.text()), (200, "OK"));
    let mut expected = message.json();
    expected["version"] = 0.into();
    expected["ephemeral"] = false.into();
    expected["proof"] = "".into();
    assert_eq!(client.get(MESSAGES).json(), json!([expected]));
    assert_eq!(client.get(MESSAGES).json(), json!([]));
}

#[test]
fn the_cache_keeps_the_newest_messages() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(folder.path(), &["--rest-relay-cache-capacity=3", "--workers=1"]);
    let mut client = Client::new(node.rest());
    let messages: Vec<Message> = (0..5).map(|number| Message::new(format!("message {number}"))).collect();
    for message in &messages {
        assert_eq!(client.post(MESSAGES, message.json().to_string()).status, 200);
    }
    let kept = client.get(MESSAGES).json();
    let payloads: Vec<_> = kept.as_array().unwrap().iter().map(|message| message["payload"].clone()).collect();
    let newest: Vec<_> = messages[2..].iter().map(|message| message.json()["payload"].clone()).collect();
    assert_eq!(payloads, newest);
}

#[test]
fn a_topic_is_joined_and_left() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(folder.path(), &[]);
    let mut client = Client::new(node.rest());
    let (topics, messages) = (json!(["/waku/2/rs/0/7"]).to_string(), "/relay/v1/messages/%2Fwaku%2F2%2Frs%2F0%2F7");
    let refused = |client: &mut Client| {
        let sent = client.post(messages, Message::new("x").json().to_string());
        assert_eq!(sent.status, 400);
        assert_eq!(sent.text(), "Failed to publish: Node not subscribed to topic: /waku/2/rs/0/7");
        assert_eq!(client.get(messages).status, 404);
    };
    refused(&mut client);
    for _ in 0..2 {
        assert_eq!(client.post("/relay/v1/subscriptions", &topics).text(), "OK");
    }
    assert_eq!(client.post(messages, Message::new("y").json().to_string()).text(), "OK");
    assert_eq!(client.get(messages).json().as_array().unwrap().len(), 1);
    for _ in 0..2 {
        assert_eq!(client.delete("/relay/v1/subscriptions", &topics).text(), "OK");
    }
    refused(&mut client);
}

#[test]
fn content_topics_are_joined_by_their_shard() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(folder.path(), &["--cluster-id=16", "--num-shards-in-network=8", "--shard=0"]);
    let mut client = Client::new(node.rest());
    let message = Message::new("sharded");
    let (topics, path) = (json!([message.content_topic]), message.content_topic.replace('/', "%2F"));
    let messages = format!("/relay/v1/auto/messages/{path}");
    assert_eq!(client.get(&messages).status, 404);
    assert_eq!(client.post("/relay/v1/auto/subscriptions", topics.to_string()).text(), "OK");
    assert_eq!(client.post("/relay/v1/auto/messages", message.json().to_string()).text(), "OK");
    assert_eq!(client.get(&messages).json()[0]["payload"], message.json()["payload"]);
    assert_eq!(client.delete("/relay/v1/auto/subscriptions", topics.to_string()).text(), "OK");
    assert_eq!(client.get(&messages).status, 404);
}

#[test]
fn wrong_topics_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(folder.path(), &[]);
    let mut client = Client::new(node.rest());
    // The last is of another cluster.
    let topics = json!(["/waku/2/rs/0/1", "/waku/2/default-waku/proto", "/waku/2/rs/5/0"]);
    let answer = client.post("/relay/v1/subscriptions", topics.to_string());
    assert_eq!(answer.status, 400);
    assert!(answer.text().starts_with("Invalid pubsub topic(s): "), "{}", answer.text());
    assert!(answer.text().contains("/waku/2/default-waku/proto"), "{}", answer.text());
    let other_cluster = client.post("/relay/v1/subscriptions", json!(["/waku/2/rs/5/0"]).to_string());
    assert_eq!((other_cluster.status, other_cluster.text()), (400, "Invalid pubsub topic(s): /waku/2/rs/5/0"));
    // All or nothing: the good topic among the bad was not joined.
    assert_eq!(client.get("/relay/v1/messages/%2Fwaku%2F2%2Frs%2F0%2F1").status, 404);
    let static_sharding = client.post("/relay/v1/auto/subscriptions", json!(["/app/1/name/proto"]).to_string());
    assert!((400..600).contains(&static_sharding.status));
    assert!(static_sharding.text().contains("--num-shards-in-network"), "{}", static_sharding.text());
}

#[test]
fn wrong_bodies_get_one_sentence_and_the_connection_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(folder.path(), &[]);
    let mut client = Client::new(node.rest());
    let good = Message::new("good").json();
    let with = |name: &str, value: serde_json::Value| {
        let mut body = good.clone();
        body[name] = value;
        body.to_string()
    };
    for (body, part) in [
        (String::new(), "EOF"),
        ("{".to_owned(), "EOF"),
        ("[]".to_owned(), "a message object"),
        ("{}".to_owned(), "payload"),
        (with("payload", "".into()), "`payload` is empty"),
        (with("payload", "###".into()), "`payload`"),
        (with("contentTopic", "".into()), "`contentTopic` is empty"),
        (with("meta", "A".repeat(100).into()), "`meta`"),
        (with("timestamp", "now".into()), "`timestamp`"),
        (with("ephemerel", true.into()), "did you mean `ephemeral`"),
    ] {
        let answer = client.post(MESSAGES, &body);
        assert_eq!(answer.status, 400, "{body}: {}", answer.text());
        assert!(answer.text().contains(part) && answer.text().lines().count() == 1, "{body}: {}", answer.text());
    }
    assert_eq!(client.post(MESSAGES, good.to_string()).text(), "OK");
}

#[test]
fn a_message_over_the_limit_is_refused_by_size_and_one_at_the_limit_goes_through() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(folder.path(), &[]);
    let mut client = Client::new(node.rest());
    let refusal = "Failed to publish: Message size exceeded maximum of 153600 bytes";
    // The encoding has all seven fields: payload and content topic with their tags and lengths, then version, timestamp,
    // meta, proof and ephemeral.
    let mut largest = Message::new(vec![7; 153_600]);
    let overhead = 4 + 2 + largest.content_topic.len() + 2 + 10 + 2 + 3 + 3;
    // The frame around the message takes 24 bytes on this topic.
    largest.payload.truncate(153_576 - overhead);
    assert_eq!(client.post(MESSAGES, largest.json().to_string()).text(), "OK");
    largest.payload.push(7);
    let over = client.post(MESSAGES, largest.json().to_string());
    assert_eq!(over.status, 400);
    assert!(over.text().contains("153577 bytes but at most 153576"), "{}", over.text());
    largest.payload.resize(153_601 - overhead, 7);
    let over = client.post(MESSAGES, largest.json().to_string());
    assert_eq!((over.status, over.text()), (400, refusal));
    let far_over = client.post(MESSAGES, Message::new(vec![7; 600_000]).json().to_string());
    assert_eq!(far_over.text(), refusal);
    assert!((400..500).contains(&far_over.status), "{}", far_over.status);
    assert_eq!(client.get("/health").status, 200);
}
