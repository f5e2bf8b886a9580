//! Store v3: a node's archive read by another node, page by page.

use levada_net::store::{FetchedPage, StoreClientError, query};
use levada_wire::hash::{Digest, Hex, message_hash};
use levada_wire::waku::store::StoreRequest;
use tempfile::TempDir;

use super::client::Client;
use crate::support::http;
use crate::support::message::{MESSAGES, Message, TOPIC};
use crate::support::metrics::Scrape;
use crate::support::node::Node;

const MESSAGES_STORED: usize = 250;
const PAGE: u64 = 100;

/// A node that has archived messages, and the hashes of these in the order of time.
fn node() -> (TempDir, Node, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(folder.path(), &[]);
    let mut rest = http::Client::new(node.rest());
    let hashes = (0..MESSAGES_STORED).map(|number| {
        let message = Message::new(format!("message {number}"));
        assert_eq!(rest.post(MESSAGES, message.json().to_string()).text(), "OK");
        message.hash()
    });
    let hashes = hashes.collect();
    (folder, node, hashes)
}

fn hashes(page: &FetchedPage) -> Vec<String> {
    page.messages.iter().map(|message| format!("0x{}", Hex(&message.hash))).collect()
}

/// Reads page after page until one is empty, with the cursor that js-waku takes: the last message of a page, or the first when it walks
/// backward. Gives the pages.
async fn walk(client: &Client, forward: Option<bool>) -> Vec<FetchedPage> {
    let mut pages = Vec::new();
    let mut cursor: Option<Digest> = None;
    loop {
        let request = StoreRequest {
            request_id: "walk",
            include_data: true,
            pubsub_topic: Some(TOPIC),
            content_topics: vec!["/levada/1/test/proto"],
            forward,
            cursor,
            limit: Some(PAGE),
            ..StoreRequest::default()
        };
        let page = query(client.exchange(), &client.peer, &request).await.unwrap();
        let edge = if forward == Some(true) { page.messages.last() } else { page.messages.first() };
        cursor = edge.map(|message| message.hash);
        let is_last = page.messages.is_empty();
        pages.push(page);
        if is_last {
            return pages;
        }
    }
}

#[tokio::test]
async fn an_archive_is_read_across_in_both_directions_by_the_cursors_of_js_waku() {
    let (_folder, node, all) = node();
    let client = Client::of(&node).await;
    let forward = walk(&client, Some(true)).await;
    assert_eq!(forward.iter().map(|page| page.messages.len()).collect::<Vec<_>>(), [100, 100, 50, 0]);
    assert_eq!(forward.iter().flat_map(hashes).collect::<Vec<_>>(), all);
    assert_eq!(forward.iter().map(|page| page.cursor.is_some()).collect::<Vec<_>>(), [true, true, false, false]);
    for direction in [None, Some(false)] {
        let mut backward = walk(&client, direction).await;
        assert_eq!(backward.iter().map(|page| page.messages.len()).collect::<Vec<_>>(), [100, 100, 50, 0]);
        backward.reverse();
        assert_eq!(backward.iter().flat_map(hashes).collect::<Vec<_>>(), all, "each page is ascending in itself");
    }
    for (number, message) in forward.iter().flat_map(|page| &page.messages).enumerate() {
        let (data, spans, topic) = message.body.as_ref().unwrap();
        let read = spans.view(data);
        assert_eq!((read.payload, topic.as_str()), (format!("message {number}").as_bytes(), TOPIC));
        let hash = message_hash(topic, read.payload, read.content_topic, read.meta, read.timestamp);
        assert_eq!(hash, message.hash, "what is told is what the hash stands for");
    }
}

#[tokio::test]
async fn queries_that_have_no_page_say_why() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(folder.path(), &[]);
    let client = Client::of(&node).await;
    let asked = async |request: StoreRequest<'_>| query(client.exchange(), &client.peer, &request).await;
    let empty = asked(StoreRequest { request_id: "1", ..StoreRequest::default() }).await.unwrap();
    assert!(empty.messages.is_empty() && empty.cursor.is_none());
    let refusals = [
        (StoreRequest { cursor: Some([7; 32]), ..StoreRequest::default() }, 300, "DRIVER_ERROR: "),
        (
            StoreRequest { cursor: Some([0; 32]), ..StoreRequest::default() },
            300,
            "INVALID_QUERY: all zeroes cursor hash",
        ),
        (
            StoreRequest { content_topics: vec!["t"; 101], ..StoreRequest::default() },
            400,
            "more than 100 content topics",
        ),
        (
            StoreRequest { message_hashes: vec![[1; 32]; 101], ..StoreRequest::default() },
            400,
            "more than 100 message hashes",
        ),
    ];
    for (request, code, text) in refusals {
        match asked(request).await {
            Err(StoreClientError::Refused { code: told, text: why }) => {
                assert!(told == code && why.contains(text), "{told}: {why}");
            }
            other => panic!("{code} was due, not {other:?}"),
        }
    }
}

#[tokio::test]
async fn what_is_ephemeral_or_more_than_20_s_from_now_is_not_found_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(folder.path(), &[]);
    let mut rest = http::Client::new(node.rest());
    let ephemeral = Message { ephemeral: true, ..Message::new("ephemeral") };
    let old = Message { timestamp_ns: crate::support::message::unix_ns() - 21_000_000_000, ..Message::new("old") };
    let future =
        Message { timestamp_ns: crate::support::message::unix_ns() + 60_000_000_000, ..Message::new("future") };
    let kept = Message::new("kept");
    for message in [&ephemeral, &old, &future, &kept] {
        assert_eq!(rest.post(MESSAGES, message.json().to_string()).text(), "OK");
    }
    let client = Client::of(&node).await;
    let page = query(client.exchange(), &client.peer, &StoreRequest::default()).await.unwrap();
    assert_eq!(hashes(&page), [kept.hash()]);
    let scrape = Scrape::of(node.metrics());
    for kind in ["invalid_message_too_old", "invalid_message_future_timestamp"] {
        assert_eq!(scrape.value(&format!("waku_archive_errors_total{{type=\"{kind}\"}}")), 1);
    }
    for phase in ["query-db", "send-store-resp"] {
        assert!(scrape.has(&format!("waku_store_time_seconds{{phase=\"{phase}\"}}")));
    }
}

#[tokio::test]
async fn without_an_archive_there_is_no_store() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(folder.path(), &["--store=false"]);
    assert!(!node.after("protocol ").iter().any(|line| line.contains("store")), "{:?}", node.lines);
    let client = Client::of(&node).await;
    let refused = query(client.exchange(), &client.peer, &StoreRequest::default()).await;
    assert!(refused.unwrap_err().to_string().contains("does not serve"));
}
