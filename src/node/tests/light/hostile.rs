//! Clients that mean no good: garbage on every protocol, answers that nobody reads, streams that carry nothing.

use futures::{AsyncReadExt, AsyncWriteExt};
use levada_net::store::query;
use levada_wire::waku::filter::{FilterSubscribeRequest, FilterSubscribeType, RESPONSE_BYTES_MAX, SUBSCRIBE_PROTOCOL};
use levada_wire::waku::store::StoreRequest;
use levada_wire::waku::{lightpush, peer_exchange, store};

use super::client::{Client, until};
use crate::support::http;
use crate::support::message::{MESSAGES, Message, TOPIC};
use crate::support::metrics::Scrape;
use crate::support::node::Node;

const PROTOCOLS: [&str; 4] = [store::PROTOCOL, lightpush::PROTOCOL_V3, lightpush::PROTOCOL_V2, peer_exchange::PROTOCOL];

/// Splitmix64.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ (mixed >> 27)) as usize % bound
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.below(256) as u8).collect()
    }
}

/// A frame, of which the length may be a lie.
fn frame(dice: &mut Dice) -> Vec<u8> {
    let count = dice.below(120);
    let body = dice.bytes(count);
    let length = match dice.below(4) {
        0 => dice.below(1 << 20),
        _ => body.len(),
    };
    let mut frame = vec![0; levada_wire::varint::len(length as u64)];
    levada_wire::varint::encode(length as u64, &mut frame);
    frame.extend(body);
    frame
}

#[tokio::test]
async fn garbage_on_every_protocol_costs_its_stream_alone() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(folder.path(), &[]);
    let client = Client::of(&node).await;
    let mut dice = Dice(7);
    for protocol in PROTOCOLS {
        for round in 0..100 {
            let mut stream = client.exchange().open(&client.peer, protocol).await.unwrap();
            let bytes = if round % 10 == 0 { dice.bytes(12) } else { frame(&mut dice) };
            // The node may have reset the stream already, or do so while this is written.
            let _ = stream.write_all(&bytes).await;
            let _ = stream.close().await;
            let mut answer = Vec::new();
            let _ = stream.read_to_end(&mut answer).await;
            assert!(answer.len() < 1_000, "an error at most, not {} bytes", answer.len());
        }
        let page = query(client.exchange(), &client.peer, &StoreRequest::default()).await;
        assert!(page.unwrap().messages.is_empty(), "after garbage on {protocol}");
    }
    assert!(client.exchange().is_connected(&client.peer), "the connection stands");
}

/// Memory of the node, in bytes.
fn memory(node: &Node) -> u64 {
    Scrape::of(node.metrics()).value("process_resident_memory_bytes")
}

#[tokio::test]
async fn pages_that_nobody_reads_are_bounded_and_others_are_served() {
    const ROW_BYTES: usize = 100_000;
    const STREAMS_PER_CLIENT: usize = 18;
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(folder.path(), &[]);
    let mut rest = http::Client::new(node.rest());
    for number in 0..100_u32 {
        let payload = [&number.to_be_bytes()[..], &vec![7; ROW_BYTES]].concat();
        assert_eq!(rest.post(MESSAGES, Message::new(payload).json().to_string()).text(), "OK");
    }
    let before = memory(&node);
    let clients = [Client::of(&node).await, Client::of(&node).await];
    let request = StoreRequest { include_data: true, limit: Some(100), ..StoreRequest::default() };
    let mut body = Vec::new();
    request.encode(&mut body);
    let asked = [&[body.len() as u8][..], &body].concat();
    let mut unread = Vec::new();
    for client in &clients {
        for _ in 0..STREAMS_PER_CLIENT {
            let mut stream = client.exchange().open(&client.peer, store::PROTOCOL).await.unwrap();
            stream.write_all(&asked).await.unwrap();
            stream.flush().await.unwrap();
            unread.push(stream);
        }
    }
    // The first pages are on their way, and read no further.
    let mut begun = [0];
    unread[0].read_exact(&mut begun).await.unwrap();

    let other = Client::of(&node).await;
    let for_hashes = StoreRequest { include_data: false, ..request.clone() };
    let hashes = query(other.exchange(), &other.peer, &for_hashes).await.unwrap();
    assert_eq!(hashes.messages.len(), 100);
    let grown = memory(&node).saturating_sub(before);
    // Together the pages have 360 MB; what is held of them, and what yamux and the kernel take, is a third of it.
    assert!(grown < 200 << 20, "{grown} bytes for {} pages of 10 MB", unread.len());
    drop(unread);
    let page = query(other.exchange(), &other.peer, &request).await.unwrap();
    assert_eq!(page.messages.len(), 100, "once they are gone there is room again");
}

