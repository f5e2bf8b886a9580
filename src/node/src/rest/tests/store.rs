//! The node's own archive over HTTP: every parameter, pages, and wrong queries.

use std::sync::Arc;

use levada_wire::hash::{Hex, message_hash};
use serde_json::{Value, json};

use super::{MemoryNode, SHARD_0, get, post, subscribed};
use crate::rest::QueryError;

/// A node whose archive holds five messages: timestamps 1 to 5, payload and version the same number, content topic /a for the
/// odd ones and /b for the even ones.
async fn stored() -> Arc<MemoryNode> {
    let node = subscribed().await;
    for number in 1..=5_u8 {
        post(&node, &format!("/relay/v1/messages/{SHARD_0}"), message(number).to_string()).await.is_ok();
    }
    node
}

fn topic(number: u8) -> &'static str {
    if number % 2 == 1 { "/a" } else { "/b" }
}

fn message(number: u8) -> Value {
    let payload = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, [number]);
    json!({"payload": payload, "contentTopic": topic(number), "version": number, "timestamp": number})
}

fn hash(number: u8) -> String {
    let hash = message_hash("/waku/2/rs/0/0", &[number], topic(number), b"", number.into());
    format!("0x{}", Hex(&hash))
}

/// The numbers of the messages that a query finds, and its cursor.
async fn found(node: &Arc<MemoryNode>, query: &str) -> (Vec<u8>, Option<String>) {
    let answer = get(node, &format!("/store/v3/messages{query}")).await.json();
    let hashes = answer["messages"].as_array().expect("a list").iter().map(|message| &message["messageHash"]);
    let number = |wanted: &Value| (1..=5).find(|number| *wanted == hash(*number)).expect("a message of this test");
    (hashes.map(number).collect(), answer["paginationCursor"].as_str().map(str::to_owned))
}

#[tokio::test]
async fn an_answer_has_hashes_and_on_demand_messages() {
    let node = stored().await;
    let query = "/store/v3/messages?startTime=2&endTime=2";
    assert_eq!(
        get(&node, query).await.json(),
        json!({"requestId": "", "statusCode": 200, "statusDesc": "OK", "messages": [{"messageHash": hash(2)}]})
    );
    let mut expected = message(2);
    expected["ephemeral"] = json!(false);
    assert_eq!(
        get(&node, &format!("{query}&includeData=true")).await.json()["messages"],
        json!([{"messageHash": hash(2), "message": expected, "pubsubTopic": "/waku/2/rs/0/0"}])
    );
}

#[tokio::test]
async fn meta_is_there_when_the_message_has_it() {
    let node = subscribed().await;
    let body = r#"{"payload":"AQ==","contentTopic":"t","timestamp":7,"meta":"c3VwZXI="}"#;
    post(&node, &format!("/relay/v1/messages/{SHARD_0}"), body).await.is_ok();
    let answer = get(&node, "/store/v3/messages?includeData=true").await.json();
    assert_eq!(answer["messages"][0]["message"]["meta"], "c3VwZXI=");
}

#[tokio::test]
async fn each_parameter_narrows_the_answer() {
    let node = stored().await;
    let all = vec![1, 2, 3, 4, 5];
    for (query, numbers) in [
        ("", all.clone()),
        (
            "?includeData=&contentTopics=&startTime=&endTime=&hashes=&cursor=&ascending=&pageSize=&peerAddr=",
            all.clone(),
        ),
        ("?includeData=False", all.clone()),
        ("?startTime=2", vec![2, 3, 4, 5]),
        ("?startTime=2&endTime=4", vec![2, 3, 4]),
        ("?startTime=0&endTime=-5", all.clone()),
        ("?pubsubTopic=%2Fwaku%2F2%2Frs%2F0%2F0", all.clone()),
        ("?pubsubTopic=/waku/2/rs/0/1", vec![]),
        ("?contentTopics=%2Fa", vec![1, 3, 5]),
        ("?contentTopics=/a,%20/b,", all.clone()),
        ("?contentTopics=/c", vec![]),
        ("?pageSize=0", all.clone()),
        ("?pageSize=18446744073709551615", all),
        ("?pageSize=2", vec![1, 2]),
        ("?pageSize=2&ascending=true", vec![1, 2]),
        ("?pageSize=2&ascending=false", vec![4, 5]),
    ] {
        assert_eq!(found(&node, query).await.0, numbers, "{query}");
    }
    let hashes = format!("?hashes={},{}", hash(4), hash(2).trim_start_matches("0x"));
    assert_eq!(found(&node, &hashes).await.0, [2, 4]);
}

