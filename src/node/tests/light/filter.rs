//! Filter: clients subscribe to a node, and what is published there is pushed to them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use futures::{AsyncReadExt, AsyncWriteExt};
use levada::bench_service::{Order, run};
use levada_net::exchange::RequestError;
use levada_net::{NetConfig, NodeKey};
use levada_wire::varint;
use levada_wire::waku::filter::{
    FilterSubscribeRequest, FilterSubscribeResponse, FilterSubscribeType, MessagePush, PUSH_PROTOCOL,
    RESPONSE_BYTES_MAX, SUBSCRIBE_PROTOCOL,
};
use levada_wire::waku::message::{Message as Decoded, decode};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::client::{Client, config, start, until};
use crate::support::http;
use crate::support::message::{MESSAGES, Message, TOPIC};
use crate::support::metrics::Scrape;
use crate::support::node::Node;

pub const CONTENT_TOPIC: &str = "/levada/1/test/proto";
const SUBSCRIBERS: &str = "waku_filter_subscriptions";

/// A client that takes pushes.
pub struct Subscriber {
    pub client: Client,
    pushes: UnboundedReceiver<Vec<u8>>,
    /// Push streams that the node has opened.
    streams: Arc<AtomicUsize>,
}

impl Subscriber {
    pub async fn of(node: &Node) -> Self {
        Self::with_key(node, NodeKey::generate()).await
    }

    async fn with_key(node: &Node, key: NodeKey) -> Self {
        let client = connect(node, key).await;
        let (sender, pushes) = unbounded_channel();
        let streams = Arc::new(AtomicUsize::new(0));
        let opened = streams.clone();
        let accept = client.exchange().accept(PUSH_PROTOCOL, 100, move |_, mut stream| {
            opened.fetch_add(1, Relaxed);
            let sender = sender.clone();
            Box::pin(async move {
                let (mut bytes, mut read) = (Vec::new(), vec![0; 1 << 16]);
                while let Ok(count @ 1..) = stream.read(&mut read).await {
                    bytes.extend_from_slice(&read[..count]);
                    while let Ok(Some(body)) = varint::decode_frame(&bytes, u32::MAX) {
                        sender.send(body.of(&bytes).to_vec()).unwrap();
                        bytes.drain(..body.end());
                    }
                }
            })
        });
        accept.unwrap();
        Self { client, pushes, streams }
    }

    /// Asks the node; gives the status and the text of its response.
    pub async fn ask(&self, kind: FilterSubscribeType, content_topics: &[&str]) -> (u32, String) {
        let pubsub_topic = (!content_topics.is_empty()).then_some(TOPIC);
        let (code, text, request_id) = ask(&self.client, kind, pubsub_topic, content_topics).await.unwrap();
        assert!(request_id == "r" || code == 429, "{request_id}");
        (code, text)
    }

    pub async fn subscribe(&self) {
        assert_eq!(self.ask(FilterSubscribeType::Subscribe, &[CONTENT_TOPIC]).await, (200, "OK".to_owned()));
    }

    /// The payload of the next push.
    pub async fn next(&mut self) -> Vec<u8> {
        let push = tokio::time::timeout(super::client::PATIENCE, self.pushes.recv()).await.expect("it came in time");
        let bytes = push.unwrap();
        let push = MessagePush::decode(&bytes).unwrap();
        assert_eq!(push.pubsub_topic, TOPIC);
        let data = push.message.of(&bytes);
        let Decoded { payload, content_topic, .. } = decode(data).unwrap().view(data);
        assert_eq!(content_topic, CONTENT_TOPIC);
        payload.to_vec()
    }
}

/// A client of the node that has this key.
async fn connect(node: &Node, key: NodeKey) -> Client {
    let address: levada_net::Multiaddr = node.after("listening on ")[0].parse().unwrap();
    let net = start(NetConfig { key, static_peers: vec![address], ..config() }).await;
    let peer = node.peer_id().parse().unwrap();
    until(async || net.exchange().is_connected(&peer)).await;
    Client { net, peer }
}

