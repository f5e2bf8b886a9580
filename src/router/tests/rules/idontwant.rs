//! IDONTWANT.

use levada_router::{Protocol, Verdict};

use crate::fixture::{Node, Said};

#[test]
fn a_large_message_is_declined_at_once_to_the_mesh_but_not_to_its_sender() {
    let mut node = Node::new();
    let mesh = node.mesh_peers(4);
    node.peers(3);
    node.receive_bytes(mesh[0], 1, 513);
    assert_eq!(node.said(), [Said::IDontWant { id: 1, to: mesh[1..].to_vec() }], "before any verdict");
    node.receive_bytes(mesh[1], 1, 513);
    assert!(node.said().is_empty(), "once");
}

#[test]
fn a_small_or_an_own_message_is_not_declined() {
    let mut node = Node::new();
    let mesh = node.mesh_peers(4);
    node.receive_bytes(mesh[0], 1, 512);
    assert!(node.said().is_empty());
    node.publish(2).unwrap();
    assert!(node.said().iter().all(|said| matches!(said, Said::Send { .. })));
}

#[test]
fn only_peers_that_understand_are_told() {
    let mut node = Node::new();
    let sender = node.peer();
    let protocols =
        [Protocol::Floodsub, Protocol::Gossipsub10, Protocol::Gossipsub11, Protocol::Gossipsub12, Protocol::Waku];
    let peers = protocols.map(|protocol| {
        let peer = node.peer_with(|info| info.protocol = protocol);
        node.graft(peer);
        peer
    });
    node.out.clear();
    node.receive(sender, 1);
    assert_eq!(node.said(), [Said::IDontWant { id: 1, to: peers[3..].to_vec() }]);
}

#[test]
fn what_a_peer_does_not_want_is_not_forwarded_or_published_to_it() {
    let mut node = Node::new();
    let mesh = node.mesh_peers(4);
    node.idontwant(mesh[1], [1]);
    node.relay(mesh[0], 1);
    assert_eq!(node.sent(1), mesh[2..]);
    node.idontwant(mesh[3], [2]);
    node.publish(2).unwrap();
    assert_eq!(node.sent(2), mesh[..3]);
    assert_eq!(node.router.counters().idontwant_saved, 2);
}

#[test]
fn it_is_honoured_from_every_version_and_while_the_message_awaits_its_verdict() {
    let mut node = Node::new();
    let mesh = node.mesh_peers(2);
    let old = node.peer_with(|info| info.protocol = Protocol::Gossipsub10);
    node.graft(old);
    node.receive(mesh[0], 1);
    node.idontwant(old, [1]);
    node.judge(1, Verdict::Accept);
    assert_eq!(node.sent(1), [mesh[1]]);
}

#[test]
fn what_may_wait_in_a_send_queue_is_cancelled() {
    let mut node = Node::new();
    let mesh = node.mesh_peers(3);
    node.relay(mesh[0], 1);
    node.out.clear();
    node.idontwant(mesh[1], [1, 2]);
    assert_eq!(node.said(), [Said::Cancel { id: 1, to: mesh[1] }], "2 was never sent");
}

#[test]
fn asking_counts_more_than_declining_before() {
    let mut node = Node::new();
    let mesh = node.mesh_peers(3);
    node.idontwant(mesh[1], [1]);
    node.relay(mesh[0], 1);
    node.out.clear();
    node.iwant(mesh[1], [1]);
    assert_eq!(node.sent(1), [mesh[1]]);
    assert_eq!(node.router.usage().dont_want, 0);
}

#[test]
fn it_is_forgotten_after_three_heartbeats() {
    let mut node = Node::new();
    let mesh = node.mesh_peers(3);
    node.idontwant(mesh[1], [1]);
    node.beats(2);
    assert_eq!(node.router.usage().dont_want, 1);
    node.beat();
    assert_eq!(node.router.usage().dont_want, 0);
    node.relay(mesh[0], 1);
    assert_eq!(node.sent(1), mesh[1..]);
}

#[test]
fn a_thousand_per_heartbeat_are_remembered() {
    let mut node = Node::new();
    let peer = node.peer();
    node.idontwant(peer, 0..3_000);
    assert_eq!(node.router.usage().dont_want, 1_000);
    assert_eq!(node.router.counters().idontwant_ignored, 2_000);
    for beat in 1..10 {
        node.beat();
        node.idontwant(peer, beat * 10_000..beat * 10_000 + 3_000);
        assert!(node.router.usage().dont_want <= 3_000);
    }
    assert!(node.score(peer) >= 0.0, "it costs the peer nothing");
}
