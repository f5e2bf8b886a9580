//! Goal: operators are told who is known, and can have the node connect. Method: nodes on loopback.

mod support;

use levada_net::{ConnectError, Direction, Multiaddr, Origin, PeerId, PeerRecord, RELAY_PROTOCOL, Reach};
use support::{Node, TOPIC, config, until};

fn named(id: PeerId, port: u16) -> Multiaddr {
    format!("/ip4/127.0.0.1/tcp/{port}/p2p/{id}").parse().expect("a multiaddress")
}

async fn record(node: &Node, peer: PeerId) -> Option<PeerRecord> {
    node.handle.census().await.peers.into_iter().find(|record| record.peer_id == peer)
}

#[tokio::test]
async fn a_peer_that_is_connected_to_is_in_the_census_with_all_that_is_known() {
    let [one, other] = [Node::start(config()).await, Node::start(config()).await];
    let id = other.handle.peer_id();
    for node in [&one, &other] {
        node.handle.subscribe(TOPIC).await.expect("a topic of the cluster");
    }
    assert_eq!(one.handle.connect(other.tcp()).await, Ok(id));
    assert_eq!(one.handle.connect(other.tcp()).await, Ok(id), "once more is no error");
    until(async || {
        let here = record(&one, id).await.expect("it is known");
        let census = one.handle.census().await;
        !here.protocols.is_empty() && !here.shards.is_empty() && census.topics[0].mesh == [id]
    })
    .await;
    let here = record(&one, id).await.expect("it is known");
    assert_eq!((here.reach, here.direction, here.origin), (Reach::Connected, Some(Direction::Out), Origin::Unknown));
    assert!(here.protocols.iter().any(|protocol| protocol == RELAY_PROTOCOL), "{here:?}");
    assert!(here.addresses[0].to_string().starts_with("/ip4/127.0.0.1/tcp/"), "{here:?}");
    assert!(here.score.is_some() && !here.agent.is_empty() && here.shards == [0], "{here:?}");
    let census = one.handle.census().await;
    assert_eq!((census.topics[0].topic.as_str(), &census.topics[0].subscribers), (TOPIC, &vec![id]));
    assert!(census.router.iter().any(|(name, _)| *name == "messages_new"));
    let there = record(&other, one.handle.peer_id()).await.expect("it is known");
    assert_eq!(there.direction, Some(Direction::In));
}

#[tokio::test]
async fn who_cannot_be_reached_is_told_and_remembered() {
    let [one, other] = [Node::start(config()).await, Node::start(config()).await];
    let nobody = PeerId::random();
    assert!(matches!(one.handle.connect(named(nobody, 1)).await, Err(ConnectError::Dial(_))));
    let mut wrong = other.tcp();
    wrong.pop();
    assert!(matches!(one.handle.connect(wrong.clone()).await, Err(ConnectError::Dial(text)) if text.contains("/p2p/")));
    let wrong = wrong.with_p2p(nobody).expect("it named nobody");
    assert!(matches!(one.handle.connect(wrong).await, Err(ConnectError::Dial(_))), "somebody else is there");
    let told = record(&one, nobody).await.expect("it was named");
    assert!(told.reach != Reach::Connected && told.direction.is_none(), "{told:?}");
    one.handle.learn(vec![named(PeerId::random(), 2)], Origin::Dns).await;
    let census = one.handle.census().await;
    assert!(census.peers.iter().any(|peer| peer.origin == Origin::Dns), "{census:?}");
}

#[tokio::test]
async fn static_peers_are_known_from_the_start() {
    let away = PeerId::random();
    let mut configured = config();
    configured.static_peers = vec![named(away, 1)];
    let node = Node::start(configured).await;
    assert_eq!(record(&node, away).await.expect("it is configured").origin, Origin::Static);
}