async fn ask(
    client: &Client,
    kind: FilterSubscribeType,
    pubsub_topic: Option<&str>,
    content_topics: &[&str],
) -> Result<(u32, String, String), RequestError> {
    let mut request = Vec::new();
    let content_topics = content_topics.to_vec();
    FilterSubscribeRequest { request_id: "r", kind, pubsub_topic, content_topics }.encode(&mut request);
    let answer = client.exchange().request(&client.peer, SUBSCRIBE_PROTOCOL, &[&request], RESPONSE_BYTES_MAX).await?;
    let response = FilterSubscribeResponse::decode(&answer).unwrap();
    Ok((response.status_code, response.status_desc.unwrap().to_owned(), response.request_id.to_owned()))
}

/// Publishes a message by REST.
pub fn publish(rest: &mut http::Client, payload: &[u8]) {
    assert_eq!(rest.post(MESSAGES, Message::new(payload).json().to_string()).text(), "OK");
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_are_pushed_in_order_over_one_stream_until_unsubscribed() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(folder.path(), &[]);
    let (mut rest, mut one, mut other) =
        (http::Client::new(node.rest()), Subscriber::of(&node).await, Subscriber::of(&node).await);
    one.subscribe().await;
    other.subscribe().await;
    let payloads: Vec<Vec<u8>> = [1, 1_000, 120_000].map(|bytes| (0..bytes).map(|at| at as u8).collect()).into();
    for payload in &payloads {
        publish(&mut rest, payload);
    }
    for payload in &payloads {
        assert_eq!((&one.next().await, &other.next().await), (payload, payload));
    }
    let unsubscribed = one.ask(FilterSubscribeType::Unsubscribe, &[CONTENT_TOPIC]).await;
    assert_eq!(unsubscribed, (200, "OK".to_owned()));
    publish(&mut rest, b"for the other");
    assert_eq!(other.next().await, b"for the other");
    one.subscribe().await;
    publish(&mut rest, b"for both");
    assert_eq!((one.next().await, other.next().await), (b"for both".to_vec(), b"for both".to_vec()));
    assert_eq!(other.streams.load(Relaxed), 1, "one stream for all pushes");
    // A push is counted, and its slot is free, a moment after its last byte was read.
    until(async || {
        let scrape = Scrape::of(node.metrics());
        scrape.value("levada_filter_pushes_total") == 9 && scrape.value("levada_filter_kept_bytes") == 0
    })
    .await;
    let scrape = Scrape::of(node.metrics());
    assert_eq!(scrape.value("levada_filter_encodes_total"), 5);
    assert_eq!((scrape.value(SUBSCRIBERS), scrape.value("waku_filter_requests_total{type=\"SUBSCRIBE\"}")), (2, 3));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_is_published_again_is_pushed_once_and_how_long_it_took_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(folder.path(), &[]);
    let (mut rest, mut subscriber) = (http::Client::new(node.rest()), Subscriber::of(&node).await);
    subscriber.subscribe().await;
    let twice = Message::new("twice").json().to_string();
    for _ in 0..2 {
        assert_eq!(rest.post(MESSAGES, &twice).text(), "OK");
    }
    publish(&mut rest, b"behind it");
    assert_eq!((subscriber.next().await, subscriber.next().await), (b"twice".to_vec(), b"behind it".to_vec()));
    // The counters follow the last byte.
    let handled = "waku_filter_handle_message_duration_seconds_count";
    until(async || Scrape::of(node.metrics()).value(handled) == 2).await;
    let scrape = Scrape::of(node.metrics());
    let le = "waku_filter_handle_message_duration_seconds_bucket{le=\"+Inf\"}";
    assert_eq!(scrape.value(le), 2);
    assert_eq!(scrape.value("waku_filter_request_duration_seconds_count{type=\"SUBSCRIBE\"}"), 1);
    let service = "{service=\"/vac/waku/filter-subscribe/2.0.0-beta1\"}";
    let answered = format!("waku_service_request_handling_duration_seconds_count{service}");
    until(async || Scrape::of(node.metrics()).value(&answered) == 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_status_as_nwaku_words_it() {
    use FilterSubscribeType::{Subscribe, SubscriberPing, Unsubscribe, UnsubscribeAll};
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(folder.path(), &["--filter-max-peers-to-serve=1", "--filter-max-criteria=2"]);
    let (one, other) = (Subscriber::of(&node).await, Subscriber::of(&node).await);
    let not_found = (404, "NOT_FOUND: peer has no subscriptions".to_owned());
    for (kind, topics) in [(SubscriberPing, &[][..]), (Unsubscribe, &[CONTENT_TOPIC]), (UnsubscribeAll, &[])] {
        assert_eq!(one.ask(kind, topics).await, not_found, "{kind:?}");
    }
    let incomplete = (400, "BAD_REQUEST: pubsubTopic and contentTopics must be specified".to_owned());
    assert_eq!((one.ask(Subscribe, &[]).await, one.ask(Unsubscribe, &[]).await), (incomplete.clone(), incomplete));
    let too_many = (400, "BAD_REQUEST: exceeds maximum content topics: 100".to_owned());
    assert_eq!(one.ask(Subscribe, &["/a/1/b/proto"; 101]).await, too_many);
    one.subscribe().await;
    let peer_full = (503, "SERVICE_UNAVAILABLE: peer has reached maximum number of filter criteria".to_owned());
    assert_eq!(one.ask(Subscribe, &["/a/1/b/proto", "/a/1/c/proto"]).await, peer_full);
    let node_full = (503, "SERVICE_UNAVAILABLE: node has reached maximum number of subscriptions: 1".to_owned());
    assert_eq!(other.ask(Subscribe, &[CONTENT_TOPIC]).await, node_full);
    assert_eq!(one.ask(SubscriberPing, &[]).await, (200, "OK".to_owned()));
    assert_eq!(one.ask(UnsubscribeAll, &[]).await, (200, "OK".to_owned()));
    assert_eq!(one.ask(SubscriberPing, &[]).await, not_found);
    // nwaku's default: 30 requests a minute for each peer, of which eleven are used up; `other` has made one.
    for _ in 11..30 {
        assert_eq!(one.ask(SubscriberPing, &[]).await.0, 404);
    }
    let limited = ask(&one.client, SubscriberPing, None, &[]).await.unwrap();
    let text = "filter request rejected due rate limit exceeded";
    assert_eq!(limited, (429, text.to_owned(), "N/A".to_owned()));
    assert_eq!(other.ask(SubscriberPing, &[]).await, not_found, "another peer is not limited by that");
    let errors = Scrape::of(node.metrics());
    let rejected = "waku_service_requests_total{service=\"/vac/waku/filter-subscribe/2.0.0-beta1\",state=\"rejected\"}";
    assert_eq!(errors.value(rejected), 1);
    assert_eq!(errors.value("waku_filter_errors_total{type=\"service_unavailable\"}"), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_filter_nobody_is_served() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(folder.path(), &["--filter=false"]);
    let client = Client::of(&node).await;
    let refused = ask(&client, FilterSubscribeType::SubscriberPing, None, &[]).await.unwrap_err();
    assert!(matches!(refused, RequestError::Unsupported { .. }), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_silent_for_too_long_is_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(folder.path(), &["--filter-subscription-timeout=0.5"]);
    let subscriber = Subscriber::of(&node).await;
    subscriber.subscribe().await;
    until(async || Scrape::of(node.metrics()).value(SUBSCRIBERS) == 0).await;
    let pinged = subscriber.ask(FilterSubscribeType::SubscriberPing, &[]).await;
    assert_eq!(pinged, (404, "NOT_FOUND: peer has no subscriptions".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn who_vanishes_and_returns_within_the_time_is_pushed_to_again() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(folder.path(), &[]);
    let mut rest = http::Client::new(node.rest());
    let mut stays = Subscriber::of(&node).await;
    stays.subscribe().await;
    let key = NodeKey::generate();
    let mut leaves = Subscriber::with_key(&node, key.clone()).await;
    leaves.subscribe().await;
    publish(&mut rest, b"before");
    assert_eq!((stays.next().await, leaves.next().await), (b"before".to_vec(), b"before".to_vec()));
    leaves.client.net.shutdown();
    until(async || Scrape::of(node.metrics()).value("libp2p_peers") == 1).await;
    publish(&mut rest, b"while it was gone");
    assert_eq!(stays.next().await, b"while it was gone");
    let unreachable = "waku_filter_errors_total{type=\"push_unreachable\"}";
    until(async || Scrape::of(node.metrics()).value(unreachable) == 1).await;
    let mut returned = Subscriber::with_key(&node, key).await;
    assert_eq!(returned.ask(FilterSubscribeType::SubscriberPing, &[]).await, (200, "OK".to_owned()));
    publish(&mut rest, b"after");
    assert_eq!((stays.next().await, returned.next().await), (b"after".to_vec(), b"after".to_vec()));
}

#[tokio::test(flavor = "multi_thread")]
async fn who_never_reads_costs_nobody_else_anything() {
    const MESSAGES_SENT: usize = 200;
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(folder.path(), &["--store=false"]);
    let mut rest = http::Client::new(node.rest());
    let paused = connect(&node, NodeKey::generate()).await;
    // Accepts the stream, keeps it, and never reads it.
    let accept = paused.exchange().accept(PUSH_PROTOCOL, 100, |place, stream| {
        Box::pin(async move {
            std::future::pending::<()>().await;
            drop((place, stream));
        })
    });
    accept.unwrap();
    let subscribed = ask(&paused, FilterSubscribeType::Subscribe, Some(TOPIC), &[CONTENT_TOPIC]).await.unwrap();
    assert_eq!(subscribed.0, 200);
    let mut reader = Subscriber::of(&node).await;
    reader.subscribe().await;
    for number in 0..MESSAGES_SENT {
        let mut payload = vec![number as u8; 100_000];
        payload[..8].copy_from_slice(&number.to_le_bytes());
        publish(&mut rest, &payload);
        assert_eq!(reader.next().await, payload, "{number}");
    }
    let scrape = Scrape::of(node.metrics());
    // An eighth of the 64 MiB of the arena, and the slot that is being written.
    assert!(scrape.value("levada_filter_kept_bytes") <= (8 << 20) + (1 << 18));
    assert!(scrape.value("waku_filter_errors_total{type=\"push_queue_full\"}") > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_criteria_are_held_and_a_message_finds_its_one() {
    const PEERS: usize = 10;
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(folder.path(), &[]);
    let mut rest = http::Client::new(node.rest());
    let mut wanting = Subscriber::of(&node).await;
    wanting.subscribe().await;
    let mut greedy = Vec::new();
    for peer in 0..PEERS {
        let client = Client::of(&node).await;
        let names: Vec<String> = (0..1_001).map(|number| format!("/levada/1/greedy-{peer}-{number}/proto")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        for hundred in names[..1_000].chunks(100) {
            let granted = ask(&client, FilterSubscribeType::Subscribe, Some(TOPIC), hundred).await.unwrap();
            assert_eq!(granted.0, 200);
        }
        let one_more = ask(&client, FilterSubscribeType::Subscribe, Some(TOPIC), &names[1_000..]).await.unwrap();
        assert_eq!(one_more.0, 503);
        greedy.push(client);
    }
    assert_eq!(Scrape::of(node.metrics()).value("levada_filter_criteria"), 1_000 * PEERS as u64 + 1);
    publish(&mut rest, b"for one");
    assert_eq!(wanting.next().await, b"for one");
    until(async || Scrape::of(node.metrics()).value("levada_filter_pushes_total") == 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn garbage_and_half_a_request_are_felt_by_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(folder.path(), &[]);
    let (mut rest, mut wanting) = (http::Client::new(node.rest()), Subscriber::of(&node).await);
    wanting.subscribe().await;
    let hostile = Client::of(&node).await;
    let mut half = Vec::new();
    for garbage in [&[0xff; 64][..], &[3, 0xff, 0xff, 0xff], &[4, 0x0a, 2, 0xff, 0xfe], &[0x80, 0x00], &[5, 0x0a]] {
        let mut stream = hostile.exchange().open(&hostile.peer, SUBSCRIBE_PROTOCOL).await.unwrap();
        // The node may reset the stream before all is written.
        let _ = stream.write_all(garbage).await;
        let _ = stream.flush().await;
        half.push(stream);
    }
    // The last one has begun a request that does not end; the others end without an answer.
    half.pop();
    for mut stream in half {
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        assert_eq!(answer, b"");
    }
    publish(&mut rest, b"as ever");
    assert_eq!(wanting.next().await, b"as ever");
    assert_eq!(wanting.ask(FilterSubscribeType::SubscriberPing, &[]).await.0, 200);
    let scrape = Scrape::of(node.metrics());
    assert_eq!(scrape.value("waku_filter_errors_total{type=\"decode_rpc_failure\"}"), 2);
}

#[test]
fn a_message_is_framed_once_and_never_copied_for_any_number_of_subscribers() {
    for (subscribers, one_paused) in [(1, false), (2, true), (20, false), (20, true)] {
        let outcome = run(Order { subscribers, one_paused, messages: 30, warmup: 5 });
        assert_eq!((outcome.encodes, outcome.copies), (1.0, 0.0), "{subscribers}, one of them paused: {one_paused}");
    }
}
