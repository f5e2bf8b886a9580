//! Connections on workers: who does what where. The nodes are whole ones, on loopback.

use std::collections::HashSet;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use levada_engine::{Arena, ArenaConfig, Held};
use levada_wire::waku::WakuRecord;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::witness::{Step, noted};
use crate::{Inbound, NetConfig, NetHandle, NodeKey, Refused, TransportKind, Verdict, start};

const TOPIC: &str = "/waku/2/rs/0/0";

/// Takes every message.
struct Inbox {
    arena: Arc<Arena<WakuRecord>>,
    messages: UnboundedSender<Held<WakuRecord>>,
}

impl Inbound for Inbox {
    fn arena(&self) -> &Arc<Arena<WakuRecord>> {
        &self.arena
    }

    fn topic(&self, _: &str) -> Option<u32> {
        Some(0)
    }

    fn offer(&self, message: Held<WakuRecord>) -> Result<(), Refused> {
        self.messages.send(message).map_err(|_| Refused::Dropped)
    }
}

/// A node with two workers on our own transport, connected to `peers`.
async fn node(peers: &[&NetHandle]) -> (NetHandle, UnboundedReceiver<Held<WakuRecord>>) {
    let mut config = NetConfig::new(NodeKey::generate());
    (config.listen_address, config.tcp_port, config.websocket_port) = (Ipv4Addr::LOCALHOST.into(), 0, None);
    (config.transport, config.workers) = (TransportKind::Levada, 2);
    config.static_peers = peers.iter().flat_map(|peer| peer.listen_addresses()).collect();
    let arena = Arena::new(&ArenaConfig::with_budget(32 << 20, 150 * 1_024)).expect("32 MiB");
    let (messages, inbox) = unbounded_channel();
    let (handle, task) = start(config, Arc::new(Inbox { arena, messages })).await.expect("it starts");
    tokio::spawn(task);
    assert_eq!(handle.subscribe(TOPIC).await, Ok(true));
    (handle, inbox)
}

async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(90), future).await.expect("it came in time")
}

async fn meshed(handle: &NetHandle, peers: usize) {
    while handle.mesh_sizes().await.first().is_none_or(|(_, size)| *size != peers) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// The middle node relays between four others. What a connection's task did, it did on one thread, and that is a worker's.
#[tokio::test]
async fn read_open_hash_seal_and_write_of_a_connection_are_on_its_worker() {
    const MESSAGES: u8 = 40;
    let (middle, mut inbox) = node(&[]).await;
    let mut others = Vec::new();
    for _ in 0..4 {
        others.push(node(&[&middle]).await);
    }
    within(meshed(&middle, others.len())).await;
    for number in 0..MESSAGES {
        let (from, _) = &others[usize::from(number) % others.len()];
        let data = Bytes::from(vec![number; 20_000]);
        assert_eq!(within(from.publish(TOPIC, data, None)).await, Ok(1));
        let message = within(inbox.recv()).await.expect("it runs");
        middle.report(message, Verdict::Accept).await.expect("it runs");
        for (place, (_, inbox)) in others.iter_mut().enumerate() {
            if place != usize::from(number) % 4 {
                within(inbox.recv()).await.expect("it runs");
            }
        }
    }
    let noted = noted();
    let whole = noted.keys().filter(|(_, step)| *step == Step::Hash).map(|(task, _)| *task);
    let mut threads = HashSet::new();
    let mut connections = 0;
    for task in whole {
        let of_step = |step| noted.get(&(task, step)).unwrap_or_else(|| panic!("{task} has no {step:?}"));
        let [read, open, hash, seal, write] =
            [Step::Read, Step::Open, Step::Hash, Step::Seal, Step::Write].map(|step| of_step(step).clone());
        assert_eq!(read.len(), 1, "a connection is read by one thread");
        assert!([open, hash, seal, write].iter().all(|step| *step == read), "all steps of {task} are on that thread");
        threads.extend(read);
        connections += 1;
    }
    // Both ends of each.
    assert_eq!(connections, 2 * others.len());
    // Two workers of the middle node, which has four connections, and at least one of each other node's.
    assert!(threads.len() >= 2 + others.len(), "{threads:?}");
    assert!(!threads.contains(&std::thread::current().id()), "the test's own thread is no worker");
}
