//! Pushes to filter subscribers copy a payload nowhere above the stream, however many subscribers there are: `memcpy` and `memmove` of this
//! program are counted, on the threads of the node that pushes.
//!
//! One test alone in its process, because it counts for the process. Subscribers and the thread that makes messages are left out. What is
//! left is the transport's own copy, from the slot into the record that is sealed: one for each subscriber, and no other.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../../engine/tests/support/memcpy.rs"]
#[expect(dead_code, reason = "other programs count by thread")]
mod memcpy;
mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use futures::AsyncReadExt;
use levada_engine::{Arena, ArenaConfig, Held, PAYLOAD_COPIES};
use levada_net::filter::{FilterCounters, Pushes};
use levada_net::{NetConfig, TransportKind};
use levada_wire::waku::WakuRecord;
use levada_wire::waku::filter::PUSH_PROTOCOL;
use support::{Node, TOPIC, config, dialling, until};
use tokio::runtime::{Builder, Runtime};

const PAYLOAD_BYTES: usize = 100_000;
const WARM_UP: usize = 5;
const MESSAGES: usize = 40;
const IN_FLIGHT: usize = 8;

/// How far the measured copies may lie from one for each subscriber: headers, control messages, and parts of buffers.
const TOLERANCE: f64 = 0.05;

fn runtime(is_counted: bool) -> Runtime {
    let start = move || memcpy::count_this_thread(is_counted);
    Builder::new_multi_thread().worker_threads(2).enable_all().on_thread_start(start).build().unwrap()
}

fn ours(mut config: NetConfig) -> NetConfig {
    (config.transport, config.websocket_port, config.relay) = (TransportKind::Levada, None, false);
    config
}

/// A node that takes pushes, and the bytes that it has read.
async fn subscriber(pusher: &levada_net::Multiaddr, read: Arc<AtomicU64>) -> Node {
    let node = Node::start(ours(dialling(pusher))).await;
    let accept = node.exchange().accept(PUSH_PROTOCOL, 1, move |place, mut stream| {
        let read = read.clone();
        Box::pin(async move {
            let mut bytes = vec![0; 64 << 10];
            while let Ok(count @ 1..) = stream.read(&mut bytes).await {
                read.fetch_add(count as u64, Relaxed);
            }
            drop(place);
        })
    });
    accept.unwrap();
    node
}

/// Payload copies per message with so many subscribers.
fn copies_per_message(subscribers: usize) -> f64 {
    let (counted, apart) = (runtime(true), runtime(false));
    let arena = Arena::<WakuRecord>::new(&ArenaConfig::with_budget(64 << 20, 150 << 10)).unwrap();
    let node = counted.block_on(Node::start(ours(config())));
    let read = Arc::new(AtomicU64::new(0));
    let peers = apart.block_on(async {
        let mut nodes = Vec::new();
        for _ in 0..subscribers {
            let peer = subscriber(&node.tcp(), read.clone()).await;
            until(async || node.exchange().is_connected(&peer.id())).await;
            nodes.push(peer);
        }
        nodes
    });
    let counters = Arc::new(FilterCounters::default());
    let pushes = Arc::new(Pushes::new(node.exchange().clone(), 64 << 20, counters.clone()));
    let numbers: Vec<u32> = (0..subscribers as u32).collect();
    counted.block_on(async { numbers.iter().zip(&peers).for_each(|(number, peer)| pushes.open(*number, peer.id())) });
    let message = || -> Held<WakuRecord> {
        let mut slot = arena.claim(PAYLOAD_BYTES).unwrap();
        slot.fill(&[7; PAYLOAD_BYTES]);
        slot.share().hold()
    };
    let mut copied = 0;
    let mut pushed = 0;
    for number in 0..WARM_UP + MESSAGES {
        if number == WARM_UP {
            wait(&apart, &counters, &read, subscribers * pushed);
            copied = memcpy::copied_bytes();
        }
        let (message, pushes, numbers) = (message(), pushes.clone(), numbers.clone());
        counted.block_on(counted.spawn(async move { pushes.push(message, TOPIC, &numbers) })).unwrap();
        pushed += 1;
        wait(&apart, &counters, &read, subscribers * (pushed - pushed.min(IN_FLIGHT)));
    }
    wait(&apart, &counters, &read, subscribers * pushed);
    let copied = memcpy::copied_bytes() - copied;
    assert_eq!((counters.encoded.value(), counters.dropped.value()), (pushed as u64, 0));
    pushes.close_all();
    copied as f64 / (MESSAGES * PAYLOAD_BYTES) as f64
}

/// Waits until so many pushes have been written and read.
fn wait(runtime: &Runtime, counters: &FilterCounters, read: &AtomicU64, pushes: usize) {
    let is_read = || read.load(Relaxed) >= (pushes * PAYLOAD_BYTES) as u64 && counters.pushed.value() >= pushes as u64;
    runtime.block_on(until(async || is_read()));
}

#[test]
fn a_push_is_copied_once_for_each_subscriber_by_its_transport_and_nowhere_else() {
    memcpy::count_this_thread(false);
    for subscribers in [1, 4, 16] {
        let before = PAYLOAD_COPIES.value();
        let copies = copies_per_message(subscribers);
        // One for each message, which the test makes by it.
        assert_eq!(PAYLOAD_COPIES.value() - before, (WARM_UP + MESSAGES) as u64, "above the stream, by the counter");
        let of_one = copies / subscribers as f64;
        assert!((of_one - 1.0).abs() <= TOLERANCE, "{copies} copies for {subscribers} subscribers");
    }
}
