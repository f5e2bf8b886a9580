//! Store-resume: a node that was off fetches what it has missed from a store node's archive.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::FutureExt;
use futures::future::BoxFuture;
use levada_net::NetHandle;
use levada_net::store::{Pages, StoreBody, StoreFailure, StorePage, StoreRow, serve};
use levada_wire::hash::{Hex, message_hash};
use levada_wire::waku::store::StoreRequest;
use tokio::sync::watch;

use super::client::{config, start, until};
use super::filter::Subscriber;
use crate::support::http;
use crate::support::message::{MESSAGES, Message, TOPIC, unix_ns};
use crate::support::metrics::Scrape;
use crate::support::node::Node;
use crate::support::store::all_hashes;

const SECOND: i64 = 1_000_000_000;
const ARCHIVED: &str = "levada_store_resume_messages_total{result=\"archived\"}";
const KNOWN: &str = "levada_store_resume_messages_total{result=\"known\"}";
const MISSING: &str = "levada_store_resume_missing_seconds";

fn publish(node: &Node, numbers: std::ops::Range<usize>) -> Vec<String> {
    let mut rest = http::Client::new(node.rest());
    let hashes = numbers.map(|number| {
        let message = Message::new(format!("message {number}"));
        assert_eq!(rest.post(MESSAGES, message.json().to_string()).text(), "OK");
        message.hash()
    });
    hashes.collect()
}

fn once(hashes: &[String]) -> HashMap<String, usize> {
    hashes.iter().map(|hash| (hash.clone(), 1)).collect()
}

#[tokio::test]
async fn a_node_that_was_off_has_what_it_missed_from_the_archive_of_another_and_nowhere_else() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let (mut all, mut before) = (Vec::new(), 0);
    for missed in [250, 30] {
        let server = Node::start(folders[0].path(), &[]);
        all.extend(publish(&server, before..before + missed));
        assert_eq!(server.stop().code, Some(0));
        // Once more, so that it has nothing to relay: what comes, comes from its archive.
        let server = Node::start(folders[0].path(), &[]);
        let named = format!("--storenode={}", server.after("listening on ")[0]);
        let mut node = Node::start(folders[1].path(), &[&named, "--store-resume"]);
        node.await_log("the archive is resumed");
        assert_eq!(all_hashes(node.rest()), once(&all));
        let scrape = Scrape::of(node.metrics());
        assert_eq!((scrape.value(ARCHIVED), scrape.value(MISSING)), (missed as u64, 0));
        assert!(scrape.value(KNOWN) <= before as u64, "no more than what came just before it went");
        for relayed in RELAYED {
            assert!(!scrape.has(relayed) || scrape.value(relayed) == 0, "{relayed}");
        }
        assert_eq!(http::Client::new(node.rest()).get(MESSAGES).text(), "[]");
        assert_eq!(node.stop().code, Some(0));
        before += missed;
    }
}

/// What counts messages that are relayed.
const RELAYED: [&str; 4] = [
    "levada_messages_validated_total{result=\"accepted\"}",
    "levada_net_messages_in_total",
    "levada_net_published_total",
    "waku_node_messages_total{type=\"relay\"}",
];

/// A store node of this test, which answers as many requests as it is let.
struct Server {
    net: NetHandle,
    asked: Arc<Mutex<Vec<i64>>>,
    let_in: watch::Sender<usize>,
}

struct Archive {
    rows: Vec<StoreRow>,
    asked: Arc<Mutex<Vec<i64>>>,
    let_in: watch::Receiver<usize>,
}

fn time(row: &StoreRow) -> i64 {
    row.body.as_ref().unwrap().timestamp
}

