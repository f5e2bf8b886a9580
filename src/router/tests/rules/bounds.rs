//! Everything that peers can fill has an end.

use levada_router::{ConnectError, Received, Refusal, Subscribed, Verdict};

use crate::fixture::{Node, TOPIC};

#[test]
fn a_peer_has_so_many_topics_and_others_keep_theirs() {
    let mut node = Node::new();
    let greedy = node.peer();
    let mut refused = 0;
    for number in 0..5_000 {
        let name = format!("/waku/2/rs/1/{number}");
        let answer = node.router.subscription(greedy, &name, true, node.now, &mut node.out);
        refused += usize::from(answer == Subscribed::Refused);
    }
    // TOPIC itself is the first of the names.
    assert_eq!((node.router.usage().topics, refused), (1_024, 5_000 - 1_024));
    let other = node.peer();
    assert!(node.router.subscribers(node.topic()).any(|peer| peer == other));
    node.router.disconnected(greedy, node.now);
    assert_eq!(node.router.usage().topics, 1);
}

#[test]
fn many_greedy_peers_leave_room_for_own_topics() {
    let mut node = Node::outside(|_| ());
    for greedy in 0..6 {
        let peer = node.connect(|_| ());
        (0..1_024).for_each(|number| node.subscribe(peer, &format!("{greedy}/{number}")));
    }
    assert_eq!(node.router.usage().topics, 3_072);
    for number in 0..1_024 {
        node.router.join(&format!("own {number}"), node.now, &mut node.out).unwrap();
    }
    assert_eq!(node.router.usage().topics, 4_096);
    let peer = node.connect(|_| ());
    let long = "x".repeat(257);
    assert_eq!(node.router.subscription(peer, &long, true, node.now, &mut node.out), Subscribed::Refused);
}

#[test]
fn peers_are_limited_and_one_key_connects_once() {
    let mut node = Node::with(|config| config.limits.peers_max = 2);
    node.peer();
    let second = node.peer();
    let mut info = *node.router.peer(second).unwrap();
    assert_eq!(node.router.connected(info, &mut node.out), Err(ConnectError::Connected));
    info.key = [99; 32];
    assert_eq!(node.router.connected(info, &mut node.out), Err(ConnectError::Full { peers_max: 2 }));
    node.router.disconnected(second, node.now);
    assert!(node.router.connected(info, &mut node.out).is_ok());
    assert_eq!(node.router.find_peer(&[99; 32]).map(levada_router::PeerIndex::slot), Some(second.slot()));
}

#[test]
fn a_refused_connection_forgets_no_score() {
    let mut node = Node::with(|config| config.limits.peers_max = 1);
    let bad = node.peer();
    let info = *node.router.peer(bad).unwrap();
    node.spam(bad, 0..1);
    node.router.disconnected(bad, node.now);
    let other = node.peer();
    assert!(node.router.connected(info, &mut node.out).is_err());
    node.router.disconnected(other, node.now);
    let bad = node.router.connected(info, &mut node.out).unwrap();
    assert_eq!(node.score(bad), -100.0);
}

#[test]
fn messages_that_await_a_verdict_are_limited_and_may_come_again() {
    let mut node = Node::with(|config| {
        config.limits.pending_max = 3;
        config.limits.pending_bytes_max = 2_500;
    });
    let peer = node.peer();
    assert_eq!((node.receive(peer, 1), node.receive(peer, 2)), (Received::New, Received::New));
    assert_eq!(node.receive(peer, 3), Received::Refused(Refusal::Full));
    assert_eq!(node.receive_bytes(peer, 4, 500), Received::New);
    assert_eq!(node.receive_bytes(peer, 5, 0), Received::Refused(Refusal::Full));
    node.judge(1, Verdict::Ignore);
    assert_eq!(node.receive(peer, 3), Received::New);
    assert_eq!(node.receive(peer, 2), Received::Duplicate, "a copy needs no room");
}

#[test]
fn the_seen_set_is_limited() {
    let mut node = Node::with(|config| config.limits.seen_max = 256);
    let peer = node.peer();
    (0..1_000).for_each(|message| node.relay(peer, message));
    assert_eq!((node.receive(peer, 950), node.receive(peer, 700)), (Received::Duplicate, Received::New));
}

#[test]
fn an_id_that_is_forgotten_while_it_awaits_its_verdict_is_still_no_new_one() {
    let mut node = Node::with(|config| config.limits.seen_max = 256);
    let peer = node.peer();
    (0..600).for_each(|message| assert_eq!(node.receive(peer, message), Received::New));
    assert_eq!(node.receive(peer, 0), Received::Duplicate);
    assert!(node.judge(0, Verdict::Accept));
}

#[test]
fn the_message_cache_is_limited_in_bytes() {
    let mut node = Node::with(|config| config.limits.mcache_bytes_max = 1_000_000);
    let peer = node.peer();
    for message in 0..1_000 {
        node.receive_bytes(peer, message, 1 + message * 150);
        node.judge(message, Verdict::Accept);
        assert!(node.router.usage().mcache_bytes <= 1_000_000);
    }
}

#[test]
fn an_announcement_flood_asks_and_remembers_little() {
    let mut node = Node::with(|config| config.limits.asked_max = 20_000);
    let peers = node.peers(8);
    for second in 0..30_u32 {
        for (place, peer) in peers.iter().enumerate() {
            for list in 0..20_u32 {
                let first = second * 1_000_000 + place as u32 * 100_000 + list * 1_000;
                node.ihave(*peer, first..first + 1_000);
            }
        }
        let usage = node.router.usage();
        assert!(usage.promises <= 8 * 10 * 3 && usage.asked <= 20_000, "{usage:?}");
        node.out.clear();
        node.beat();
    }
    let heard = node.router.counters().iwant_sent;
    // Three seconds until the first promises break; then nobody is heard any more.
    assert!(heard <= 8 * 5_000 * 3, "{heard}");
    assert!(peers.iter().all(|peer| node.score(*peer) < -100.0));
}

#[test]
fn a_graft_flood_ends_on_the_graylist() {
    let mut node = Node::new();
    let peer = node.mesh_peers(1)[0];
    node.prune(peer, Some(60));
    for _ in 0..1_000 {
        node.graft(peer);
    }
    assert!(!node.router.accepts(peer));
    let answered = node.pruned().len();
    // 10 · (0.2 · n)² passes 10 000 at n = 159.
    assert!(answered <= 160, "{answered}");
}

#[test]
fn peers_that_come_and_go_leave_bounded_traces() {
    let mut node = Node::with(|config| config.limits.retained_max = 50);
    for round in 0..200_u32 {
        let peer = node.peer();
        node.spam(peer, round..round + 1);
        node.router.disconnected(peer, node.now);
    }
    let usage = node.router.usage();
    assert_eq!((usage.peers, usage.retained, usage.topics), (0, 50, 1));
    assert_eq!(node.router.topic_name(node.topic()), Some(TOPIC));
}
