//! Subscriptions, publishing, and the cache that is drained.

use std::sync::Arc;

use axum::body::Body;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{MemoryNode, SHARD_0, get, post, send, subscribed};
use crate::rest::message::body_bytes_max;
use crate::rest::{Options, PublishError, TopicError};

fn messages_path() -> String {
    format!("/relay/v1/messages/{SHARD_0}")
}

#[tokio::test]
async fn a_published_message_is_cached_once_and_drained() {
    let node = subscribed().await;
    let message = json!({
        "payload": "AQIDBEVEVFQFBgcI", "contentTopic": "/app/1/name/proto", "version": 2,
        "timestamp": 1_681_964_442_000_000_000_i64, "meta": "c3VwZXI=", "ephemeral": true, "proof": "cHJvb2Y=",
    });
    post(&node, &messages_path(), message.to_string()).await.is_ok();
    assert_eq!(get(&node, &messages_path()).await.json(), json!([message]));
    assert_eq!(get(&node, &messages_path()).await.json(), json!([]));
}

#[tokio::test]
async fn only_payload_and_content_topic_are_required_and_the_node_stamps() {
    let node = subscribed().await;
    for timestamp in ["", r#","timestamp":0"#] {
        let body = format!(r#"{{"payload":"AQ==","contentTopic":"t"{timestamp}}}"#);
        post(&node, &messages_path(), body).await.is_ok();
    }
    let answer = get(&node, &messages_path()).await.json();
    let expected = json!({
        "payload": "AQ==", "contentTopic": "t", "version": 0, "timestamp": MemoryNode::NOW_NS, "ephemeral": false,
        "proof": "",
    });
    assert_eq!(answer, json!([expected, expected]));
}

/// As with nwaku, whose decoder takes them all.
#[tokio::test]
async fn base64_is_read_with_and_without_padding_and_in_the_alphabet_for_urls() {
    let node = subscribed().await;
    for (payload, expected) in
        [("+/8=", "+/8="), ("+/8", "+/8="), ("-_8=", "+/8="), ("-_8", "+/8="), ("AQ", "AQ=="), ("AQID", "AQID")]
    {
        let body = json!({"payload": payload, "contentTopic": "t", "meta": payload, "proof": payload});
        post(&node, &messages_path(), body.to_string()).await.is_ok();
        let taken = get(&node, &messages_path()).await.json();
        assert_eq!(
            (&taken[0]["payload"], &taken[0]["meta"], &taken[0]["proof"]),
            (&json!(expected), &json!(expected), &json!(expected))
        );
    }
}

#[tokio::test]
async fn a_timestamp_keeps_all_its_64_bits() {
    let node = subscribed().await;
    for timestamp in [i64::MAX, i64::MIN, 1_681_964_442_000_000_001] {
        let body = format!(r#"{{"payload":"AQ==","contentTopic":"t","timestamp":{timestamp}}}"#);
        post(&node, &messages_path(), body).await.is_ok();
        assert_eq!(get(&node, &messages_path()).await.json()[0]["timestamp"], timestamp);
    }
}

/// Bodies that are refused, with what the refusal must name.
const WRONG_BODIES: &[(&str, &[&str])] = &[
    ("", &["EOF", "line 1"]),
    ("null", &["null", "message object"]),
    ("[]", &["sequence", "message object"]),
    ("\"text\"", &["message object"]),
    ("{", &["EOF"]),
    ("{}", &["`payload`", "missing"]),
    (r#"{"payload":"AQ=="}"#, &["`contentTopic`", "missing"]),
    (r#"{"contentTopic":"t"}"#, &["`payload`", "missing"]),
    (r#"{"payload":"","contentTopic":"t"}"#, &["`payload`", "empty"]),
    (r#"{"payload":"AQ==","contentTopic":""}"#, &["`contentTopic`", "empty"]),
    (r#"{"payload":"A","contentTopic":"t"}"#, &["`payload`", "base64"]),
    (r#"{"payload":"_/==","contentTopic":"t"}"#, &["`payload`", "base64"]),
    (r#"{"payload":"A_-=","contentTopic":"t"}"#, &["`payload`", "base64"]),
    (r#"{"payload":"AR==","contentTopic":"t"}"#, &["`payload`", "base64"]),
    (r#"{"payload":[1,2],"contentTopic":"t"}"#, &["`payload`", "base64", "sequence"]),
    (r#"{"payload":null,"contentTopic":"t"}"#, &["`payload`", "null"]),
    (r#"{"payload":"AQ==","contentTopic":7}"#, &["`contentTopic`", "integer `7`"]),
    (r#"{"payload":"AQ==","contentTopic":"t","payload":"AQ=="}"#, &["`payload`", "twice"]),
    (r#"{"payload":"AQ==","contentTopic":"t","ephemeral":true,"ephemeral":true}"#, &["`ephemeral`", "twice"]),
    (r#"{"payload":"AQ==","contentTopic":"t","timestamp":"1"}"#, &["`timestamp`", "string"]),
    (r#"{"payload":"AQ==","contentTopic":"t","timestamp":1.5}"#, &["`timestamp`", "1.5"]),
    (r#"{"payload":"AQ==","contentTopic":"t","timestamp":9223372036854775808}"#, &["`timestamp`", "i64"]),
    (r#"{"payload":"AQ==","contentTopic":"t","version":-1}"#, &["`version`", "-1"]),
    (r#"{"payload":"AQ==","contentTopic":"t","version":4294967296}"#, &["`version`", "u32"]),
    (r#"{"payload":"AQ==","contentTopic":"t","ephemeral":1}"#, &["`ephemeral`", "boolean"]),
    (r#"{"payload":"AQ==","contentTopic":"t","meta":"?"}"#, &["`meta`", "base64"]),
    (r#"{"payload":"AQ==","contentTopic":"t","proof":{}}"#, &["`proof`", "base64"]),
    (r#"{"payload":"AQ==","content_topic":"t"}"#, &["`content_topic`", "unknown", "`contentTopic`"]),
    (r#"{"paylaod":"AQ==","contentTopic":"t"}"#, &["`paylaod`", "`payload`", "column"]),
    (r#"{"xyzzy":1}"#, &["`xyzzy`", "unknown", "contentTopic"]),
    (r#"{"payload":"AQ==","contentTopic":"t"} trailing"#, &["trailing"]),
    ("{\"payload\":\"AQ==\",\"contentTopic\":\"\\ud800\"}", &["`contentTopic`"]),
];

#[tokio::test]
async fn a_wrong_body_is_refused_by_naming_the_field() {
    let node = subscribed().await;
    for (body, parts) in WRONG_BODIES {
        post(&node, &messages_path(), *body).await.refuses(400, parts);
        post(&node, "/relay/v1/auto/messages", *body).await.refuses(400, parts);
    }
    assert_eq!(get(&node, &messages_path()).await.json(), json!([]));
}

#[tokio::test]
async fn bytes_that_are_no_utf8_and_deep_nesting_are_refused() {
    let node = subscribed().await;
    post(&node, &messages_path(), b"{\"payload\":\"\xff\xff\"}".to_vec()).await.refuses(400, &["`payload`"]);
    post(&node, &messages_path(), "[".repeat(100_000)).await.refuses(400, &["message object"]);
    let nested = format!("{{\"payload\":{}", "{\"a\":".repeat(30_000));
    post(&node, &messages_path(), nested).await.refuses(400, &["`payload`"]);
}

#[tokio::test]
async fn what_is_echoed_of_a_long_value_is_bounded() {
    let node = subscribed().await;
    let long = "x".repeat(100_000);
    let body = format!(r#"{{"payload":"AQ==","contentTopic":"t","timestamp":"{long}"}}"#);
    post(&node, &messages_path(), body).await.refuses(400, &["`timestamp`", "column"]);
    post(&node, &messages_path(), format!("{{\"{long}\":1}}")).await.refuses(400, &["unknown"]);
    post(&node, "/relay/v1/subscriptions", format!("[\"{}\"]", &long[..60_000])).await.refuses(400, &["pubsub topic"]);
}

#[tokio::test]
async fn meta_has_at_most_64_bytes() {
    let node = subscribed().await;
    let body = |bytes: usize| {
        let meta = STANDARD.encode(vec![7; bytes]);
        json!({"payload": "AQ==", "contentTopic": "t", "meta": meta}).to_string()
    };
    post(&node, &messages_path(), body(64)).await.is_ok();
    post(&node, &messages_path(), body(65)).await.refuses(400, &["`meta`", "65 bytes", "64"]);
}

#[tokio::test]
async fn a_message_is_bounded_as_json_and_as_encoded() {
    let node = subscribed().await;
    let limit_bytes = Options::default().message_bytes_max;
    let body = |payload_bytes: usize| {
        json!({"payload": STANDARD.encode(vec![0; payload_bytes]), "contentTopic": "t"}).to_string()
    };
    let refused = "Message size exceeded maximum of 153600 bytes";
    post(&node, &messages_path(), body(limit_bytes - 1)).await.is_ok();
    post(&node, &messages_path(), body(limit_bytes)).await.refuses(400, &[refused]);
    post(&node, &messages_path(), vec![b' '; body_bytes_max(limit_bytes) + 1]).await.refuses(413, &[refused]);
    post(&node, &messages_path(), vec![b' '; 8 << 20]).await.refuses(413, &[refused]);
    let frames = futures::stream::repeat_with(|| Ok::<_, std::io::Error>(vec![b' '; 64 * 1024]));
    post(&node, &messages_path(), Body::from_stream(frames)).await.refuses(413, &[refused]);
    let topics = format!("[\"{}\"]", "x".repeat(64 * 1024));
    post(&node, "/relay/v1/subscriptions", topics).await.refuses(413, &["too large"]);
}

#[tokio::test]
async fn a_broken_transfer_is_refused() {
    let node = subscribed().await;
    let frames = futures::stream::iter([Ok("{"), Err(std::io::Error::other("reset"))]);
    post(&node, &messages_path(), Body::from_stream(frames)).await.refuses(400, &["could not be read"]);
}

#[tokio::test]
async fn a_topic_without_subscription_is_refused() {
    let node = Arc::new(MemoryNode::default());
    let body = r#"{"payload":"AQ==","contentTopic":"t"}"#;
    let refused = "Failed to publish: Node not subscribed to topic: /waku/2/rs/0/0";
    post(&node, &messages_path(), body).await.refuses(400, &[refused]);
    post(&node, "/relay/v1/messages/nonsense", body).await.refuses(400, &["not subscribed to topic: nonsense"]);
    get(&node, &messages_path()).await.refuses(404, &["Not subscribed to topic: /waku/2/rs/0/0"]);
    get(&node, "/relay/v1/messages/%ff").await.refuses(400, &["UTF-8"]);
}

#[tokio::test]
async fn subscriptions_begin_and_end() {
    let node = subscribed().await;
    let path = "/relay/v1/subscriptions";
    post(&node, path, r#"["/waku/2/rs/0/0","/waku/2/rs/0/1"]"#).await.is_ok();
    post(&node, path, "[]").await.is_ok();
    send(&node, "DELETE", path, r#"["/waku/2/rs/0/0"]"#).await.is_ok();
    send(&node, "DELETE", path, r#"["/waku/2/rs/0/0"]"#).await.is_ok();
    get(&node, &messages_path()).await.refuses(404, &[]);
    assert_eq!(get(&node, "/relay/v1/messages/%2Fwaku%2F2%2Frs%2F0%2F1").await.json(), json!([]));
}

#[tokio::test]
async fn wrong_topics_are_named_and_none_is_subscribed() {
    let node = Arc::new(MemoryNode::default());
    let path = "/relay/v1/subscriptions";
    let body = r#"["/waku/2/rs/0/0","/waku/2/default-waku/proto","nonsense"]"#;
    let refused = "Invalid pubsub topic(s): /waku/2/default-waku/proto, nonsense";
    post(&node, path, body).await.refuses(400, &[refused]);
    send(&node, "DELETE", path, body).await.refuses(400, &[refused]);
    get(&node, &messages_path()).await.refuses(404, &[]);
    for wrong in ["", "{}", "[1]", "\"/waku/2/rs/0/0\"", "[\"a\"", "[[\"a\"]]"] {
        post(&node, path, wrong).await.refuses(400, &["JSON array of"]);
        send(&node, "DELETE", "/relay/v1/auto/subscriptions", wrong).await.refuses(400, &["JSON array of"]);
    }
}

#[tokio::test]
async fn auto_routes_find_the_shard_by_the_content_topic() {
    let node = Arc::new(MemoryNode::default());
    let take = "/relay/v1/auto/messages/%2Fapp%2F1%2Fname%2Fproto";
    let message = |topic: &str| json!({"payload": "AQ==", "contentTopic": topic}).to_string();
    get(&node, take).await.refuses(404, &["Not subscribed to topic: /app/1/name/proto"]);
    get(&node, "/relay/v1/auto/messages/nonsense").await.refuses(404, &["Not subscribed to topic: nonsense"]);
    post(&node, "/relay/v1/auto/messages", message("/app/1/name/proto")).await.refuses(400, &["not subscribed"]);
    post(&node, "/relay/v1/auto/subscriptions", r#"["/app/1/name/proto"]"#).await.is_ok();
    post(&node, "/relay/v1/auto/messages", message("/app/1/name/proto")).await.is_ok();
    post(&node, "/relay/v1/auto/messages", message("/app/1/other/proto")).await.is_ok();
    post(&node, "/relay/v1/auto/messages", message("nonsense")).await.refuses(400, &["content topic", "nonsense"]);
    let taken = get(&node, take).await.json();
    let topics: Vec<&Value> =
        taken.as_array().expect("a list").iter().map(|message| &message["contentTopic"]).collect();
    assert_eq!(topics, ["/app/1/name/proto"]);
    send(&node, "DELETE", "/relay/v1/auto/subscriptions", r#"["/app/1/name/proto"]"#).await.is_ok();
    get(&node, take).await.refuses(404, &[]);
    let refused = "Invalid content topic(s): nonsense";
    post(&node, "/relay/v1/auto/subscriptions", r#"["nonsense"]"#).await.refuses(400, &[refused]);
}

#[tokio::test]
async fn head_does_not_drain() {
    let node = subscribed().await;
    post(&node, &messages_path(), r#"{"payload":"AQ==","contentTopic":"t"}"#).await.is_ok();
    let answer = send(&node, "HEAD", &messages_path(), "").await;
    assert_eq!((answer.status, answer.allow.as_deref()), (405, Some("GET, POST, OPTIONS")));
    assert_eq!(get(&node, &messages_path()).await.json().as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn each_failure_of_the_node_has_its_status() {
    let body = r#"{"payload":"AQ==","contentTopic":"t"}"#;
    for (error, status, part) in [
        (PublishError::Invalid("RLN proof is wrong".into()), 400, "Failed to publish: RLN proof is wrong"),
        (PublishError::Timeout, 500, "Failed to publish: timedout"),
        (PublishError::Busy, 503, "Failed to publish: the node is busy"),
        (PublishError::ArenaFull, 503, "Failed to publish: all message buffers are in use"),
        (PublishError::ShuttingDown, 503, "Failed to publish: the node is shutting down"),
    ] {
        let node = Arc::new(MemoryNode { publish_error: Some(error), ..MemoryNode::default() });
        post(&node, &messages_path(), body).await.refuses(status, &[part]);
    }
    for (error, status, part) in [
        (TopicError::Unavailable("this network has static shards".into()), 400, "static shards"),
        (TopicError::ShuttingDown, 503, "shutting down"),
    ] {
        let node = Arc::new(MemoryNode { topic_error: Some(error), ..MemoryNode::default() });
        post(&node, "/relay/v1/auto/subscriptions", r#"["/app/1/name/proto"]"#).await.refuses(status, &[part]);
        post(&node, "/relay/v1/auto/messages", body).await.refuses(status, &[part]);
    }
}