#[tokio::test]
async fn pages_follow_the_cursor_to_the_end_both_ways() {
    let node = stored().await;
    for (ascending, expected) in [(true, [vec![1, 2], vec![3, 4], vec![5]]), (false, [vec![4, 5], vec![2, 3], vec![1]])]
    {
        let mut cursor = String::new();
        for (page, numbers) in expected.into_iter().enumerate() {
            let query = format!("?pageSize=2&ascending={ascending}&cursor={cursor}");
            let (found, next) = found(&node, &query).await;
            assert_eq!((found, next.is_some()), (numbers, page < 2), "{query}");
            cursor = next.unwrap_or_default();
        }
    }
}

#[tokio::test]
async fn a_wrong_query_is_refused_by_naming_the_parameter() {
    let node = stored().await;
    let long = "a".repeat(5_000);
    let many_hashes = format!("hashes={}", vec![hash(1); 101].join(","));
    for (query, parts) in [
        ("startTime=x", &["startTime", "\"x\"", "nanoseconds"][..]),
        ("endTime=1.5", &["endTime", "\"1.5\""]),
        ("endTime=9223372036854775808", &["endTime", "2^63"]),
        ("pageSize=-1", &["pageSize", "\"-1\""]),
        ("pageSize=many", &["pageSize", "\"many\""]),
        ("ascending=up", &["ascending", "true or false"]),
        ("includeData=1", &["includeData", "true or false"]),
        ("hashes=0x12", &["waku message hash parsing error: invalid hash length: 1"]),
        ("cursor=0x12", &["invalid hash length: 1"]),
        ("hashes=xyz", &["Exception converting hex string to bytes", "xyz"]),
        ("cursor=123", &["Exception converting hex string to bytes", "123"]),
        (&format!("hashes={},0x", hash(1)), &["invalid hash length: 0"]),
        (&format!("cursor=0x{}", "00".repeat(32)), &["cursor"]),
        (&format!("cursor=0x{}", "ab".repeat(32)), &["cursor"]),
        (&many_hashes, &["101 message hashes"]),
        (&format!("pubsubTopic={long}"), &["5000 bytes"]),
        (&format!("startTime={long}"), &["startTime"]),
        ("contentTopic=/a", &["contentTopic is unknown", "contentTopics"]),
        ("xyzzy=1", &["xyzzy is unknown", "pageSize"]),
        ("contentTopics=/a&contentTopics=/b", &["contentTopics", "twice", "commas"]),
    ] {
        get(&node, &format!("/store/v3/messages?{query}")).await.refuses(400, parts);
    }
}

const PEER: &str = "/ip4/127.0.0.1/tcp/60001/p2p/16Uiu2HAmVFXtAfSj4EiR7mL2KvL4EE2wztuQgUSBoj2Jx2KeXFLN";

#[tokio::test]
async fn the_store_node_of_peer_addr_is_asked() {
    let node = stored().await;
    let escaped = PEER.replace('/', "%2F");
    assert_eq!(found(&node, &format!("?peerAddr={escaped}&pageSize=2")).await.0, [1, 2]);
    assert_eq!(*node.asked.lock().expect("no test panics here"), [PEER]);
    for wrong in ["nonsense", "/ip4/127.0.0.1/tcp/60001", "/ip4/127.0.0.1/udp/1/p2p/16Uiu2", "/dns4/x"] {
        get(&node, &format!("/store/v3/messages?peerAddr={wrong}")).await.refuses(400, &["peerAddr", wrong]);
    }
}

#[tokio::test]
async fn what_a_store_node_refuses_is_told_with_its_status() {
    let node = Arc::new(MemoryNode::default());
    let refused = QueryError::Refused { code: 300, text: "BAD_RESPONSE: archive error".into() };
    *node.query_error.lock().expect("no test panics here") = Some(refused);
    let expected =
        json!({"requestId": "", "statusCode": 300, "statusDesc": "BAD_RESPONSE: archive error", "messages": []});
    assert_eq!(get(&node, &format!("/store/v3/messages?peerAddr={PEER}")).await.json(), expected);
}

#[tokio::test]
async fn each_failure_of_the_archive_has_its_status() {
    for (error, status, part) in [
        (QueryError::NotMounted, 412, "--store=true"),
        (QueryError::Archive("the disk is full".into()), 500, "the disk is full"),
        (QueryError::Busy, 503, "try again"),
        (QueryError::TooManyRequests, 429, "Request rate limit reached"),
        (QueryError::NoAnswer, 500, "No history response received (timeout)"),
        (QueryError::Peer("it is away".into()), 500, "it is away"),
    ] {
        let node = Arc::new(MemoryNode { query_error: Some(error).into(), ..MemoryNode::default() });
        get(&node, "/store/v3/messages").await.refuses(status, &[part]);
    }
}
