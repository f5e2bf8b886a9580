//! Subscriptions, JOIN and LEAVE.

use levada_router::{JoinError, Subscribed, Verdict};

use crate::fixture::{Node, Said, TOPIC};

#[test]
fn a_new_peer_is_told_the_joined_topics() {
    let mut node = Node::new();
    node.router.join("b", node.now, &mut node.out).unwrap();
    node.out.clear();
    let peer = node.connect(|_| ());
    let announce = |topic: &str| Said::Announce { topic: topic.into(), joined: true, to: vec![peer] };
    assert_eq!(node.said(), [announce(TOPIC), announce("b")]);
}

#[test]
fn all_peers_are_told_of_join_and_leave() {
    let mut node = Node::outside(|_| ());
    let peers = vec![node.connect(|_| ()), node.connect(|_| ())];
    let (topic, is_new) = node.router.join(TOPIC, node.now, &mut node.out).unwrap();
    assert!(is_new);
    assert_eq!(node.said(), [Said::Announce { topic: TOPIC.into(), joined: true, to: peers.clone() }]);
    assert_eq!(node.router.join(TOPIC, node.now, &mut node.out), Ok((topic, false)));
    assert!(node.router.leave(topic, node.now, &mut node.out));
    assert_eq!(node.said(), [Said::Announce { topic: TOPIC.into(), joined: false, to: peers }]);
    assert!(!node.router.leave(topic, node.now, &mut node.out));
}

#[test]
fn join_fills_the_mesh_to_d_and_grafts() {
    let mut node = Node::outside(|_| ());
    node.peers(20);
    node.router.join(TOPIC, node.now, &mut node.out).unwrap();
    let mut grafted = node.grafted();
    let mut mesh = node.mesh().to_vec();
    grafted.sort_unstable();
    mesh.sort_unstable();
    assert_eq!((mesh.len(), mesh), (6, grafted));
}

#[test]
fn join_takes_the_fanout_first() {
    let mut node = Node::outside(|config| config.flood_publish = false);
    node.peers(20);
    node.publish(1).unwrap();
    let mut fanout = node.router.fanout(node.topic()).to_vec();
    node.router.join(TOPIC, node.now, &mut node.out).unwrap();
    let mut mesh = node.mesh().to_vec();
    fanout.sort_unstable();
    mesh.sort_unstable();
    assert_eq!((fanout.len(), fanout), (6, mesh));
    assert!(node.router.fanout(node.topic()).is_empty());
}

#[test]
fn leave_prunes_the_mesh_with_the_short_backoff() {
    let mut node = Node::new();
    let peers = node.mesh_peers(5);
    node.router.leave(node.topic(), node.now, &mut node.out);
    let said = node.said();
    for peer in &peers {
        assert!(said.contains(&Said::Prune { backoff_s: Some(5), to: *peer }), "{said:?}");
    }
    node.router.join(TOPIC, node.now, &mut node.out).unwrap();
    assert!(node.mesh().is_empty(), "the backoff holds for this node too");
    node.wait(7);
    node.beat();
    assert_eq!(node.mesh().len(), 5);
}

#[test]
fn a_subscriber_is_grafted_at_once_while_the_mesh_is_short() {
    let mut node = Node::new();
    for count in 1..8 {
        node.peer();
        assert_eq!(node.mesh().len(), count.min(4));
    }
}

#[test]
fn a_peer_that_unsubscribes_leaves_mesh_and_topic_without_a_prune() {
    let mut node = Node::new();
    let peer = node.mesh_peers(1)[0];
    let unsubscribe = |node: &mut Node| node.router.subscription(peer, TOPIC, false, node.now, &mut node.out);
    assert_eq!(unsubscribe(&mut node), Subscribed::Changed(node.topic()));
    assert_eq!(unsubscribe(&mut node), Subscribed::Unchanged);
    assert!(node.mesh().is_empty() && node.said().is_empty());
    assert_eq!(node.router.subscribers(node.topic()).count(), 0);
}

#[test]
fn a_peer_that_disconnects_is_gone_from_everywhere() {
    let mut node = Node::new();
    let peers = node.mesh_peers(3);
    assert_eq!(node.receive(peers[0], 1), levada_router::Received::New);
    node.router.disconnected(peers[0], node.now);
    node.router.disconnected(peers[1], node.now);
    node.router.disconnected(peers[1], node.now);
    node.out.clear();
    assert!(node.judge(1, Verdict::Accept));
    assert_eq!(node.sent(1), [peers[2]]);
    assert_eq!((node.mesh(), node.router.usage().peers), (&peers[2..], 1));
    assert!(node.router.peer(peers[0]).is_none() && !node.router.accepts(peers[0]));
}

#[test]
fn a_topic_that_nobody_is_in_is_forgotten() {
    let mut node = Node::outside(|_| ());
    let peer = node.connect(|_| ());
    node.subscribe(peer, "a");
    node.subscribe(peer, "b");
    assert_eq!(node.router.usage().topics, 2);
    node.router.subscription(peer, "a", false, node.now, &mut node.out);
    node.router.disconnected(peer, node.now);
    assert_eq!((node.router.usage().topics, node.router.topic("a")), (0, None));
    let (topic, _) = node.router.join("c", node.now, &mut node.out).unwrap();
    node.router.leave(topic, node.now, &mut node.out);
    node.beats(62);
    assert_eq!(node.router.usage().topics, 0, "an own topic lingers for the backoff");
}

#[test]
fn joins_are_limited() {
    let mut node = Node::outside(|config| config.limits.joined_max = 1);
    node.router.join("a", node.now, &mut node.out).unwrap();
    assert_eq!(node.router.join("b", node.now, &mut node.out), Err(JoinError::Full { joined_max: 1 }));
    let long = "x".repeat(257);
    let error = JoinError::NameTooLong { bytes: 257, bytes_max: 256 };
    assert_eq!(node.router.join(&long, node.now, &mut node.out), Err(error));
}
