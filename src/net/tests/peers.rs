//! Peers that are not ours: mplex only, without metadata, with too large or bad messages; and static peers that come back.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/routers.rs"]
mod routers;
mod support;

use levada_net::relay::Relay;
use levada_net::{NetConfig, RouterKind, Verdict, counters};
use libp2p::swarm::SwarmEvent;
use routers::with_both_routers;
use support::raw::{self, Muxer, ProtocolsEvent};
use support::{Node, TOPIC, config, dialling, fixed_port, largest, until, within};

const MESSAGE_BYTES_MAX: usize = 150 * 1_024;

/// Joins the topic and publishes until somebody is there to take it.
async fn publish(peer: &mut raw::RawPeer, data: Vec<u8>) {
    Relay::subscribe(&mut peer.behaviour_mut().relay, TOPIC).unwrap();
    while Relay::publish(&mut peer.behaviour_mut().relay, TOPIC.to_owned(), data.clone().into(), None).is_err() {
        raw::event(peer, Some).await;
    }
}

async fn a_peer_with_mplex_only_and_without_metadata_exchanges_messages(router: RouterKind) {
    let mut node = Node::start(config(router)).await;
    let unsupported = counters::METADATA_UNSUPPORTED.value();
    let mut peer = raw::peer(&Muxer::Mplex, false, MESSAGE_BYTES_MAX);
    raw::connect(&mut peer, &node.tcp()).await;
    raw::beside(&mut peer, until(async || counters::METADATA_UNSUPPORTED.value() > unsupported)).await;
    publish(&mut peer, b"over mplex".to_vec()).await;
    assert_eq!(raw::beside(&mut peer, node.receive()).await.data, b"over mplex");
    raw::beside(&mut peer, node.meshed(1)).await;
    assert_eq!(node.publish(b"and back").await, Ok(1));
    let back = raw::event(&mut peer, |event| match event {
        SwarmEvent::Behaviour(ProtocolsEvent::Relay(libp2p::gossipsub::Event::Message { message, .. })) => {
            Some(message.data)
        }
        SwarmEvent::ConnectionClosed { cause, .. } => panic!("{cause:?}"),
        _ => None,
    });
    assert_eq!(back.await, b"and back");
}

/// One after the other, because both count.
#[tokio::test(flavor = "multi_thread")]
async fn a_message_above_the_limit_is_refused_and_the_next_one_arrives() {
    for router in [RouterKind::Levada, RouterKind::Stock] {
        above_the_limit(router).await;
    }
}

async fn above_the_limit(router: RouterKind) {
    let mut node = Node::start(config(router)).await;
    let bytes_max = largest(router);
    let rejected = counters::MESSAGES_TOO_LARGE.value();
    let mut peer = raw::peer(&Muxer::Yamux, false, 2 * MESSAGE_BYTES_MAX);
    raw::connect(&mut peer, &node.tcp()).await;
    publish(&mut peer, vec![7; bytes_max + 1]).await;
    publish(&mut peer, vec![8; bytes_max]).await;
    assert_eq!(raw::beside(&mut peer, node.receive()).await.data, vec![8; bytes_max]);
    assert_eq!(counters::MESSAGES_TOO_LARGE.value(), rejected + 1);
}

async fn a_peer_that_sends_only_bad_messages_is_disconnected(router: RouterKind) {
    let mut node = Node::start(config(router)).await;
    let mut peer = raw::peer(&Muxer::Yamux, false, MESSAGE_BYTES_MAX);
    raw::connect(&mut peer, &node.tcp()).await;
    // Invalid messages weigh -100 times the square of their number, and the threshold is -10 000.
    for number in 0..11 {
        publish(&mut peer, vec![number]).await;
        let message = raw::beside(&mut peer, node.receive()).await;
        node.judge(message, Verdict::Reject).await;
    }
    raw::event(&mut peer, |event| matches!(event, SwarmEvent::ConnectionClosed { .. }).then_some(())).await;
    until(async || node.handle.connected_count() == 0).await;
}

async fn a_static_peer_is_dialled_again_when_it_comes_back(router: RouterKind) {
    let same = NetConfig { tcp_port: fixed_port(router, 2), ..config(router) };
    let first = Node::start(same.clone()).await;
    let address = first.tcp();
    let node = Node::start(dialling(router, &address)).await;
    until(async || node.handle.connected_count() == 1).await;
    first.handle.shutdown();
    within(first.task).await.unwrap();
    until(async || node.handle.connected_count() == 0).await;
    let second = Node::start(same).await;
    assert_eq!(second.tcp(), address);
    until(async || second.handle.connected_count() == 1 && node.handle.connected_count() == 1).await;
}

async fn two_nodes_that_dial_each_other_stay_connected(router: RouterKind) {
    let (mut one, mut other) = (config(router), config(router));
    let ports = [fixed_port(router, 0), fixed_port(router, 1)];
    (one.tcp_port, other.tcp_port) = (ports[0], ports[1]);
    one.static_peers = vec![format!("/ip4/127.0.0.1/tcp/{}/p2p/{}", ports[1], other.key.peer_id()).parse().unwrap()];
    other.static_peers = vec![format!("/ip4/127.0.0.1/tcp/{}/p2p/{}", ports[0], one.key.peer_id()).parse().unwrap()];
    let (mut one, other) = tokio::join!(Node::start(one), Node::start(other));
    one.meshed(1).await;
    other.meshed(1).await;
    assert_eq!(other.publish(b"hello").await, Ok(1));
    assert_eq!(one.receive().await.data, b"hello");
}

with_both_routers!(
    a_peer_with_mplex_only_and_without_metadata_exchanges_messages,
    a_peer_that_sends_only_bad_messages_is_disconnected,
    a_static_peer_is_dialled_again_when_it_comes_back,
    two_nodes_that_dial_each_other_stay_connected,
);
