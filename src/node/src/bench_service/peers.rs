//! The peers of the node that is measured.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use futures::AsyncReadExt;
use levada_engine::{Arena, ArenaConfig, Held};
use levada_net::{Inbound, Multiaddr, NetConfig, NetHandle, NodeKey, Refused};
use levada_wire::varint;
use levada_wire::waku::WakuRecord;
use levada_wire::waku::filter::{
    FilterSubscribeRequest, FilterSubscribeType, PUSH_PROTOCOL, RESPONSE_BYTES_MAX, SUBSCRIBE_PROTOCOL,
};

use super::tally::Tally;
use super::{CONTENT_TOPIC, TOPIC};

/// The length of a push, and so those of message and payload in it, takes two bytes.
const PREFIX_BYTES: usize = 2;
/// Where number and time stand in a push: behind keys and lengths of message and payload.
const STAMP_AT: usize = 2 * (1 + PREFIX_BYTES);

/// A relay peer that the node has in its mesh.
pub(super) async fn publisher(address: &Multiaddr) -> NetHandle {
    let handle = start(address, true).await;
    handle.subscribe(TOPIC).await.expect("relay is on");
    while handle.mesh_sizes().await.first().is_none_or(|(_, peers)| *peers == 0) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    handle
}

/// A subscriber that counts what it reads, or reads nothing.
pub(super) async fn subscribe(address: &Multiaddr, tally: Option<Arc<Tally>>) -> NetHandle {
    let handle = start(address, false).await;
    let accept = handle.exchange().accept(PUSH_PROTOCOL, 100, move |place, mut stream| {
        let tally = tally.clone();
        Box::pin(async move {
            let Some(tally) = tally else {
                std::future::pending::<()>().await;
                return drop((place, stream));
            };
            let (mut prefix, mut frame) = ([0; PREFIX_BYTES], Vec::new());
            while stream.read_exact(&mut prefix).await.is_ok() {
                let (frame_bytes, prefix_bytes) = varint::decode(&prefix).expect("a length");
                assert_eq!(prefix_bytes, PREFIX_BYTES);
                frame.resize(frame_bytes as usize, 0);
                if stream.read_exact(&mut frame).await.is_err() {
                    break;
                }
                let stamp = |at: usize| u64::from_le_bytes(*frame[at..].first_chunk().expect("it is in the frame"));
                tally.read(stamp(STAMP_AT), stamp(STAMP_AT + 8));
            }
        })
    });
    accept.expect("nobody else accepts pushes");
    let mut request = Vec::new();
    let (kind, content_topics) = (FilterSubscribeType::Subscribe, vec![CONTENT_TOPIC]);
    FilterSubscribeRequest { request_id: "1", kind, pubsub_topic: Some(TOPIC), content_topics }.encode(&mut request);
    let peer = address.to_string().rsplit('/').next().and_then(|id| id.parse().ok()).expect("it ends in the peer id");
    let answer = handle.exchange().request(&peer, SUBSCRIBE_PROTOCOL, &[&request], RESPONSE_BYTES_MAX).await;
    answer.expect("the node answers");
    handle
}

/// A relay peer that counts what the node sends it.
pub(super) async fn listener(address: &Multiaddr, tally: Arc<Tally>) -> NetHandle {
    let handle = start_with(address, true, Arc::new(Listener { arena: arena(64 << 20, 150 << 10), tally })).await;
    handle.subscribe(TOPIC).await.expect("relay is on");
    handle
}

pub async fn start(address: &Multiaddr, relay: bool) -> NetHandle {
    start_with(address, relay, Arc::new(Deaf(arena(16 << 20, 1 << 10)))).await
}

fn arena(bytes: usize, message_bytes_max: usize) -> Arc<Arena<WakuRecord>> {
    Arena::new(&ArenaConfig::with_budget(bytes, message_bytes_max)).expect("memory for some messages")
}

async fn start_with(address: &Multiaddr, relay: bool, inbound: Arc<dyn Inbound>) -> NetHandle {
    let mut config = NetConfig::new(NodeKey::generate());
    config.listen_address = Ipv4Addr::LOCALHOST.into();
    (config.tcp_port, config.websocket_port, config.relay) = (0, None, relay);
    config.static_peers = vec![address.clone()];
    let (handle, task) = levada_net::start(config, inbound).await.expect("a free port");
    tokio::spawn(task);
    while handle.connected_count() == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    handle
}

/// Takes no message of the relay.
pub struct Deaf(pub Arc<Arena<WakuRecord>>);

impl Inbound for Deaf {
    fn arena(&self) -> &Arc<Arena<WakuRecord>> {
        &self.0
    }

    fn topic(&self, _: &str) -> Option<u32> {
        None
    }

    fn offer(&self, _: Held<WakuRecord>) -> Result<(), Refused> {
        Err(Refused::Dropped)
    }
}

/// Takes the time of every message of the relay, and lets it go.
struct Listener {
    arena: Arc<Arena<WakuRecord>>,
    tally: Arc<Tally>,
}

impl Inbound for Listener {
    fn arena(&self) -> &Arc<Arena<WakuRecord>> {
        &self.arena
    }

    fn topic(&self, name: &str) -> Option<u32> {
        (name == TOPIC).then_some(0)
    }

    fn offer(&self, message: Held<WakuRecord>) -> Result<(), Refused> {
        let data = message.payload();
        // The payload is the first field, and its key one byte.
        let (_, prefix_bytes) = varint::decode(&data[1..]).expect("a length");
        let stamp = |at: usize| u64::from_le_bytes(*data[1 + prefix_bytes + at..].first_chunk().expect("it is there"));
        self.tally.read(stamp(0), stamp(8));
        Err(Refused::Dropped)
    }
}
