use std::time::Duration;

use levada_router::{Config, Message, Rng};
use levada_wire::gossipsub::{PublishHeader, RpcItem, RpcLimits, RpcWalk};
use levada_wire::varint;

use super::*;
use crate::NodeKey;
use crate::relay::own::outgoing::Payload;
use crate::relay::own::queue::{Frame, QueueLimits};

const TOPIC: &str = "/waku/2/rs/1/0";
const RPC_BYTES_MAX: usize = 300;
const LIMITS: QueueLimits = QueueLimits {
    bytes_max: 1_000_000,
    control_bytes_max: 100_000,
    published_for: Duration::from_secs(5),
    forwarded_for: Duration::from_secs(1),
};

/// A core in one topic.
fn core() -> Core {
    let router = Router::new(Config::default(), Rng::new(7)).expect("the default fits together");
    let mut core = Core::new(router, 1, RPC_BYTES_MAX);
    let (topic, _) = core.router.join(TOPIC, Moment::ZERO, &mut core.actions).expect("there is room");
    core.joined.insert(TOPIC.to_owned(), topic);
    core.dispatch(Moment::ZERO);
    core
}

fn connect(core: &mut Core, peer: PeerId, connection: usize) -> Arc<Link> {
    let link = Arc::new(Link::new(LIMITS));
    core.connect(peer, ConnectionId::new_unchecked(connection), false, None, link.clone());
    core.agree(peer, ConnectionId::new_unchecked(connection), Protocol::Waku, Moment::ZERO);
    link
}

/// The bodies of the control frames that wait.
fn control(link: &Link) -> Vec<Bytes> {
    let Some(Frame::Control(mut rest)) = link.queue().pop(Moment::ZERO) else { return Vec::new() };
    let mut bodies = Vec::new();
    while !rest.is_empty() {
        let (length, prefix) = varint::decode(&rest).expect("a length");
        let _ = rest.split_to(prefix);
        bodies.push(rest.split_to(length as usize));
    }
    bodies
}

/// Whether the frames are one subscription to the topic.
fn is_announcement(frames: &[Bytes]) -> bool {
    let [body] = frames else { return false };
    let mut items = RpcWalk::new(body, RpcLimits::default()).expect("a short frame");
    matches!(items.next(), Some(Ok(RpcItem::Subscription { subscribe: true, topic })) if topic.of(body) == TOPIC.as_bytes())
}

/// Whether the frames are one graft to the topic.
fn is_graft(frames: &[Bytes]) -> bool {
    let [body] = frames else { return false };
    let mut items = RpcWalk::new(body, RpcLimits::default()).expect("a short frame");
    matches!(items.next(), Some(Ok(RpcItem::Graft { topic })) if topic.of(body) == TOPIC.as_bytes())
}

fn hear_subscription(core: &mut Core, peer: &PeerId, topic: &str) {
    let mut entry = BytesMut::new();
    gossipsub::subscribe(topic, true, &mut entry);
    let index = core.index_of(peer).expect("the peer is known");
    core.hear(index, &entry, RpcLimits::default(), Moment::ZERO).expect("it parses");
}

#[test]
fn the_second_connection_of_a_peer_takes_over_and_the_peer_stays_known() {
    let (mut core, peer) = (core(), NodeKey::generate().peer_id());
    let first = connect(&mut core, peer, 1);
    assert!(is_announcement(&control(&first)));
    let second = connect(&mut core, peer, 2);
    assert!(control(&second).is_empty(), "the first one is written to");
    hear_subscription(&mut core, &peer, TOPIC);
    let index = core.index_of(&peer);
    core.disconnect(peer, ConnectionId::new_unchecked(1), Moment::ZERO);
    assert_eq!(core.index_of(&peer), index);
    let frames = control(&second);
    let (announcement, waiting) = frames.split_last().expect("two frames");
    assert!(is_announcement(std::slice::from_ref(announcement)), "what the first one has sent may be lost");
    assert!(is_graft(waiting), "what it still held is not");
    core.disconnect(peer, ConnectionId::new_unchecked(2), Moment::ZERO);
    assert_eq!((core.index_of(&peer), core.router.usage().peers), (None, 0));
    assert!(core.occupants.iter().all(Option::is_none));
}

