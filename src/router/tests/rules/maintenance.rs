//! What heartbeats do to the mesh.

use levada_router::{MeshDegrees, PeerIndex, Verdict};

use crate::fixture::{Node, Said};

#[test]
fn a_mesh_below_d_lo_is_filled_to_d() {
    let mut node = Node::new();
    let mesh = node.mesh_peers(4);
    node.peers(20);
    node.prune(mesh[0], None);
    node.beat();
    assert_eq!(node.mesh().len(), 6);
    assert_eq!(node.grafted().len(), 3);
}

#[test]
fn a_mesh_within_its_bounds_is_left_alone() {
    let mut node = Node::with(|config| config.mesh.degrees.outbound = 0);
    node.mesh_peers(8);
    node.peers(20);
    node.beats(10);
    assert_eq!(node.mesh().len(), 8);
    assert!(node.said().iter().all(|said| matches!(said, Said::IHave { .. })));
}

#[test]
fn a_mesh_above_d_hi_is_pruned_to_d_and_the_pruned_are_told_the_backoff() {
    let mut node = Node::with(|config| config.mesh.degrees.outbound = 0);
    for _ in 0..14 {
        let peer = node.peer_with(|info| info.outbound = true);
        node.graft(peer);
    }
    assert_eq!(node.mesh().len(), 14);
    node.beat();
    let prunes = node.said().into_iter().filter(|said| matches!(said, Said::Prune { backoff_s: Some(60), .. }));
    assert_eq!((node.mesh().len(), prunes.count()), (6, 8));
}

/// A mesh of 12, of which the peers named have delivered as many messages as their place says.
fn scored(outbound: usize, degrees: MeshDegrees) -> (Node, Vec<PeerIndex>) {
    let mut node = Node::with(|config| config.mesh.degrees = degrees);
    let mut peers = Vec::new();
    for place in 0..12 {
        // Outbound peers may enter a full mesh; here every peer is made to.
        let peer = node.peer_with(|info| info.outbound = place < outbound || place >= 8);
        node.graft(peer);
        peers.push(peer);
    }
    let mut message = 0;
    for (place, peer) in peers.iter().enumerate() {
        for _ in 0..place {
            message += 1;
            node.relay(*peer, message);
        }
    }
    (node, peers)
}

#[test]
fn pruning_keeps_the_best() {
    let degrees = MeshDegrees { score: 4, outbound: 0, ..MeshDegrees::default() };
    let (mut node, peers) = scored(8, degrees);
    node.beat();
    assert_eq!(node.mesh().len(), 6);
    // P2 is capped at 10: the last two are equal, and both are kept.
    assert!(peers[8..].iter().all(|peer| node.in_mesh(*peer)));
}

#[test]
fn pruning_keeps_some_at_random() {
    let degrees = MeshDegrees { score: 4, outbound: 0, ..MeshDegrees::default() };
    let kept_by_chance: std::collections::HashSet<Vec<usize>> = (0..20)
        .map(|skip| {
            let (mut node, peers) = scored(8, degrees);
            // Each id that is asked for moves the sequence of chance on.
            node.ihave(peers[0], 9_000..9_002 + skip);
            node.beat();
            (0..8).filter(|place| node.in_mesh(peers[*place])).collect()
        })
        .collect();
    assert!(kept_by_chance.len() > 1, "{kept_by_chance:?}");
}

#[test]
fn pruning_keeps_enough_outbound_peers() {
    let mut node = Node::with(|config| config.mesh.degrees.score = 6);
    // Six inbound peers with the best scores, then eight outbound ones without any.
    let inbound = node.mesh_peers(6);
    for (place, peer) in inbound.iter().enumerate() {
        node.relay(*peer, place as u32);
    }
    let outbound: Vec<PeerIndex> = (0..8).map(|_| node.peer_with(|info| info.outbound = true)).collect();
    outbound.iter().for_each(|peer| node.graft(*peer));
    node.beat();
    assert_eq!(node.mesh().len(), 6);
    assert_eq!(outbound.iter().filter(|peer| node.in_mesh(**peer)).count(), 3, "D_out");
}

#[test]
fn a_mesh_without_enough_outbound_peers_gets_some() {
    let mut node = Node::new();
    node.mesh_peers(5);
    let outbound: Vec<PeerIndex> = (0..6).map(|_| node.peer_with(|info| info.outbound = true)).collect();
    node.beat();
    assert_eq!(node.mesh().len(), 8);
    assert_eq!(outbound.iter().filter(|peer| node.in_mesh(**peer)).count(), 3);
}

#[test]
fn peers_with_a_negative_score_are_pruned_and_not_grafted() {
    let mut node = Node::new();
    let peers = node.mesh_peers(6);
    node.spam(peers[0], 0..1);
    node.beat();
    assert!(!node.in_mesh(peers[0]));
    assert_eq!(node.pruned(), [peers[0]]);
    for peer in &peers[1..] {
        node.spam(*peer, peer.slot() as u32 * 100..peer.slot() as u32 * 100 + 1);
    }
    node.beats(70);
    assert!(peers.iter().any(|peer| node.score(*peer) < 0.0));
    assert!(node.mesh().iter().all(|peer| node.score(*peer) >= 0.0));
}

#[test]
fn direct_and_floodsub_peers_are_never_grafted() {
    let mut node = Node::new();
    node.peer_with(|info| info.direct = true);
    node.peer_with(|info| info.protocol = levada_router::Protocol::Floodsub);
    node.beats(3);
    assert!(node.mesh().is_empty());
}

#[test]
fn a_poor_mesh_gets_two_better_peers_once_a_minute() {
    let mut node = Node::with(|config| {
        config.thresholds.opportunistic_graft = 5.0;
        config.mesh.degrees.outbound = 0;
        config.score.topic.first_deliveries_decay = 1.0;
    });
    node.mesh_peers(6);
    let better = node.peers(5);
    for (place, peer) in better.iter().enumerate() {
        node.relay(*peer, place as u32);
    }
    // Those of the mesh have a little for their time in it, and these have nothing.
    node.peers(40);
    node.beats(59);
    assert_eq!(node.mesh().len(), 6);
    node.out.clear();
    node.beat();
    assert_eq!(node.mesh().len(), 8);
    assert!(node.grafted().iter().all(|peer| better.contains(peer)));
}

#[test]
fn a_good_mesh_gets_none() {
    let mut node = Node::with(|config| {
        config.mesh.degrees.outbound = 0;
        config.score.topic.first_deliveries_decay = 1.0;
    });
    node.mesh_peers(6);
    let better = node.peers(5);
    node.relay(better[0], 1);
    node.beats(120);
    assert_eq!(node.mesh().len(), 6, "Waku's threshold is zero");
    assert!(!node.judge(1, Verdict::Accept));
}
