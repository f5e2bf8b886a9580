//! IHAVE, IWANT and the message cache.

use levada_router::{Actions, Received, Verdict};

use crate::fixture::{Node, Said, TOPIC, id};

#[test]
fn gossip_goes_to_subscribers_outside_of_the_mesh() {
    let mut node = Node::new();
    let mesh = node.mesh_peers(6);
    let others = node.peers(4);
    let direct = node.peer_with(|info| info.direct = true);
    node.peer_with(|info| info.protocol = levada_router::Protocol::Floodsub);
    node.relay(mesh[0], 1);
    node.relay(mesh[0], 2);
    node.out.clear();
    node.beat();
    assert_eq!(node.announced(), [(vec![1, 2], others.clone())]);
    assert!(!others.contains(&direct));
}

#[test]
fn gossip_goes_to_a_quarter_of_many_peers_and_to_d_lazy_of_few() {
    for (others, expected) in [(5, 5), (20, 6), (24, 6), (40, 10), (100, 25)] {
        let mut node = Node::new();
        let mesh = node.mesh_peers(6);
        node.peers(others);
        node.relay(mesh[0], 1);
        node.out.clear();
        node.beat();
        let announced = node.announced();
        assert_eq!((announced.len(), announced[0].1.len()), (1, expected), "{others} others");
    }
}

#[test]
fn a_message_is_announced_for_three_heartbeats_and_answered_for_six() {
    let mut node = Node::new();
    let mesh = node.mesh_peers(6);
    let others = node.peers(3);
    node.relay(mesh[0], 1);
    for beat in 1..=7 {
        node.out.clear();
        node.beat();
        assert_eq!(!node.announced().is_empty(), beat <= 3, "heartbeat {beat}");
        node.iwant(others[beat % 3], [1]);
        assert_eq!(!node.sent(1).is_empty(), beat < 6, "heartbeat {beat}");
    }
}

#[test]
fn gossip_stays_within_its_topic() {
    let mut node = Node::new();
    let mesh = node.mesh_peers(6);
    node.peers(3);
    let elsewhere = node.connect(|_| ());
    node.subscribe(elsewhere, "other");
    node.relay(mesh[0], 1);
    node.out.clear();
    node.beat();
    assert!(node.announced().iter().all(|(_, to)| !to.contains(&elsewhere)));
}

#[test]
fn a_long_announcement_is_cut() {
    let mut node = Node::with(|config| config.gossip.ihave_ids_max = 10);
    let mesh = node.mesh_peers(6);
    node.peers(3);
    (0..30).for_each(|message| node.relay(mesh[0], message));
    node.out.clear();
    node.beat();
    assert_eq!(node.announced()[0].0.len(), 10);
}

#[test]
fn what_is_announced_and_unseen_is_asked_for() {
    let mut node = Node::new();
    let peers = node.peers(2);
    node.relay(peers[0], 1);
    node.receive(peers[0], 2);
    node.out.clear();
    node.ihave(peers[1], [1, 2, 3, 4, 3]);
    assert_eq!(node.asked(), [3, 4]);
    assert_eq!(node.receive(peers[1], 3), Received::New);
}

#[test]
fn announcements_on_topics_not_joined_or_of_low_scores_are_ignored() {
    let mut node = Node::new();
    let peer = node.peer();
    node.subscribe(peer, "other");
    node.out.clear();
    let other = node.router.topic("other").unwrap();
    node.router.ihave(peer, other, [&id(1)[..]], node.now, &mut node.out);
    node.router.penalise(peer, 3.2);
    assert!(node.score(peer) < -100.0);
    node.ihave(peer, [2]);
    assert!(node.said().is_empty());
    assert_eq!(node.router.counters().ihave_ignored, 2);
}