/// Of two connections that crossed, either one may have the first stream, and either one may be the one that stays.
#[test]
fn the_older_connection_takes_over_from_the_newer_one_if_that_had_the_first_stream() {
    let (mut core, peer) = (core(), NodeKey::generate().peer_id());
    let [older, newer] = [1, 2].map(|connection| {
        let link = Arc::new(Link::new(LIMITS));
        core.connect(peer, ConnectionId::new_unchecked(connection), false, None, link.clone());
        link
    });
    core.agree(peer, ConnectionId::new_unchecked(2), Protocol::Waku, Moment::ZERO);
    core.agree(peer, ConnectionId::new_unchecked(1), Protocol::Waku, Moment::ZERO);
    assert!(is_announcement(&control(&newer)) && control(&older).is_empty());
    assert!(newer.queue().push_control(b"\x03abc"));
    core.disconnect(peer, ConnectionId::new_unchecked(2), Moment::ZERO);
    let [waiting, announcement] = &control(&older)[..] else { panic!("two frames") };
    assert_eq!(waiting[..], b"abc"[..], "what the newer one still held goes over the older one");
    assert!(is_announcement(std::slice::from_ref(announcement)));
    core.disconnect(peer, ConnectionId::new_unchecked(1), Moment::ZERO);
    assert!(core.occupants.iter().all(Option::is_none));
}

#[test]
fn a_connection_that_is_not_written_to_goes_and_nothing_changes() {
    let (mut core, peer) = (core(), NodeKey::generate().peer_id());
    let first = connect(&mut core, peer, 1);
    assert!(is_announcement(&control(&first)));
    connect(&mut core, peer, 2);
    core.disconnect(peer, ConnectionId::new_unchecked(2), Moment::ZERO);
    core.announce_again(&peer);
    assert!(is_announcement(&control(&first)));
}

#[test]
fn topics_of_other_clusters_leave_nothing_behind() {
    let (mut core, peer) = (core(), NodeKey::generate().peer_id());
    connect(&mut core, peer, 1);
    for other in ["/waku/2/rs/2/0", "/waku/2/rs/1/65536", "/waku/2/default-waku/proto", ""] {
        hear_subscription(&mut core, &peer, other);
    }
    assert_eq!(core.router.usage().topics, 1);
    hear_subscription(&mut core, &peer, "/waku/2/rs/1/3");
    assert_eq!(core.router.usage().topics, 2);
}

#[test]
fn long_gossip_is_split_into_frames_that_peers_read() {
    const MESSAGES: u32 = 60;
    let (mut core, peer) = (core(), NodeKey::generate().peer_id());
    let link = connect(&mut core, peer, 1);
    hear_subscription(&mut core, &peer, TOPIC);
    let (index, topic) = (core.index_of(&peer).expect("it is known"), core.joined[TOPIC]);
    // Outside of the mesh it is sent gossip.
    core.router.prune(index, topic, Some(60), Moment::ZERO);
    for number in 0..MESSAGES {
        let id = sha256(&number.to_be_bytes());
        let header = PublishHeader::new(TOPIC, 4).expect("a short frame");
        let data = Payload::Bytes(Bytes::copy_from_slice(&number.to_be_bytes()));
        let handle = Some(Outgoing::new(header, core.topic_field(topic), data));
        let message = Message { id, topic, bytes: 4, handle };
        core.router.publish(message, Moment::ZERO, &mut core.actions).expect("the peer is there");
    }
    core.actions.clear();
    control(&link);
    core.router.heartbeat(Moment::ZERO, &mut core.actions);
    core.dispatch(Moment::ZERO);
    let frames = control(&link);
    assert!(frames.len() > 1 && frames.iter().all(|body| body.len() <= RPC_BYTES_MAX));
    let ids = frames.iter().flat_map(|body| RpcWalk::new(body, RpcLimits::default()).expect("a short frame"));
    let count: u32 = ids.map(|item| if let Ok(RpcItem::IHave { ids, .. }) = item { ids.count } else { 0 }).sum();
    assert_eq!(count, MESSAGES);
}

#[test]
fn a_peer_that_misses_a_control_frame_is_disconnected() {
    let (mut core, peer) = (core(), NodeKey::generate().peer_id());
    let limits = QueueLimits { control_bytes_max: 10, ..LIMITS };
    let connection = ConnectionId::new_unchecked(1);
    core.connect(peer, connection, false, None, Arc::new(Link::new(limits)));
    core.agree(peer, connection, Protocol::Waku, Moment::ZERO);
    let told = core.events.poll(futures::task::noop_waker_ref());
    assert!(matches!(told, Some(super::super::events::Told::ClosePeer(closed)) if closed == peer));
}
