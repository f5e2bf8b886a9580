//! What the archive takes, and what `GET /store/v3/messages` gives back.

use serde_json::{Value, json};

use crate::support::http::Client;
use crate::support::message::{MESSAGES, Message, TOPIC, unix_ns};
use crate::support::metrics::Scrape;
use crate::support::node::Node;
use crate::support::store::{all_hashes, hashes};

fn publish(client: &mut Client, message: &Message) {
    let answer = client.post(MESSAGES, message.json().to_string());
    assert_eq!((answer.status, answer.text()), (200, "OK"));
}

fn query(client: &mut Client, parameters: &str) -> Value {
    let answer = client.get(&format!("/store/v3/messages?{parameters}"));
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

#[test]
fn what_was_published_is_found_with_its_hash_and_all_its_fields() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(folder.path(), &[]);
    let mut client = Client::new(node.rest());
    let mut message = Message::new((0..=255).cycle().take(70_001).collect::<Vec<u8>>());
    message.meta = vec![9; 64];
    publish(&mut client, &message);
    let mut expected = message.json();
    expected["version"] = 0.into();
    expected["ephemeral"] = false.into();
    let page = query(&mut client, "includeData=true");
    assert_eq!(page["statusCode"], 200);
    assert_eq!(page["messages"], json!([{"messageHash": message.hash(), "message": expected, "pubsubTopic": TOPIC}]));
    let bare = query(&mut client, &format!("hashes={}", message.hash()));
    assert_eq!(bare["messages"], json!([{"messageHash": message.hash()}]));
}

#[test]
fn a_message_without_a_timestamp_gets_the_time_of_the_node() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(folder.path(), &[]);
    let mut client = Client::new(node.rest());
    let mut message = Message::new("no time");
    message.timestamp_ns = 0;
    let before = unix_ns();
    publish(&mut client, &message);
    let stored = query(&mut client, "includeData=true");
    message.timestamp_ns = stored["messages"][0]["message"]["timestamp"].as_i64().unwrap();
    assert!((before..=unix_ns()).contains(&message.timestamp_ns));
    assert_eq!(stored["messages"][0]["messageHash"], message.hash());
}

#[test]
fn a_message_published_twice_is_stored_once() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(folder.path(), &[]);
    let mut client = Client::new(node.rest());
    let message = Message::new("again");
    publish(&mut client, &message);
    publish(&mut client, &message);
    assert_eq!(all_hashes(node.rest()).into_iter().collect::<Vec<_>>(), [(message.hash(), 1)]);
    assert_eq!(client.get(MESSAGES).json().as_array().unwrap().len(), 1, "and relayed once");
}

#[test]
fn what_is_not_to_be_archived_is_relayed_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(folder.path(), &[]);
    let mut client = Client::new(node.rest());
    let (mut ephemeral, mut old, mut future) = (Message::new("e"), Message::new("o"), Message::new("f"));
    ephemeral.ephemeral = true;
    old.timestamp_ns -= 30_000_000_000;
    future.timestamp_ns += 90_000_000_000;
    for message in [&ephemeral, &old, &future] {
        publish(&mut client, message);
    }
    let relayed = client.get(MESSAGES).json();
    assert_eq!(relayed.as_array().unwrap().len(), 3, "{relayed}");
    assert_eq!(query(&mut client, "")["messages"], json!([]));
    let scrape = Scrape::of(node.metrics());
    assert_eq!(scrape.value("levada_archive_ephemeral_total"), 1);
    assert_eq!(scrape.value("waku_archive_errors_total{type=\"invalid_message_too_old\"}"), 1);
    assert_eq!(scrape.value("waku_archive_errors_total{type=\"invalid_message_future_timestamp\"}"), 1);
    assert_eq!(scrape.value("waku_archive_errors_total{type=\"insert_failure\"}"), 0);
}

#[test]
fn pages_follow_each_other_in_both_directions() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(folder.path(), &[]);
    let mut client = Client::new(node.rest());
    let start = unix_ns();
    let messages: Vec<Message> = (0..7)
        .map(|number| Message { timestamp_ns: start + number, ..Message::new(format!("page {number}")) })
        .collect();
    // The order of arrival is another than that of time.
    messages.iter().rev().for_each(|message| publish(&mut client, message));
    let by_time: Vec<String> = messages.iter().map(Message::hash).collect();
    for ascending in [true, false] {
        let (mut pages, mut cursor) = (Vec::new(), Some(String::new()));
        while let Some(at) = cursor {
            let page = query(&mut client, &format!("pageSize=3&ascending={ascending}&cursor={at}"));
            cursor = page["paginationCursor"].as_str().map(str::to_owned);
            pages.push(hashes(&page));
        }
        let sizes: Vec<usize> = pages.iter().map(Vec::len).collect();
        assert_eq!(sizes, [3, 3, 1]);
        if !ascending {
            // The pages go back in time; each by itself is in the order of time (13/WAKU2-STORE).
            pages.reverse();
        }
        assert_eq!(pages.concat(), by_time, "ascending={ascending}");
    }
    let window = format!("startTime={}&endTime={}", start + 2, start + 4);
    assert_eq!(hashes(&query(&mut client, &window)), by_time[2..=4]);
}

#[test]
fn wrong_queries_are_refused_with_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(folder.path(), &[]);
    let mut client = Client::new(node.rest());
    let unknown = format!("cursor=0x{}", "ab".repeat(32));
    for (parameters, part) in [
        ("hashes=0xabcd", "invalid hash length: 2"),
        ("hashes=0xzz", "Exception converting hex string to bytes"),
        ("pageSize=-1", "pageSize"),
        ("startTime=yesterday", "startTime"),
        ("includeDate=true", "did you mean includeData"),
        (unknown.as_str(), "cursor"),
    ] {
        let answer = client.get(&format!("/store/v3/messages?{parameters}"));
        assert_eq!(answer.status, 400, "{parameters}: {}", answer.text());
        assert!(answer.text().contains(part), "{parameters}: {}", answer.text());
    }
}

#[test]
fn the_archive_outlives_the_node() {
    let folder = tempfile::tempdir().unwrap();
    let message = Message::new("kept");
    let node = Node::start(folder.path(), &[]);
    publish(&mut Client::new(node.rest()), &message);
    assert_eq!(node.stop().code, Some(0));
    let node = Node::start(folder.path(), &[]);
    assert_eq!(all_hashes(node.rest()).into_keys().collect::<Vec<_>>(), [message.hash()]);
}
