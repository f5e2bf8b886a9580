//! Own messages.

use levada_router::{Protocol, PublishError, Reason};

use crate::fixture::{Node, Said, TOPIC};

#[test]
fn flood_publishing_reaches_every_subscriber_whether_joined_or_not() {
    for joined in [true, false] {
        let mut node = if joined { Node::new() } else { Node::outside(|_| ()) };
        let mut peers = node.peers(20);
        peers.push(node.peer_with(|info| info.protocol = Protocol::Floodsub));
        peers.push(node.peer_with(|info| info.direct = true));
        node.connect(|_| ());
        node.out.clear();
        node.publish(1).unwrap();
        let said = node.said();
        let [Said::Send { id: 1, reason: Reason::Published, to }] = &said[..] else { panic!("{said:?}") };
        let mut to = to.clone();
        to.sort_unstable();
        assert_eq!(to, peers);
        assert!(node.router.fanout(node.topic()).is_empty(), "flooding needs no fanout");
    }
}

#[test]
fn flood_publishing_is_capped_by_bandwidth_but_reaches_mesh_and_d_lo() {
    // At 100 kbit/s a heartbeat carries twelve messages of 1 000 bytes.
    let mut node = Node::with(|config| config.flood_bits_per_s = 100_000);
    let mesh = node.mesh_peers(5);
    node.peers(30);
    node.publish(1).unwrap();
    let sent = node.sent(1);
    assert_eq!(sent.len(), 12);
    assert!(mesh.iter().all(|peer| sent.contains(peer)));
    let mut node = Node::outside(|config| config.flood_bits_per_s = 1);
    node.peers(30);
    node.publish(1).unwrap();
    assert_eq!(node.sent(1).len(), 4);
}

#[test]
fn peers_below_the_publish_threshold_get_no_own_messages_unless_direct() {
    let mut node = Node::new();
    let peers = node.peers(2);
    let direct = node.peer_with(|info| info.direct = true);
    node.router.penalise(peers[0], 11.0);
    node.router.penalise(direct, 11.0);
    assert!(node.score(peers[0]) < -1_000.0);
    node.publish(1).unwrap();
    assert_eq!(node.sent(1), [peers[1], direct]);
    node.router.penalise(peers[1], 11.0);
    node.router.disconnected(direct, node.now);
    assert_eq!(node.publish(2), Err(PublishError::NoPeers));
}

#[test]
fn without_flooding_the_mesh_and_floodsub_peers_get_own_messages() {
    let mut node = Node::with(|config| config.flood_publish = false);
    let mut expected = node.mesh_peers(5);
    node.peers(10);
    expected.push(node.peer_with(|info| info.protocol = Protocol::Floodsub));
    node.publish(1).unwrap();
    assert_eq!(node.sent(1), expected);
}

#[test]
fn without_flooding_and_without_a_mesh_d_subscribers_get_own_messages() {
    let mut node = Node::with(|config| {
        config.flood_publish = false;
        config.mesh.degrees.low = 0;
        config.mesh.degrees.outbound = 0;
        config.mesh.degrees.target = 3;
        config.mesh.degrees.score = 3;
    });
    node.peers(10);
    node.publish(1).unwrap();
    assert_eq!((node.mesh().len(), node.sent(1).len()), (0, 3));
    assert!(node.router.fanout(node.topic()).is_empty());
}

#[test]
fn without_flooding_a_topic_that_is_not_joined_has_a_fanout_of_d() {
    let mut node = Node::outside(|config| config.flood_publish = false);
    node.peers(9);
    node.publish(1).unwrap();
    let first = node.sent(1);
    assert_eq!(first.len(), 6);
    node.publish(2).unwrap();
    assert_eq!(node.sent(2), first, "the same peers again");
    node.router.disconnected(first[0], node.now);
    node.beat();
    assert_eq!(node.router.fanout(node.topic()).len(), 6, "filled up by the heartbeat");
    let mut announced = node.announced();
    let (ids, to) = announced.pop().unwrap();
    assert_eq!(ids, [1, 2]);
    assert!(to.iter().all(|peer| !first.contains(peer)), "gossip goes to the others");
    assert_eq!(to.len(), 2);
}

#[test]
fn a_fanout_ends_a_minute_after_the_last_publication() {
    let mut node = Node::outside(|config| config.flood_publish = false);
    node.peers(20);
    node.publish(1).unwrap();
    node.wait(30);
    node.publish(2).unwrap();
    node.beats(59);
    assert!(!node.router.fanout(node.topic()).is_empty());
    node.beat();
    assert!(node.router.fanout(node.topic()).is_empty());
}

#[test]
fn a_message_without_anybody_to_take_it_is_an_error_and_can_be_tried_again() {
    let mut node = Node::new();
    assert_eq!(node.publish(1), Err(PublishError::NoPeers));
    let peer = node.peer();
    assert_eq!(node.publish(1), Ok(()));
    assert_eq!(node.sent(1), [peer]);
    assert_eq!(Node::outside(|_| ()).publish(1), Err(PublishError::NoPeers));
}

#[test]
fn a_message_that_was_published_or_received_is_an_error() {
    let mut node = Node::new();
    let peer = node.peer();
    node.publish(1).unwrap();
    assert_eq!(node.publish(1), Err(PublishError::Duplicate));
    node.receive(peer, 2);
    assert_eq!(node.publish(2), Err(PublishError::Duplicate));
}

#[test]
fn the_largest_message_is_exact_and_in_the_error() {
    let mut node = Node::new();
    node.peer();
    let topic = node.topic();
    assert_eq!(node.router.message_bytes_max(topic), 153_576);
    let message = |bytes, number| levada_router::Message { id: crate::fixture::id(number), topic, bytes, handle: 0 };
    let error = PublishError::TooLarge { bytes: 153_577, bytes_max: 153_576 };
    assert_eq!(node.router.publish(message(153_577, 1), node.now, &mut node.out), Err(error));
    assert_eq!(node.router.publish(message(153_576, 1), node.now, &mut node.out), Ok(()));
    assert_eq!(TOPIC.len(), 14);
}

#[test]
fn own_messages_are_gossiped_and_answered() {
    let mut node = Node::with(|config| config.flood_publish = false);
    node.mesh_peers(6);
    let other = node.peer();
    node.publish(1).unwrap();
    node.out.clear();
    node.beat();
    assert_eq!(node.announced(), [(vec![1], vec![other])]);
    node.iwant(other, [1]);
    assert_eq!(node.sent(1), [other]);
}
