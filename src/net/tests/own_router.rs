//! The own relay router with the stock one, and with peers that stall, talk nonsense, come and go.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use bytes::Bytes;
use levada_engine::{Arena, Held};
use levada_net::{Inbound, NetConfig, NetHandle, PublishError, Refused, TransportKind, Verdict, counters, start};
use levada_wire::waku::WakuRecord;
use libp2p::gossipsub::IdentTopic;
use libp2p::swarm::SwarmEvent;
use support::raw::{self, Ask, Muxer, ToTheEnd};
use support::{Inbox, Node, TOPIC, config, dialling, fixed_port, until, within};
use tokio::sync::Semaphore;

use Router::{Own, Stock};

/// Whose relay router a node has.
#[derive(Clone, Copy)]
enum Router {
    Own,
    Stock,
}

async fn node(router: Router, config: NetConfig) -> Node {
    match router {
        Own => Node::start(config).await,
        Stock => Node::start_stock(config).await,
    }
}

async fn pair(dialled: Router, dialler: Router) {
    let mut a = node(dialled, config()).await;
    let mut b = node(dialler, dialling(&a.tcp())).await;
    a.meshed(1).await;
    b.meshed(1).await;
    assert_eq!(a.publish(b"from the dialled").await, Ok(1));
    assert_eq!(b.publish(b"from the dialler").await, Ok(1));
    assert_eq!(b.receive().await.data, b"from the dialled");
    assert_eq!(a.receive().await.data, b"from the dialler");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_own_router_dials_the_stock_one() {
    pair(Stock, Own).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_stock_router_dials_the_own_one() {
    pair(Own, Stock).await;
}

/// A line of three: what one end publishes reaches the other when the middle has accepted it.
async fn line(first: Router, middle: Router, last: Router) {
    const MESSAGES: u8 = 50;
    let mut middle = node(middle, config()).await;
    let mut first = node(first, dialling(&middle.tcp())).await;
    let mut last = node(last, dialling(&middle.websocket())).await;
    middle.meshed(2).await;
    first.meshed(1).await;
    last.meshed(1).await;
    for number in 0..MESSAGES {
        let (from, to) = if number % 2 == 0 { (&first, &mut last) } else { (&last, &mut first) };
        let data = vec![number; usize::from(number) * 3_000];
        assert_eq!(from.handle.publish(TOPIC, data.clone().into(), None).await, Ok(1));
        let message = middle.receive().await;
        assert_eq!(message.data, data);
        middle.judge(message, Verdict::Accept).await;
        assert_eq!(to.receive().await.data, data);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stock_node_between_two_own_ones() {
    line(Own, Stock, Own).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_own_node_between_two_stock_ones() {
    line(Stock, Own, Stock).await;
}

/// The memory of a node in slots that are lent out.
fn lent_bytes(node: &Node) -> usize {
    node.arena.usage().map(|class| class.payload_bytes * class.slots_in_use as usize).sum()
}

/// Publishes numbered messages from slots as long as `window` lets it.
async fn publish_all(handle: NetHandle, arena: Arc<Arena<WakuRecord>>, messages: u32, window: Arc<Semaphore>) {
    for number in 0..messages {
        window.acquire().await.unwrap().forget();
        let mut slot = arena.claim(STALL_MESSAGE_BYTES).unwrap().hold();
        slot.payload_mut()[..4].copy_from_slice(&number.to_be_bytes());
        slot.set_len(STALL_MESSAGE_BYTES);
        assert_eq!(handle.publish(TOPIC, slot.share().into_bytes(), None).await, Ok(8));
    }
}

const STALL_MESSAGE_BYTES: usize = 100_000;

/// One of eight peers does not read. The others are sent 10 000 messages in the deep mode.
#[tokio::test(flavor = "multi_thread")]
async fn a_stalled_peer_costs_bounded_memory_and_the_others_receive_everything() {
    const ARENA: usize = 64 << 20;
    const QUEUE: usize = 1 << 20;
    const WINDOW: usize = 8;
    let messages: u32 = if std::env::var_os("LEVADA_DEEP").is_some_and(|deep| deep == "1") { 10_000 } else { 400 };
    let narrow = NetConfig { send_queue_bytes: QUEUE, workers: 2, ..config() };
    let middle = Node::start_with(narrow, usize::MAX, ARENA).await;
    let mut others = Vec::new();
    for number in 0..7 {
        let transport = if number % 2 == 0 { TransportKind::Levada } else { TransportKind::Stock };
        others.push(Node::start(NetConfig { transport, ..dialling(&middle.tcp()) }).await);
    }
    let mut stalled = raw::peer(&Muxer::Yamux, false, 150 * 1_024);
    raw::connect(&mut stalled, &middle.tcp()).await;
    stalled.behaviour_mut().relay.subscribe(&IdentTopic::new(TOPIC)).unwrap();
    // From here on it is not run any more: its connection reads until its few events are not taken.
    raw::beside(&mut stalled, middle.meshed(8)).await;
    let drops = counters::SEND_QUEUE_DROPS.value();
    let (window, mut most) = (Arc::new(Semaphore::new(WINDOW)), 0);
    let (handle, arena) = (middle.handle.clone(), middle.arena.clone());
    let publisher = tokio::spawn(publish_all(handle, arena, messages, window.clone()));
    for number in 0..messages {
        for node in &mut others {
            let message = node.receive().await;
            assert_eq!(message.data[..4], number.to_be_bytes());
            node.judge(message, Verdict::Ignore).await;
        }
        most = most.max(lent_bytes(&middle));
        window.add_permits(1);
    }
    publisher.await.unwrap();
    // The message cache, whose slots are half as large again as the messages; the queue of the stalled peer; what is under way.
    let bound = ARENA / 4 * 8 / 5 + QUEUE + 2 * WINDOW * 150 * 1_024;
    assert!(most <= bound, "{most} of {bound} bytes");
    until(async || counters::SEND_QUEUE_DROPS.value() > drops).await;
    drop(stalled);
}

/// Takes nothing that begins with an A while it is told so.
struct Picky {
    inbox: Inbox,
    refuses: AtomicBool,
}

impl Inbound for Picky {
    fn arena(&self) -> &Arc<Arena<WakuRecord>> {
        self.inbox.arena()
    }

    fn topic(&self, name: &str) -> Option<u32> {
        self.inbox.topic(name)
    }

    fn offer(&self, message: Held<WakuRecord>) -> Result<(), Refused> {
        if self.refuses.load(Relaxed) && message.payload().first() == Some(&b'A') {
            return Err(Refused::Full(message));
        }
        self.inbox.offer(message)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_lane_stops_one_stream_and_no_other() {
    let (inbox, mut messages) = Inbox::new(usize::MAX, 1 << 26);
    let picky = Arc::new(Picky { inbox, refuses: AtomicBool::new(true) });
    let (handle, task) = start(config(), picky.clone()).await.unwrap();
    tokio::spawn(task);
    handle.subscribe(TOPIC).await.unwrap();
    let address = handle.listen_addresses().remove(0);
    let a = Node::start(dialling(&address)).await;
    let b = Node::start_stock(dialling(&address)).await;
    a.meshed(1).await;
    b.meshed(1).await;
    assert_eq!(a.publish(b"A first").await, Ok(1));
    until(async || handle.stalled_for().is_some()).await;
    picky.refuses.store(false, Relaxed);
    assert_eq!(within(messages.recv()).await.unwrap().payload(), b"A first");
    until(async || handle.stalled_for().is_none()).await;
    picky.refuses.store(true, Relaxed);
    for number in 0..40_u8 {
        assert_eq!(a.handle.publish(TOPIC, Bytes::from(vec![b'A', number]), None).await, Ok(1));
    }
    until(async || handle.stalled_for().is_some()).await;
    for number in 0..40_u8 {
        assert_eq!(b.handle.publish(TOPIC, Bytes::from(vec![b'B', number]), None).await, Ok(1));
        assert_eq!(within(messages.recv()).await.unwrap().payload(), [b'B', number]);
    }
    assert!(handle.stalled_for().is_some());
    picky.refuses.store(false, Relaxed);
    for number in 0..40_u8 {
        assert_eq!(within(messages.recv()).await.unwrap().payload(), [b'A', number]);
    }
    until(async || handle.stalled_for().is_none()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_found_no_room_survives_its_connection() {
    let (inbox, mut messages) = Inbox::new(usize::MAX, 1 << 26);
    let picky = Arc::new(Picky { inbox, refuses: AtomicBool::new(true) });
    let (handle, task) = start(config(), picky.clone()).await.unwrap();
    tokio::spawn(task);
    handle.subscribe(TOPIC).await.unwrap();
    let a = Node::start(dialling(&handle.listen_addresses().remove(0))).await;
    a.meshed(1).await;
    assert_eq!(a.publish(b"A last word").await, Ok(1));
    until(async || handle.stalled_for().is_some()).await;
    a.handle.shutdown();
    within(a.task).await.unwrap();
    until(async || handle.stalled_for().is_none()).await;
    picky.refuses.store(false, Relaxed);
    assert_eq!(within(messages.recv()).await.unwrap().payload(), b"A last word");
}

#[tokio::test(flavor = "multi_thread")]
async fn nonsense_costs_its_sender_the_connection_and_nobody_else_anything() {
    let mut node = Node::start(config()).await;
    let other = Node::start(dialling(&node.tcp())).await;
    other.meshed(1).await;
    let malformed = counters::FRAMES_MALFORMED.value();
    let too_long = [0xff, 0xff, 0xff, 0x7f].to_vec();
    let beyond_its_frame = vec![2, 0x12, 5];
    let no_control = vec![4, 0x1a, 2, 0x0a, 9];
    for (number, bytes) in [too_long, beyond_its_frame, no_control].into_iter().enumerate() {
        let mut peer = raw::relay_writer();
        let id = raw::connect(&mut peer, &node.tcp()).await;
        peer.behaviour_mut().send_request(&id, Ask { bytes, after: None });
        raw::event(&mut peer, |event| matches!(event, SwarmEvent::ConnectionClosed { .. }).then_some(())).await;
        assert_eq!(counters::FRAMES_MALFORMED.value(), malformed + 1 + number as u64);
    }
    assert_eq!(other.publish(b"all is well").await, Ok(1));
    assert_eq!(node.receive().await.data, b"all is well");
    until(async || node.handle.connected_count() == 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_breaks_is_opened_again_and_given_up_after_five_times() {
    let node = Node::start(config()).await;
    let codec = ToTheEnd::default();
    let mut peer = raw::relay_writer_for(Duration::from_millis(100), codec.clone());
    let id = raw::connect(&mut peer, &node.tcp()).await;
    let mut joining = vec![20, 0x0a, 18, 0x08, 1, 0x12, 14];
    joining.extend_from_slice(TOPIC.as_bytes());
    peer.behaviour_mut().send_request(&id, Ask { bytes: joining, after: None });
    let handle = node.handle.clone();
    let publisher = tokio::spawn(async move {
        for number in 0_u32.. {
            // Whoever is in the topic, or nobody: what counts is that something is written.
            let _ = handle.publish(TOPIC, number.to_be_bytes().to_vec().into(), None).await;
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    raw::event(&mut peer, |event| matches!(event, SwarmEvent::ConnectionClosed { .. }).then_some(())).await;
    publisher.abort();
    assert_eq!(codec.streams.load(Relaxed), 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_peer_that_comes_back_with_its_identity_takes_part_again() {
    let same = NetConfig { tcp_port: fixed_port(3), ..config() };
    let first = Node::start(same.clone()).await;
    let mut node = Node::start(dialling(&first.tcp())).await;
    node.meshed(1).await;
    first.handle.shutdown();
    within(first.task).await.unwrap();
    until(async || node.handle.connected_count() == 0).await;
    node.meshed(0).await;
    let mut second = Node::start(same).await;
    until(async || second.publish(b"back again").await == Ok(1)).await;
    assert_eq!(node.receive().await.data, b"back again");
    assert_eq!(node.publish(b"welcome").await, Ok(1));
    assert_eq!(second.receive().await.data, b"welcome");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_leaves_a_topic_leaves_the_mesh_and_may_return() {
    for other in [Own, Stock] {
        let own = Node::start(config()).await;
        let mut other = node(other, dialling(&own.tcp())).await;
        own.meshed(1).await;
        other.meshed(1).await;
        assert_eq!(other.handle.unsubscribe(TOPIC).await, Ok(true));
        own.meshed(0).await;
        until(async || own.publish(b"to nobody").await == Err(PublishError::NoPeers)).await;
        assert_eq!(other.handle.subscribe(TOPIC).await, Ok(true));
        until(async || own.publish(b"to who is there again").await == Ok(1)).await;
        assert_eq!(other.receive().await.data, b"to who is there again");
    }
}