impl Pages for Archive {
    fn page(&self, request: &StoreRequest<'_>) -> BoxFuture<'static, Result<StorePage, StoreFailure>> {
        let (from, to, limit) =
            (request.time_start.unwrap(), request.time_end.unwrap(), request.limit.unwrap() as usize);
        let behind =
            request.cursor.map_or(0, |cursor| 1 + self.rows.iter().position(|row| row.hash == cursor).unwrap());
        let within = |row: &&StoreRow| (from..=to).contains(&time(row));
        let mut rows: Vec<StoreRow> = self.rows[behind..].iter().filter(within).take(limit + 1).cloned().collect();
        let goes_on = rows.len() > limit;
        rows.truncate(limit);
        let cursor = rows.last().filter(|_| goes_on).map(|row| row.hash);
        let mut asked = self.asked.lock().unwrap();
        asked.push(from);
        let (number, mut let_in) = (asked.len(), self.let_in.clone());
        async move {
            // The sender outlives the wait, or the connection does not.
            let _ = let_in.wait_for(|let_in| *let_in >= number).await;
            Ok(StorePage { rows, cursor, hold: Box::new(()) })
        }
        .boxed()
    }
}

impl Server {
    async fn with(rows: Vec<StoreRow>) -> Self {
        let (net, asked) = (start(config()).await, Arc::<Mutex<Vec<i64>>>::default());
        let (let_in, received) = watch::channel(0);
        serve(net.exchange(), Arc::new(Archive { rows, asked: asked.clone(), let_in: received }), None).unwrap();
        Self { net, asked, let_in }
    }

    /// The flag that names it.
    fn named(&self) -> String {
        format!("--storenode={}", self.net.listen_addresses()[0])
    }