#[tokio::test]
async fn streams_without_a_request_are_left_open_and_usable() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(folder.path(), &[]);
    let client = Client::of(&node).await;
    let mut idle = Vec::new();
    for protocol in PROTOCOLS {
        idle.push(client.exchange().open(&client.peer, protocol).await.unwrap());
    }
    for _ in 0..20 {
        assert!(query(client.exchange(), &client.peer, &StoreRequest::default()).await.is_ok());
    }
    let mut late = idle.swap_remove(0);
    late.write_all(&[2, 0x0a, 0]).await.unwrap();
    late.close().await.unwrap();
    let mut answer = Vec::new();
    late.read_to_end(&mut answer).await.unwrap();
    assert!(answer.ends_with(b"OK"), "{answer:?}");
}

/// Rounds after which everything that is made once has been made, and rounds in which memory must not grow any more.
const WARM_UP_ROUNDS: usize = 4;
const ROUNDS: usize = 8;

/// What the allocator may keep of a round and not of the ones before.
const GROWTH_BYTES_MAX: u64 = 32 << 20;

#[tokio::test(flavor = "multi_thread")]
async fn memory_is_flat_while_hostile_clients_come_and_go() {
    let is_deep = std::env::var_os("LEVADA_DEEP").is_some_and(|deep| deep == "1");
    let folder = tempfile::tempdir().unwrap();
    let flags = ["--filter-subscription-timeout=0.5", "--rate-limit=filter:0/1s"];
    let node = Node::start(folder.path(), &flags);
    let mut rest = http::Client::new(node.rest());
    for number in 0..100_u32 {
        let payload = [&number.to_be_bytes()[..], &[7; 20_000]].concat();
        assert_eq!(rest.post(MESSAGES, Message::new(payload).json().to_string()).text(), "OK");
    }
    let mut dice = Dice(11);
    for _ in 0..WARM_UP_ROUNDS {
        assault(&node, &mut dice).await;
    }
    let before = memory(&node);
    for round in 0..if is_deep { 50 * ROUNDS } else { ROUNDS } {
        assault(&node, &mut dice).await;
        let grown = memory(&node).saturating_sub(before);
        assert!(grown < GROWTH_BYTES_MAX, "{grown} bytes more than before, in round {round}");
    }
    let page =
        query(Client::of(&node).await.exchange(), &node.peer_id().parse().unwrap(), &StoreRequest::default()).await;
    assert_eq!(page.unwrap().messages.len(), 20, "others are served as ever");
}

/// Garbage, requests that do not end, pages that nobody reads, a thousand criteria; then the client is gone without a word.
async fn assault(node: &Node, dice: &mut Dice) {
    let client = Client::of(node).await;
    let (exchange, peer) = (client.exchange(), client.peer);
    let mut unread = Vec::new();
    for protocol in [&PROTOCOLS[..], &[SUBSCRIBE_PROTOCOL]].concat() {
        for round in 0..16 {
            // The node refuses a stream while too many of those before have not ended there.
            let Ok(mut stream) = exchange.open(&peer, protocol).await else { continue };
            let bytes = if round % 2 == 0 { frame(dice) } else { vec![100, 0x0a] };
            // The node may reset the stream before all is written.
            let _ = stream.write_all(&bytes).await;
            let _ = stream.flush().await;
            if round % 2 == 1 {
                unread.push(stream);
            }
        }
    }
    let mut body = Vec::new();
    StoreRequest { include_data: true, limit: Some(100), ..StoreRequest::default() }.encode(&mut body);
    for _ in 0..8 {
        let Ok(mut stream) = exchange.open(&peer, store::PROTOCOL).await else { continue };
        let _ = stream.write_all(&[&[body.len() as u8][..], &body].concat()).await;
        let _ = stream.flush().await;
        unread.push(stream);
    }
    for hundred in 0..10 {
        let names: Vec<String> = (0..100).map(|number| format!("/levada/1/hostile-{hundred}-{number}/proto")).collect();
        let (kind, content_topics) = (FilterSubscribeType::Subscribe, names.iter().map(String::as_str).collect());
        let request = FilterSubscribeRequest { request_id: "r", kind, pubsub_topic: Some(TOPIC), content_topics };
        let mut body = Vec::new();
        request.encode(&mut body);
        // As above.
        let _ = exchange.request(&peer, SUBSCRIBE_PROTOCOL, &[&body], RESPONSE_BYTES_MAX).await;
    }
    client.net.shutdown();
    drop(unread);
    until(async || {
        let scrape = Scrape::of(node.metrics());
        scrape.value("libp2p_peers") == 0 && scrape.value("waku_filter_subscriptions") == 0
    })
    .await;
}
