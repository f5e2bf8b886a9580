//! The scenario behind the comparison's row about an archive that stands still: a node that stores on the disk what it relays, a peer that
//! publishes the reference mix at a steady rate, and a peer that the node relays to, all in this process and over loopback TCP.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use levada_archive::DatabaseUrl;
use levada_benches::workload;
use levada_net::NetHandle;
use tokio::time::{Instant, sleep, sleep_until};

use super::peers::{listener, publisher};
use super::tally::Tally;
use super::{Order, TOPIC, counter, encoded};
use crate::config::Config;
use crate::node::Node;

/// What waits after ten seconds is within the bounds of a node's backlog: 2 000 messages, in slots of 145 MiB.
pub const RATE_MSG_PER_S: u64 = 200;
const INTERVAL: Duration = Duration::from_nanos(1_000_000_000 / RATE_MSG_PER_S);
const WARMUP: u64 = RATE_MSG_PER_S / 2;
/// The gauge of the peers that the node has in its mesh.
const MESH: &str = "libp2p_gossipsub_peers_per_topic_mesh{topic=\"other\"}";

/// A publication that is not later than timers are counts from when it was made, else from when it was due.
const TIMER_SLACK: Duration = Duration::from_millis(2);

/// Relays for `seconds`, with the index of the archive at a path in `folder`, while what `stall` makes of that path lives. Gives the 99th
/// percentile of the time from the publisher's hand to the other peer, in microseconds. Panics unless every message has reached the peer
/// and then the archive.
pub fn latency_p99_us<S>(folder: &Path, seconds: u64, stall: impl FnOnce(&Path) -> S) -> f64 {
    let index = folder.join("stall.index");
    let order = Order { subscribers: 1, one_paused: false, messages: seconds * RATE_MSG_PER_S, warmup: WARMUP };
    let runtime = tokio::runtime::Runtime::new().expect("the system grants threads");
    let p99_us = runtime.block_on(relay(&index, order, stall));
    runtime.shutdown_timeout(Duration::from_secs(5));
    let archive = levada_archive::open(&DatabaseUrl::Sqlite(index)).expect("a sound archive");
    let stored = archive.message_count().expect("a sound archive");
    assert_eq!(stored, order.warmup + order.messages, "every message is stored once");
    p99_us
}

async fn relay<S>(index: &Path, order: Order, stall: impl FnOnce(&Path) -> S) -> f64 {
    let url = format!("--store-message-db-url=sqlite://{}", index.display());
    let flags = [
        "--listen-address=127.0.0.1",
        "--tcp-port=0",
        "--websocket-support=false",
        "--rest=false",
        "--discv5-discovery=false",
        "--metrics-server-port=0",
        "--log-level=NONE",
        &url,
    ];
    let loaded = Config::load(flags.into_iter().map(Into::into), []).unwrap_or_else(|errors| panic!("{errors}"));
    let node = Node::start(&loaded.config).await.expect("a node starts");
    let (address, metrics) = (&node.listening().peers[0], node.listening().metrics.expect("metrics are served"));
    let tally = Arc::new(Tally::new(order));
    let peers = [publisher(address).await, listener(address, tally.clone()).await];
    // A peer has the node in its mesh before the node has it.
    while counter(metrics, MESH) < peers.len() as u64 {
        sleep(Duration::from_millis(20)).await;
    }
    let sizes = workload::payload_sizes(42, (order.warmup + order.messages) as usize);
    publish(&peers[0], &tally, 0, &sizes[..order.warmup as usize]).await;
    let stalled = stall(index);
    publish(&peers[0], &tally, order.warmup, &sizes[order.warmup as usize..]).await;
    drop(stalled);
    peers.iter().for_each(NetHandle::shutdown);
    let stopped = node.stop().await;
    assert_eq!((stopped.stored, stopped.not_stored), (order.warmup + order.messages, 0), "nothing is lost");
    tally.p99_us()
}

/// Publishes messages from number `first` on, one when it is due, and waits until all have arrived.
async fn publish(publisher: &NetHandle, tally: &Tally, first: u64, sizes: &[usize]) {
    let started = Instant::now();
    for (position, payload_bytes) in sizes.iter().enumerate() {
        let due = started + INTERVAL * position as u32;
        sleep_until(due).await;
        let late = Some(due.elapsed()).filter(|late| *late > TIMER_SLACK).unwrap_or_default();
        let sent_us = tally.now_us().saturating_sub(late.as_micros() as u64);
        let data = encoded(first + position as u64, sent_us, *payload_bytes);
        publisher.publish(TOPIC, data, None).await.expect("the node is a relay peer");
    }
    tally.wait_for(first + sizes.len() as u64).await;
}