#[test]
fn ids_of_another_length_are_skipped() {
    let mut node = Node::new();
    let peer = node.peer();
    let ids: [&[u8]; 3] = [&[], &[1; 31], &[2; 33]];
    node.router.ihave(peer, node.topic(), ids, node.now, &mut node.out);
    node.router.iwant(peer, ids, &mut node.out);
    node.router.idontwant(peer, ids, &mut node.out);
    assert!(node.said().is_empty());
    assert_eq!(node.router.counters().ids_malformed, 9);
    assert_eq!(node.router.usage().dont_want, 0);
}

#[test]
fn ten_announcements_per_peer_and_heartbeat_are_heard() {
    let mut node = Node::new();
    let peers = node.peers(2);
    (0..15).for_each(|message| node.ihave(peers[0], [message]));
    assert_eq!(node.asked(), (0..10).collect::<Vec<_>>());
    node.ihave(peers[1], [20]);
    assert_eq!(node.asked(), [20], "the budget is each peer's own");
    node.beat();
    node.ihave(peers[0], [30]);
    assert_eq!(node.asked(), [30]);
}

#[test]
fn ids_asked_of_a_peer_are_limited_per_heartbeat() {
    let mut node = Node::with(|config| config.gossip.ihave_ids_max = 8);
    let peer = node.peer();
    node.ihave(peer, 0..5);
    node.ihave(peer, 5..20);
    node.ihave(peer, 20..25);
    assert_eq!(node.asked().len(), 8);
    node.beat();
    node.ihave(peer, 30..35);
    assert_eq!(node.asked().len(), 5);
}

#[test]
fn a_message_is_asked_of_three_peers_until_it_comes() {
    let mut node = Node::new();
    let peers = node.peers(6);
    let asked = |node: &mut Node| {
        peers
            .iter()
            .filter(|peer| {
                node.ihave(**peer, [1]);
                !node.asked().is_empty()
            })
            .count()
    };
    assert_eq!(asked(&mut node), 3);
    node.beat();
    assert_eq!(asked(&mut node), 3, "nobody has answered in time: others may");
    node.relay(peers[5], 1);
    node.out.clear();
    assert_eq!(asked(&mut node), 0);
}

#[test]
fn an_announcement_that_is_not_followed_by_the_message_is_penalised() {
    let mut node = Node::new();
    let peers = node.peers(3);
    node.ihave(peers[0], [1, 2, 3]);
    node.ihave(peers[1], [4]);
    node.relay(peers[2], 4);
    node.beats(2);
    assert!(node.score(peers[0]) > 0.0, "there is still time");
    node.beat();
    assert_eq!(node.router.counters().promises_broken, 1);
    // One promise an announcement, and 0.03 for three seconds in the mesh.
    assert!((node.score(peers[0]) - -9.97).abs() < 1e-9, "{}", node.score(peers[0]));
    assert!(node.score(peers[1]) > 0.0, "whoever brought it");
}

#[test]
fn nobody_is_blamed_while_this_node_cannot_take_messages_in() {
    let mut node = Node::with(|config| config.limits.pending_max = 1);
    let peers = node.peers(2);
    node.ihave(peers[0], [1]);
    node.receive(peers[1], 2);
    assert_eq!(node.receive(peers[0], 1), Received::Refused(levada_router::Refusal::Full));
    node.beat();
    node.ihave(peers[1], [3]);
    node.beats(2);
    assert_eq!(node.router.counters().promises_broken, 0);
    node.beat();
    assert_eq!(node.router.counters().promises_broken, 1, "the second was asked after the stall");
    node.ihave(peers[0], [4]);
    node.beats(2);
    node.router.stalled(node.now);
    node.beats(2);
    assert_eq!(node.router.counters().promises_broken, 1);
}