    /// From which times it was asked for messages, request by request.
    fn asked(&self) -> Vec<i64> {
        self.asked.lock().unwrap().clone()
    }
}

/// Messages of an hour ago, and their hashes as REST shows them.
fn rows(count: i64) -> (Vec<StoreRow>, Vec<String>) {
    let from = unix_ns() - 3_600 * SECOND;
    let row = |number: i64| {
        let (payload, content_topic) = (format!("missed {number}"), "/levada/1/test/proto");
        let timestamp = from + number * 1_000_000;
        let hash = message_hash(TOPIC, payload.as_bytes(), content_topic, b"", timestamp);
        let body = StoreBody {
            pubsub_topic: TOPIC.to_owned(),
            content_topic: content_topic.to_owned(),
            payload: payload.into(),
            version: 0,
            timestamp,
            meta: Vec::new(),
        };
        StoreRow { hash, body: Some(body) }
    };
    let rows: Vec<StoreRow> = (0..count).map(row).collect();
    let hashes = rows.iter().map(|row| format!("0x{}", Hex(&row.hash))).collect();
    (rows, hashes)
}

/// Payloads that a node's REST cache gives out.
fn received(rest: &mut http::Client) -> Vec<String> {
    let messages = rest.get(MESSAGES).json();
    let payload = |message: &serde_json::Value| STANDARD.decode(message["payload"].as_str().unwrap()).unwrap();
    messages.as_array().unwrap().iter().map(|message| String::from_utf8(payload(message)).unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn peers_subscribers_and_rest_clients_see_nothing_of_what_is_resumed() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let (rows, mut hashes) = rows(150);
    let server = Server::with(rows).await;
    let cache = "--rest-relay-cache-capacity=10000";
    let node = Node::start(folders[0].path(), &[&server.named(), "--store-resume", cache]);
    let neighbour = format!("--staticnode={}", node.after("listening on ")[0]);
    let neighbour = Node::start(folders[1].path(), &[&neighbour, cache]);
    let mut subscriber = Subscriber::of(&node).await;
    subscriber.subscribe().await;
    let (mut here, mut there) = (http::Client::new(node.rest()), http::Client::new(neighbour.rest()));
    until(async || !server.asked().is_empty()).await;
    let mut publish = |payload: String| {
        let message = Message::new(payload);
        assert_eq!(here.post(MESSAGES, message.json().to_string()).text(), "OK");
        hashes.push(message.hash());
    };
    // The two are in each other's mesh once one of these arrives.
    let (mut at_neighbour, mut sent) = (Vec::new(), 0);
    until(async || {
        publish(format!("probe {sent}"));
        sent += 1;
        at_neighbour.extend(received(&mut there));
        !at_neighbour.is_empty()
    })
    .await;
    server.let_in.send_replace(2);
    until(async || Scrape::of(node.metrics()).value(ARCHIVED) == 150).await;
    publish("the last".to_owned());
    let is_last = |payloads: &[String]| payloads.last().is_some_and(|payload| payload == "the last");
    until(async || {
        at_neighbour.extend(received(&mut there));
        is_last(&at_neighbour)
    })
    .await;
    let (at_rest, mut pushed) = (received(&mut here), Vec::new());
    while !is_last(&pushed) {
        pushed.push(String::from_utf8(subscriber.next().await).unwrap());
    }
    assert!(is_last(&at_rest));
    assert_eq!((at_rest.len(), pushed.len()), (sent + 1, sent + 1));
    let missed = |payload: &String| payload.starts_with("missed");
    assert!(![at_neighbour, at_rest, pushed].iter().flatten().any(missed));
    assert_eq!(Scrape::of(node.metrics()).value(RELAYED[3]), sent as u64 + 1);
    until(async || all_hashes(node.rest()) == once(&hashes)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resume_that_was_interrupted_is_taken_up_by_the_next_start() {
    for killed in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let (rows, hashes) = rows(250);
        let server = Server::with(rows.clone()).await;
        let flags = [&*server.named(), "--store-resume"];
        let node = Node::start(folder.path(), &flags);
        server.let_in.send_replace(1);
        until(async || server.asked().len() == 2).await;
        assert_eq!(health(&node), ("READY".to_owned(), "SYNCHRONIZING".to_owned()));
        if killed {
            node.kill();
        } else {
            let ended = node.stop();
            assert!(ended.stderr.contains("the next start goes on"), "{}", ended.stderr);
            assert_eq!(ended.code, Some(0));
        }
        let mut node = Node::start(folder.path(), &flags);
        server.let_in.send_replace(usize::MAX);
        node.await_log("the archive is resumed");
        until(async || health(&node).1 == "READY").await;
        assert_eq!(all_hashes(node.rest()), once(&hashes));
        assert_eq!(server.asked()[2], time(&rows[99]) - 20 * SECOND, "it goes on where it was");
        assert_eq!(Scrape::of(node.metrics()).value(ARCHIVED), 150);
    }
}

/// What `/health` says of the node, and of its archive.
fn health(node: &Node) -> (String, String) {
    let health = http::Client::new(node.rest()).get("/health").json();
    let protocols = health["protocolsHealth"].as_array().unwrap();
    let store = protocols.iter().find_map(|protocol| protocol["Store"].as_str()).unwrap();
    (health["nodeHealth"].as_str().unwrap().to_owned(), store.to_owned())
}

struct Refusing;

impl Pages for Refusing {
    fn page(&self, _: &StoreRequest<'_>) -> BoxFuture<'static, Result<StorePage, StoreFailure>> {
        futures::future::ready(Err(StoreFailure::Unavailable)).boxed()
    }
}

/// All three tries take a minute, and are waited for when `LEVADA_DEEP=1` asks for the long run.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_whose_store_node_refuses_works_without_what_it_missed() {
    let is_deep = std::env::var_os("LEVADA_DEEP").is_some_and(|deep| deep == "1");
    let (folder, net) = (tempfile::tempdir().unwrap(), start(config()).await);
    serve(net.exchange(), Arc::new(Refusing), None).unwrap();
    let named = format!("--storenode={}", net.listen_addresses()[0]);
    let mut node = Node::start(folder.path(), &[&named, "--store-resume"]);
    node.await_log("resuming the archive failed; it is tried again");
    if is_deep {
        node.await_log("the node goes on, and the next start tries again");
        until(async || health(&node).1 == "READY").await;
    } else {
        assert_eq!(health(&node), ("READY".to_owned(), "SYNCHRONIZING".to_owned()));
    }
    let hashes = publish(&node, 0..3);
    assert_eq!(all_hashes(node.rest()), once(&hashes));
    let scrape = Scrape::of(node.metrics());
    assert!(scrape.value("levada_store_resume_failures_total") >= if is_deep { 3 } else { 1 });
    assert!(scrape.value(MISSING) >= 6 * 3_600);
    let ended = node.stop();
    assert_eq!(ended.code, Some(0));
    assert!(
        ended.stderr.contains("the store node refuses with status 503")
            && ended.stderr.contains(&net.peer_id().to_string())
    );
    assert!(!folder.path().join("levada.sqlite3.online").exists(), "the next start asks for it again");
}
