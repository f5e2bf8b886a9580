//! Messages that come in, and verdicts.

use std::time::Duration;

use levada_router::{Action, Incoming, Protocol, Received, Refusal, Verdict};

use crate::fixture::{Node, TOPIC, id};

#[test]
fn an_accepted_message_goes_to_the_mesh_but_never_back_to_a_sender() {
    let mut node = Node::new();
    let mesh = node.mesh_peers(6);
    let outside = node.peer();
    assert_eq!(node.receive(mesh[0], 1), Received::New);
    assert_eq!(node.receive(mesh[1], 1), Received::Duplicate);
    assert_eq!(node.receive(mesh[1], 1), Received::Duplicate);
    assert_eq!(node.receive(outside, 1), Received::Duplicate);
    node.out.clear();
    assert!(node.judge(1, Verdict::Accept));
    assert_eq!(node.sent(1), mesh[2..]);
    assert_eq!(node.receive(mesh[2], 1), Received::Duplicate);
    assert!(!node.judge(1, Verdict::Accept), "a message is judged once");
}

#[test]
fn the_handle_of_a_message_may_be_exchanged_until_its_verdict() {
    let mut node = Node::new();
    let mesh = node.mesh_peers(2);
    node.receive(mesh[0], 1);
    node.out.clear();
    node.router.awaiting(&id(1)).unwrap().handle = 77;
    assert!(node.judge(1, Verdict::Accept));
    assert!(matches!(node.out.iter().next(), Some(Action::Send { message, .. }) if message.handle == 77));
    assert!(node.router.awaiting(&id(1)).is_none() && node.router.awaiting(&id(2)).is_none());
}

#[test]
fn nothing_goes_on_before_the_verdict_or_without_acceptance() {
    let mut node = Node::new();
    let mesh = node.mesh_peers(3);
    for (message, verdict) in [(1, Verdict::Reject), (2, Verdict::Ignore)] {
        node.receive(mesh[0], message);
        assert!(node.sent(message).is_empty());
        assert!(node.judge(message, verdict));
        assert!(node.sent(message).is_empty());
        node.iwant(mesh[1], [message]);
        assert!(node.sent(message).is_empty(), "it is not in the message cache");
    }
    node.beat();
    assert!(node.announced().is_empty());
}

#[test]
fn floodsub_and_direct_peers_get_everything_in_their_topics() {
    let mut node = Node::new();
    let sender = node.peer();
    let floodsub = node.peer_with(|info| info.protocol = Protocol::Floodsub);
    let direct = node.peer_with(|info| info.direct = true);
    let elsewhere = node.connect(|info| info.direct = true);
    node.subscribe(elsewhere, "other");
    node.out.clear();
    node.relay(sender, 1);
    assert_eq!(node.sent(1), [floodsub, direct]);
    node.relay(direct, 2);
    assert!(node.sent(2).contains(&floodsub));
}

#[test]
fn a_message_is_known_for_two_minutes_and_forgotten_after_four() {
    let mut node = Node::new();
    let peer = node.peer();
    node.relay(peer, 1);
    node.beats(120);
    assert_eq!(node.receive(peer, 1), Received::Duplicate);
    node.beats(120);
    assert_eq!(node.receive(peer, 1), Received::New);
}

#[test]
fn a_message_on_a_topic_that_is_not_joined_is_dropped() {
    let mut node = Node::outside(|_| ());
    let peer = node.peer();
    assert_eq!(node.receive(peer, 1), Received::Refused(Refusal::NotJoined));
    assert_eq!(node.router.usage().pending, 0);
    node.router.join(TOPIC, node.now, &mut node.out).unwrap();
    assert_eq!(node.receive(peer, 1), Received::New);
}

#[test]
fn a_topic_left_before_the_verdict_forwards_nothing() {
    let mut node = Node::new();
    let mesh = node.mesh_peers(3);
    node.receive(mesh[0], 1);
    node.router.leave(node.topic(), node.now, &mut node.out);
    node.out.clear();
    assert!(node.judge(1, Verdict::Accept));
    assert!(node.sent(1).is_empty());
}

#[test]
fn a_message_that_is_not_anonymous_is_rejected_and_suppresses_nothing() {
    let mut node = Node::new();
    let mesh = node.mesh_peers(2);
    let signed = Incoming { id: id(1), topic: node.topic(), bytes: 1_000, anonymous: false, handle: 1 };
    let received = node.router.received(mesh[0], signed, node.now, &mut node.out);
    assert_eq!(received, Received::Refused(Refusal::NotAnonymous));
    assert_eq!(node.score(mesh[0]), -100.0);
    assert_eq!(node.receive(mesh[1], 1), Received::New);
}

#[test]
fn a_message_too_large_to_pass_on_is_refused() {
    let mut node = Node::new();
    let peer = node.peer();
    assert_eq!(node.receive_bytes(peer, 1, 153_577), Received::Refused(Refusal::TooLarge));
    assert_eq!(node.receive_bytes(peer, 2, 153_576), Received::New);
}

#[test]
fn rejection_penalises_everybody_who_sent_it_before_and_after() {
    let mut node = Node::new();
    let peers = node.peers(3);
    node.receive(peers[0], 1);
    node.receive(peers[1], 1);
    node.judge(1, Verdict::Reject);
    assert_eq!((node.score(peers[0]), node.score(peers[1]), node.score(peers[2])), (-100.0, -100.0, 0.0));
    assert_eq!(node.receive(peers[2], 1), Received::Duplicate);
    assert_eq!(node.score(peers[2]), -100.0);
}

#[test]
fn ignoring_penalises_nobody() {
    let mut node = Node::new();
    let peers = node.peers(2);
    node.receive(peers[0], 1);
    node.judge(1, Verdict::Ignore);
    node.receive(peers[1], 1);
    node.beat();
    assert!(peers.iter().all(|peer| node.score(*peer) >= 0.0));
}

#[test]
fn the_first_sender_is_rewarded_and_the_others_only_within_the_mesh() {
    let mut node = Node::with(|config| {
        config.score.topic.mesh_deliveries_weight = -1.0;
        config.score.topic.mesh_deliveries_threshold = 1.0;
        config.score.topic.mesh_deliveries_activation = Duration::ZERO;
        config.score.topic.time_in_mesh_weight = 0.0;
    });
    let mesh = node.mesh_peers(4);
    node.receive(mesh[0], 1);
    node.receive(mesh[1], 1);
    node.judge(1, Verdict::Accept);
    node.receive(mesh[2], 1);
    node.now = node.now.after(Duration::from_millis(6));
    node.receive(mesh[3], 1);
    node.beat();
    // P2 for the first; a deficit of one delivery for the one that was too late.
    let scores: Vec<f64> = mesh.iter().map(|peer| node.score(*peer)).collect();
    assert_eq!(scores, [1.0, 0.0, 0.0, -1.0]);
}

#[test]
fn a_message_that_nobody_judges_is_given_up() {
    let mut node = Node::new();
    let peer = node.peer();
    node.receive(peer, 1);
    node.beats(121);
    assert_eq!(node.router.usage().pending, 0);
    assert!(!node.judge(1, Verdict::Accept));
}

#[test]
fn an_own_message_that_comes_back_is_a_duplicate() {
    let mut node = Node::new();
    let peer = node.peer();
    node.publish(1).unwrap();
    assert_eq!(node.receive(peer, 1), Received::Duplicate);
}
