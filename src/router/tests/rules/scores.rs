//! What scores do.

use std::net::IpAddr;

use levada_router::{Received, Refusal, Subscribed, Verdict};

use crate::fixture::{Node, Said, TOPIC};

#[test]
fn a_graylisted_peer_is_ignored_and_disconnected() {
    let mut node = Node::new();
    let peer = node.peer();
    node.router.penalise(peer, 32.0);
    assert!(node.score(peer) < -10_000.0 && !node.router.accepts(peer));
    assert_eq!(node.receive(peer, 1), Received::Refused(Refusal::Graylisted));
    assert_eq!(node.router.subscription(peer, "b", true, node.now, &mut node.out), Subscribed::Refused);
    node.graft(peer);
    node.prune(peer, None);
    node.ihave(peer, [1]);
    node.iwant(peer, [1]);
    node.idontwant(peer, [1]);
    assert!(node.said().is_empty());
    assert_eq!(node.router.counters().refused_graylisted, 7);
    node.beat();
    let said = node.said();
    assert!(said.contains(&Said::Disconnect { peer }), "{said:?}");
}

#[test]
fn a_direct_peer_is_heard_whatever_its_score() {
    let mut node = Node::new();
    let peer = node.peer_with(|info| info.direct = true);
    node.router.penalise(peer, 100.0);
    assert_eq!(node.receive(peer, 1), Received::New);
    node.judge(1, Verdict::Accept);
    node.iwant(peer, [1]);
    assert_eq!(node.sent(1), [peer]);
    node.ihave(peer, [2]);
    assert_eq!(node.asked(), [2]);
    node.beat();
    assert!(node.said().iter().all(|said| !matches!(said, Said::Disconnect { .. })));
}

#[test]
fn gossip_ends_below_its_threshold() {
    let mut node = Node::new();
    let mesh = node.mesh_peers(6);
    let others = node.peers(2);
    // 3.1² · 10 = 96.1, and 3.2² · 10 = 102.4.
    node.router.penalise(others[0], 3.1);
    node.router.penalise(others[1], 3.2);
    node.relay(mesh[0], 1);
    node.out.clear();
    node.beat();
    assert_eq!(node.announced(), [(vec![1], vec![others[0]])]);
}

#[test]
fn a_score_survives_a_reconnect_for_ten_minutes() {
    let mut node = Node::new();
    let reconnect = |node: &mut Node| node.peer_with(|info| info.key = [7; 32]);
    let peer = reconnect(&mut node);
    node.spam(peer, 0..2);
    assert_eq!(node.score(peer), -400.0);
    node.router.disconnected(peer, node.now);
    let peer = reconnect(&mut node);
    assert_eq!(node.score(peer), -400.0);
    node.router.disconnected(peer, node.now);
    node.wait(600);
    node.beat();
    assert_eq!(node.router.usage().retained, 0);
    let peer = reconnect(&mut node);
    assert_eq!(node.score(peer), 0.0);
}

#[test]
fn leaving_before_the_verdict_is_no_way_out() {
    for comes_back_first in [true, false] {
        let mut node = Node::new();
        let reconnect = |node: &mut Node| node.peer_with(|info| info.key = [7; 32]);
        let peer = reconnect(&mut node);
        node.receive(peer, 1);
        node.router.disconnected(peer, node.now);
        let back = comes_back_first.then(|| reconnect(&mut node));
        node.judge(1, Verdict::Reject);
        let back = back.unwrap_or_else(|| reconnect(&mut node));
        assert_eq!(node.score(back), -100.0);
    }
}

#[test]
fn leaving_before_a_promise_is_due_is_no_way_out() {
    let mut node = Node::new();
    let peer = node.peer_with(|info| info.key = [7; 32]);
    node.ihave(peer, [1]);
    node.router.disconnected(peer, node.now);
    node.beats(3);
    let back = node.peer_with(|info| info.key = [7; 32]);
    assert_eq!(node.score(back), -10.0);
}

#[test]
fn a_good_score_survives_too() {
    let mut node = Node::new();
    let peer = node.peer_with(|info| info.key = [7; 32]);
    (0..3).for_each(|message| node.relay(peer, message));
    node.router.disconnected(peer, node.now);
    let peer = node.peer_with(|info| info.key = [7; 32]);
    assert_eq!(node.score(peer), 3.0);
}

#[test]
fn scores_decay_every_twelve_seconds() {
    let mut node = Node::new();
    let peer = node.peer();
    node.prune(peer, None);
    node.beat();
    node.spam(peer, 0..4);
    assert_eq!(node.score(peer), -1_600.0);
    node.beats(11);
    assert_eq!(node.score(peer), -1_600.0);
    node.beat();
    assert_eq!(node.score(peer), -400.0, "four invalid messages have become two");
    node.wait(11);
    node.beat();
    assert_eq!(node.score(peer), -100.0);
    node.wait(10 * 86_400);
    node.beat();
    assert_eq!(node.score(peer), 0.0, "a long pause is made up for");
}

#[test]
fn time_in_the_mesh_raises_the_score() {
    let mut node = Node::new();
    let peer = node.mesh_peers(1)[0];
    node.beats(5);
    assert!((node.score(peer) - 0.05).abs() < 1e-9);
    node.beats(20);
    assert!((node.score(peer) - 0.1).abs() < 1e-9);
}

#[test]
fn six_peers_at_one_address_leave_the_mesh_unless_it_is_exempt() {
    let address = IpAddr::from([192, 0, 2, 1]);
    let mut node = Node::with(|config| config.score.ip_colocation_exempt = vec![IpAddr::from([127, 0, 0, 1])]);
    for _ in 0..6 {
        node.peer_with(|info| info.ip = Some(address));
    }
    for _ in 0..6 {
        let peer = node.peer_with(|info| info.ip = Some(IpAddr::from([127, 0, 0, 1])));
        node.graft(peer);
    }
    node.beat();
    let at = |node: &Node, ip: IpAddr| {
        let peers = node.router.subscribers(node.topic()).filter(|p| node.router.peer(*p).unwrap().ip == Some(ip));
        peers.map(|peer| node.score(peer)).fold(0.0, f64::min)
    };
    assert_eq!((at(&node, address), at(&node, IpAddr::from([127, 0, 0, 1]))), (-50.0, 0.0));
    assert!(node.mesh().iter().all(|peer| node.router.peer(*peer).unwrap().ip != Some(address)));
}

#[test]
fn the_application_has_its_say() {
    let mut node = Node::with(|config| config.score.app_weight = 2.0);
    let peer = node.peer();
    node.router.set_app_score(peer, 4.0);
    assert!(!node.router.accepts_px(peer));
    node.router.set_app_score(peer, 5.0);
    assert!(node.router.accepts_px(peer), "the threshold is 10");
    node.router.set_app_score(peer, f64::NAN);
    node.router.penalise(peer, f64::NAN);
    assert_eq!(node.score(peer), 0.0);
}

#[test]
fn a_topic_can_count_differently() {
    let mut node = Node::with(|config| {
        let light = levada_router::TopicScoreParams { weight: 0.25, ..config.score.topic };
        config.score.topics.push((TOPIC.into(), light));
    });
    let peer = node.peer();
    node.spam(peer, 0..2);
    assert_eq!(node.score(peer), -100.0);
}