#[test]
fn a_message_in_the_cache_is_sent_three_times_at_most_to_a_peer() {
    let mut node = Node::new();
    let peers = node.peers(2);
    node.relay(peers[0], 1);
    node.out.clear();
    let answers = (0..5).filter(|_| {
        node.iwant(peers[1], [1, 99]);
        node.sent(1) == [peers[1]]
    });
    assert_eq!(answers.count(), 3);
    assert_eq!(node.router.counters().iwant_answered, 3);
    assert_eq!(node.router.counters().iwant_ignored, 7);
}

#[test]
fn a_request_of_a_peer_with_a_low_score_is_not_answered() {
    let mut node = Node::new();
    let peers = node.peers(2);
    node.relay(peers[0], 1);
    node.router.penalise(peers[1], 4.0);
    node.out.clear();
    node.iwant(peers[1], [1]);
    assert!(node.said().is_empty());
}

#[test]
fn requests_are_limited_per_heartbeat() {
    let mut node = Node::with(|config| config.gossip.iwant_ids_max = 3);
    let peers = node.peers(2);
    node.relay(peers[0], 1);
    node.out.clear();
    node.iwant(peers[1], [7, 8, 9, 1]);
    assert!(node.said().is_empty());
    node.beat();
    node.out.clear();
    node.iwant(peers[1], [1]);
    assert_eq!(node.sent(1), [peers[1]]);
}

#[test]
fn what_the_cache_has_let_go_is_neither_announced_nor_sent() {
    let mut node = Node::with(|config| config.limits.mcache_bytes_max = 3 * 1_256);
    let mesh = node.mesh_peers(6);
    let other = node.peer();
    (0..10).for_each(|message| node.relay(mesh[0], message));
    node.out.clear();
    node.beat();
    assert_eq!(node.announced(), [(vec![7, 8, 9], vec![other])]);
    node.iwant(other, 0..10);
    let sent = node.said();
    assert_eq!(sent.len(), 3, "{sent:?}");
    assert_eq!(node.router.counters().mcache_evicted, 7);
    node.router.shrink_mcache(0);
    node.iwant(other, 7..10);
    node.beat();
    assert!(node.said().iter().all(|said| !matches!(said, Said::IHave { .. } | Said::Send { .. })));
}

#[test]
fn a_topic_that_was_left_is_not_announced() {
    let mut node = Node::new();
    let mesh = node.mesh_peers(6);
    node.peers(3);
    node.relay(mesh[0], 1);
    node.router.leave(node.topic(), node.now, &mut node.out);
    node.out.clear();
    node.beat();
    assert!(node.announced().is_empty());
    node.iwant(mesh[1], [1]);
    assert_eq!(node.sent(1), [mesh[1]], "who has heard of it may still have it");
}

#[test]
fn a_handle_is_dropped_with_the_message() {
    let payload = std::rc::Rc::new(());
    let mut router = levada_router::Router::new(Default::default(), levada_router::Rng::new(1)).unwrap();
    let mut out = Actions::new();
    let now = levada_router::Moment::ZERO;
    let (topic, _) = router.join(TOPIC, now, &mut out).unwrap();
    let info = levada_router::PeerInfo {
        key: [1; 32],
        protocol: levada_router::Protocol::Waku,
        direct: false,
        outbound: false,
        ip: None,
    };
    let peer = router.connected(info, &mut out).unwrap();
    let verdicts = [Verdict::Accept, Verdict::Reject, Verdict::Ignore, Verdict::Accept];
    for (number, verdict) in verdicts.into_iter().enumerate() {
        let message = id(number as u32);
        let incoming =
            levada_router::Incoming { id: message, topic, bytes: 10, anonymous: true, handle: payload.clone() };
        router.received(peer, incoming.clone(), now, &mut out);
        router.received(peer, incoming, now, &mut out);
        router.verdict(&message, verdict, now, &mut out);
    }
    assert_eq!(std::rc::Rc::strong_count(&payload), 1 + 2);
    (0..6).for_each(|_| router.heartbeat(now, &mut out));
    assert_eq!(std::rc::Rc::strong_count(&payload), 1);
}
