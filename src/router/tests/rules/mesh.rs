//! GRAFT and PRUNE from peers.

use levada_router::Protocol;

use crate::fixture::{Node, Said, TOPIC};

#[test]
fn a_graft_on_a_joined_topic_puts_the_peer_into_the_mesh() {
    let mut node = Node::new();
    node.peers(4);
    let peer = node.peer();
    node.graft(peer);
    node.graft(peer);
    assert_eq!(node.mesh().iter().filter(|known| **known == peer).count(), 1);
    assert!(node.said().is_empty());
}

#[test]
fn a_graft_on_a_topic_that_is_not_joined_is_ignored() {
    let mut node = Node::outside(|_| ());
    let peer = node.peer();
    node.graft(peer);
    assert!(node.said().is_empty() && node.mesh().is_empty());
    assert_eq!(node.router.counters().grafts_ignored, 1);
}

#[test]
fn a_prune_takes_the_peer_out_and_it_is_not_grafted_for_its_backoff() {
    let mut node = Node::new();
    let peer = node.mesh_peers(1)[0];
    node.prune(peer, Some(30));
    assert!(!node.in_mesh(peer) && node.said().is_empty(), "PRUNE is not answered");
    node.beats(31);
    assert!(!node.in_mesh(peer), "30 s, and 2 s of slack");
    node.beat();
    assert!(node.in_mesh(peer));
}

#[test]
fn a_prune_without_a_backoff_means_a_minute_and_a_long_one_is_cut() {
    let mut node = Node::new();
    let peers = node.mesh_peers(2);
    node.prune(peers[0], None);
    node.prune(peers[1], Some(u64::MAX));
    node.beats(61);
    assert!(node.mesh().is_empty());
    node.beat();
    assert_eq!(node.mesh(), [peers[0]]);
    node.wait(86_400);
    node.beat();
    assert!(node.in_mesh(peers[1]));
}

#[test]
fn a_graft_within_the_backoff_is_pruned_penalised_and_extends_it() {
    let mut node = Node::new();
    let peer = node.mesh_peers(1)[0];
    node.prune(peer, Some(60));
    node.wait(30);
    node.graft(peer);
    assert_eq!(node.said(), [Said::Prune { backoff_s: Some(60), to: peer }]);
    assert!((node.score(peer) - -10.0 * 0.1 * 0.1).abs() < 1e-9, "{}", node.score(peer));
    node.wait(59);
    node.graft(peer);
    assert!(!node.in_mesh(peer), "the backoff began again");
    assert_eq!(node.router.counters().grafts_in_backoff, 2);
}

#[test]
fn a_graft_right_after_the_prune_counts_twice() {
    let mut node = Node::new();
    let peer = node.mesh_peers(1)[0];
    node.prune(peer, Some(60));
    node.wait(5);
    node.graft(peer);
    assert!((node.score(peer) - -10.0 * 0.2 * 0.2).abs() < 1e-9, "{}", node.score(peer));
}

#[test]
fn a_graft_after_the_backoff_is_welcome() {
    let mut node = Node::new();
    let peer = node.mesh_peers(1)[0];
    node.prune(peer, Some(60));
    node.wait(60);
    node.graft(peer);
    assert!(node.in_mesh(peer) && node.said().is_empty());
    assert_eq!(node.score(peer), 0.0);
}

#[test]
fn a_reconnect_does_not_end_the_backoff() {
    let mut node = Node::new();
    let peer = node.peer_with(|info| info.key = [9; 32]);
    node.prune(peer, Some(60));
    node.router.disconnected(peer, node.now);
    let peer = node.peer_with(|info| info.key = [9; 32]);
    node.graft(peer);
    assert!(!node.in_mesh(peer));
    assert_eq!(node.router.counters().grafts_in_backoff, 1);
}

#[test]
fn a_full_mesh_takes_outbound_peers_only() {
    let mut node = Node::new();
    node.mesh_peers(8);
    let inbound = node.peer();
    node.graft(inbound);
    assert_eq!(node.said(), [Said::Prune { backoff_s: Some(60), to: inbound }]);
    let outbound = node.peer_with(|info| info.outbound = true);
    node.graft(outbound);
    assert!(node.in_mesh(outbound) && !node.in_mesh(inbound));
    assert_eq!(node.score(inbound), 0.0, "it could not know");
}

#[test]
fn a_graft_from_a_direct_peer_is_refused() {
    let mut node = Node::new();
    let direct = node.peer_with(|info| info.direct = true);
    node.graft(direct);
    assert_eq!(node.said(), [Said::Prune { backoff_s: Some(60), to: direct }]);
    assert!(node.mesh().is_empty());
}

#[test]
fn a_graft_from_a_peer_with_a_negative_score_is_refused() {
    let mut node = Node::new();
    let peer = node.peer();
    node.prune(peer, Some(1));
    node.router.penalise(peer, 1.0);
    node.wait(5);
    node.graft(peer);
    assert_eq!(node.said(), [Said::Prune { backoff_s: Some(60), to: peer }]);
}

#[test]
fn a_graft_from_a_peer_that_is_not_in_the_topic_is_refused() {
    let mut node = Node::new();
    let peer = node.connect(|_| ());
    node.subscribe(peer, "other");
    node.out.clear();
    node.graft(peer);
    assert_eq!(node.said(), [Said::Prune { backoff_s: Some(60), to: peer }]);
}

#[test]
fn a_prune_to_a_peer_of_version_1_0_has_no_backoff() {
    let mut node = Node::new();
    node.mesh_peers(8);
    let old = node.peer_with(|info| info.protocol = Protocol::Gossipsub10);
    node.graft(old);
    assert_eq!(node.said(), [Said::Prune { backoff_s: None, to: old }]);
}

#[test]
fn a_prune_on_an_unknown_topic_leaves_nothing_behind() {
    let mut node = Node::outside(|_| ());
    let peer = node.peer();
    node.prune(peer, Some(60));
    node.router.join(TOPIC, node.now, &mut node.out).unwrap();
    assert!(node.in_mesh(peer));
}
