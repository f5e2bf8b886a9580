//! Filter from the side of the node that subscribes: what a service node pushes comes into slots and to the message path.

use std::sync::Arc;

use levada_engine::{Arena, ArenaConfig, Held};
use levada_net::filter::{Client as FilterClient, FilterCounters, FilterError};
use levada_net::{Inbound, NetConfig, NetHandle, NodeKey, PeerId, Refused};
use levada_wire::waku::filter::{FilterSubscribeRequest, FilterSubscribeType, RESPONSE_BYTES_MAX, SUBSCRIBE_PROTOCOL};
use levada_wire::waku::{Origin, WakuRecord};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::client::{config, until};
use super::filter::{CONTENT_TOPIC, publish};
use crate::support::http;
use crate::support::message::TOPIC;
use crate::support::node::Node;

/// The path of the subscribing node, up to its door.
struct Inbox {
    arena: Arc<Arena<WakuRecord>>,
    messages: UnboundedSender<Held<WakuRecord>>,
}

impl Inbound for Inbox {
    fn arena(&self) -> &Arc<Arena<WakuRecord>> {
        &self.arena
    }

    fn topic(&self, name: &str) -> Option<u32> {
        (name == TOPIC).then_some(7)
    }

    fn offer(&self, message: Held<WakuRecord>) -> Result<(), Refused> {
        self.messages.send(message).map_err(|_| Refused::Dropped)
    }
}

struct Subscribing {
    net: NetHandle,
    filter: FilterClient,
    counters: Arc<FilterCounters>,
    node: PeerId,
    arena: Arc<Arena<WakuRecord>>,
    messages: UnboundedReceiver<Held<WakuRecord>>,
}

async fn subscribing(node: &Node) -> Subscribing {
    let (sender, messages) = unbounded_channel();
    let arena = Arena::new(&ArenaConfig::with_budget(16 << 20, 150 << 10)).unwrap();
    let inbound = Arc::new(Inbox { arena: arena.clone(), messages: sender });
    let address = node.after("listening on ")[0].parse().unwrap();
    let config = NetConfig { key: NodeKey::generate(), static_peers: vec![address], ..config() };
    let counters = Arc::new(FilterCounters::default());
    let filter = FilterClient::new(config.exchange.clone(), inbound.clone(), counters.clone()).unwrap();
    let (net, task) = levada_net::start(config, inbound).await.unwrap();
    tokio::spawn(task);
    let node = node.peer_id().parse().unwrap();
    until(async || net.exchange().is_connected(&node)).await;
    Subscribing { net, filter, counters, node, arena, messages }
}

#[tokio::test(flavor = "multi_thread")]
async fn pushes_come_into_slots_until_the_subscription_ends() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(folder.path(), &[]);
    let mut rest = http::Client::new(node.rest());
    let mut here = subscribing(&node).await;
    let not_found = here.filter.ping(&here.node).await.unwrap_err();
    assert!(matches!(&not_found, FilterError::Refused { status_code: 404, .. }), "{not_found}");
    here.filter.subscribe(&here.node, TOPIC, &[CONTENT_TOPIC]).await.unwrap();
    here.filter.ping(&here.node).await.unwrap();
    for bytes in [1, 1_000, 120_000] {
        publish(&mut rest, &vec![bytes as u8; bytes]);
        let message = here.messages.recv().await.unwrap();
        let record = message.record();
        assert_eq!((record.topic, record.origin, record.id_known), (7, Origin::Push, false));
        assert!(message.payload().windows(bytes).any(|part| part.iter().all(|byte| *byte == bytes as u8)));
    }
    here.filter.unsubscribe(&here.node, TOPIC, &[CONTENT_TOPIC]).await.unwrap();
    let gone = here.filter.unsubscribe_all(&here.node).await.unwrap_err();
    assert!(matches!(&gone, FilterError::Refused { status_code: 404, .. }), "{gone}");
    // A push is counted a moment after it was handed over.
    until(async || here.counters.received.value() == 3).await;
    assert_eq!((here.counters.refused.value(), here.messages.len(), here.arena.slots_in_use()), (0, 0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn who_was_not_subscribed_to_cannot_push() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(folder.path(), &[]);
    let mut rest = http::Client::new(node.rest());
    let here = subscribing(&node).await;
    // The node is asked behind the client's back, and pushes to somebody who does not expect it.
    let request = FilterSubscribeRequest {
        request_id: "r",
        kind: FilterSubscribeType::Subscribe,
        pubsub_topic: Some(TOPIC),
        content_topics: vec![CONTENT_TOPIC],
    };
    let mut message = Vec::new();
    request.encode(&mut message);
    let exchange = here.net.exchange();
    exchange.request(&here.node, SUBSCRIBE_PROTOCOL, &[&message], RESPONSE_BYTES_MAX).await.unwrap();
    publish(&mut rest, b"unwanted");
    until(async || here.counters.unexpected.value() > 0).await;
    assert_eq!((here.messages.len(), here.arena.slots_in_use()), (0, 0));
}
