//! The scenarios behind the comparison's rows about light clients, and about a node whose archive stands still. Here that of filter: a
//! node, a relay peer that publishes, and subscribers, all in this process and over loopback TCP.

pub(crate) mod peers;
pub mod stall;
pub mod store;
mod tally;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use levada_net::NetHandle;
use levada_wire::waku::message::Message;

use self::peers::{publisher, subscribe};
use self::tally::Tally;
use crate::config::Config;
use crate::node::Node;

/// The pubsub topic of every message.
pub const TOPIC: &str = "/waku/2/rs/0/0";
const CONTENT_TOPIC: &str = "/levada/1/bench/proto";

/// Payload of a message. With a hundred subscribers a megabyte is pushed for each.
const PAYLOAD_BYTES: usize = 10_000;

/// Messages that not all readers have got yet.
const WINDOW: u64 = 16;

/// What a run is asked to do.
#[derive(Debug, Clone, Copy)]
pub struct Order {
    /// Subscribers, the paused one included.
    pub subscribers: usize,
    /// Whether the first subscriber never reads its stream.
    pub one_paused: bool,
    /// Messages that count.
    pub messages: u64,
    /// Messages before them.
    pub warmup: u64,
}

/// What came of it.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// From the publisher's hand to each reader, in microseconds, all messages and readers together.
    pub latency_p99_us: f64,
    /// Time of the whole run by its messages.
    pub us_per_message: f64,
    /// How often a message was framed, by the node's counter.
    pub encodes: f64,
    /// How often its payload was copied, by the node's counter.
    pub copies: f64,
}

/// Runs one node with its subscribers, and lets nothing of it behind.
pub fn run(order: Order) -> Outcome {
    let runtime = tokio::runtime::Runtime::new().expect("the system grants threads");
    let outcome = runtime.block_on(async {
        let flags = [
            "--listen-address=127.0.0.1",
            "--tcp-port=0",
            "--websocket-support=false",
            "--rest=false",
            "--store=false",
            "--discv5-discovery=false",
            "--metrics-server-port=0",
            "--max-connections=1000",
            "--log-level=NONE",
        ];
        let flags = flags.into_iter().map(Into::into);
        let loaded = Config::load(flags, []).unwrap_or_else(|errors| panic!("{errors}"));
        let node = Node::start(&loaded.config).await.expect("a node starts");
        let outcome = measure(&node, order).await;
        node.stop().await;
        outcome
    });
    runtime.shutdown_timeout(Duration::from_secs(5));
    outcome
}

async fn measure(node: &Node, order: Order) -> Outcome {
    let address = node.listening().peers[0].clone();
    let metrics = node.listening().metrics.expect("metrics are served");
    let tally = Arc::new(Tally::new(order));
    let publisher = publisher(&address).await;
    let mut subscribers = Vec::new();
    for number in 0..order.subscribers {
        let tally = (!order.one_paused || number > 0).then(|| tally.clone());
        subscribers.push(subscribe(&address, tally).await);
    }
    publish(&publisher, &tally, 0..order.warmup).await;
    let scrape = |name: &str| counter(metrics, name);
    let names = ["levada_filter_encodes_total", "levada_payload_copies_total"];
    let (before, began) = (names.map(scrape), Instant::now());
    publish(&publisher, &tally, order.warmup..order.warmup + order.messages).await;
    let elapsed = began.elapsed();
    let after = names.map(scrape);
    let per_message = |index: usize| (after[index] - before[index]) as f64 / order.messages as f64;
    for handle in subscribers.iter().chain([&publisher]) {
        handle.shutdown();
    }
    Outcome {
        latency_p99_us: tally.p99_us(),
        us_per_message: elapsed.as_secs_f64() * 1e6 / order.messages as f64,
        encodes: per_message(0),
        copies: per_message(1),
    }
}

async fn publish(publisher: &NetHandle, tally: &Tally, numbers: std::ops::Range<u64>) {
    let end = numbers.end;
    for number in numbers {
        tally.wait_for((number + 1).saturating_sub(WINDOW)).await;
        let data = encoded(number, tally.now_us(), PAYLOAD_BYTES);
        publisher.publish(TOPIC, data, None).await.expect("the node is a relay peer");
    }
    tally.wait_for(end).await;
}

/// A message that says at its front which it is and when it was made.
fn encoded(number: u64, sent_us: u64, payload_bytes: usize) -> Bytes {
    let mut payload = vec![7; payload_bytes];
    payload[..8].copy_from_slice(&number.to_le_bytes());
    payload[8..16].copy_from_slice(&sent_us.to_le_bytes());
    let timestamp = levada_stages::unix_ns();
    let message = Message { payload: &payload, content_topic: CONTENT_TOPIC, timestamp, ..Message::default() };
    let mut data = vec![0; message.encoded_len()];
    message.encode_into(&mut data).expect("the buffer has the length that was asked for");
    data.into()
}

/// A counter or gauge of the node without labels, by its scrape.
fn counter(metrics: SocketAddr, name: &str) -> u64 {
    let mut stream = TcpStream::connect(metrics).expect("metrics are served");
    stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").expect("the request is short");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("the answer is text");
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    value.unwrap_or_else(|| panic!("there is no counter {name}"))
}
