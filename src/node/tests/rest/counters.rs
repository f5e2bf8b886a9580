//! The promise of the message path, read where an operator reads it: one decode and one hash per message.

use crate::support::http::Client;
use crate::support::message::{MESSAGES, Message};
use crate::support::metrics::Scrape;
use crate::support::node::Node;

const MESSAGES_PUBLISHED: u64 = 50;

#[test]
fn every_message_is_decoded_once_and_hashed_once() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(folder.path(), &["--workers=2"]);
    let mut client = Client::new(node.rest());
    let before = Scrape::of(node.metrics());
    let mut payload_bytes = 0;
    for number in 0..MESSAGES_PUBLISHED {
        let message = Message::new(vec![number as u8; 1 + 200 * number as usize]);
        payload_bytes += message.payload.len() as u64;
        assert_eq!(client.post(MESSAGES, message.json().to_string()).status, 200);
    }
    // Every consumer of the node has it now, and a reader of the cache takes it once more.
    assert_eq!(client.get(MESSAGES).status, 200);
    let after = Scrape::of(node.metrics());
    let grown = |series: &str| after.value(series) - before.value(series);
    for series in [
        "levada_message_decodes_total",
        "levada_message_hashes_total",
        "levada_message_ids_total",
        "levada_messages_validated_total{result=\"accepted\"}",
        "waku_node_messages_total{type=\"relay\"}",
        "waku_archive_messages{type=\"stored\"}",
    ] {
        assert_eq!(grown(series), MESSAGES_PUBLISHED, "{series}");
    }
    for series in ["levada_messages_validated_total{result=\"rejected\"}", "levada_messages_malformed_total"] {
        assert_eq!(grown(series), 0, "{series}");
    }
    // One copy into the slot, one into the pages of the archive.
    assert_eq!(grown("levada_payload_copies_total"), 2 * MESSAGES_PUBLISHED);
    assert_eq!(grown("levada_payload_copies_bytes_total"), 2 * payload_bytes);
}

#[test]
fn requests_are_counted_by_their_outcome() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(folder.path(), &[]);
    let mut client = Client::new(node.rest());
    client.get("/health");
    client.post(MESSAGES, "not JSON");
    client.get("/nothing");
    let scrape = Scrape::of(node.metrics());
    let counted = ["requests", "refused", "failed"].map(|name| scrape.value(&format!("levada_rest_{name}_total")));
    assert_eq!(counted, [3, 2, 0]);
}
