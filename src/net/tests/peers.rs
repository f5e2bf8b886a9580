//! Peers that are not ours: mplex only, without metadata, with too large or bad messages; and static peers that come back.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use levada_net::{NetConfig, Verdict, counters};
use libp2p::gossipsub::IdentTopic;
use libp2p::swarm::SwarmEvent;
use support::raw::{self, Muxer, ProtocolsEvent};
use support::{LARGEST_BYTES, Node, TOPIC, config, dialling, fixed_port, until, within};

const MESSAGE_BYTES_MAX: usize = 150 * 1_024;

/// Joins the topic and publishes until somebody is there to take it.
async fn publish(peer: &mut raw::RawPeer, data: Vec<u8>) {
    peer.behaviour_mut().relay.subscribe(&IdentTopic::new(TOPIC)).unwrap();
    while peer.behaviour_mut().relay.publish(IdentTopic::new(TOPIC), data.clone()).is_err() {
        raw::event(peer, Some).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_peer_with_mplex_only_and_without_metadata_exchanges_messages() {
    let mut node = Node::start(config()).await;
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

#[tokio::test(flavor = "multi_thread")]
async fn a_message_above_the_limit_is_refused_and_the_next_one_arrives() {
    let mut node = Node::start(config()).await;
    let bytes_max = LARGEST_BYTES;
    let rejected = counters::MESSAGES_TOO_LARGE.value();
    let mut peer = raw::peer(&Muxer::Yamux, false, 2 * MESSAGE_BYTES_MAX);
    raw::connect(&mut peer, &node.tcp()).await;
    publish(&mut peer, vec![7; bytes_max + 1]).await;
    publish(&mut peer, vec![8; bytes_max]).await;
    assert_eq!(raw::beside(&mut peer, node.receive()).await.data, vec![8; bytes_max]);
    assert_eq!(counters::MESSAGES_TOO_LARGE.value(), rejected + 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_peer_that_sends_only_bad_messages_is_disconnected() {
    let mut node = Node::start(config()).await;
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

#[tokio::test(flavor = "multi_thread")]
async fn a_static_peer_is_dialled_again_when_it_comes_back() {
    let same = NetConfig { tcp_port: fixed_port(2), ..config() };
    let first = Node::start(same.clone()).await;
    let address = first.tcp();
    let node = Node::start(dialling(&address)).await;
    until(async || node.handle.connected_count() == 1).await;
    first.handle.shutdown();
    within(first.task).await.unwrap();
    until(async || node.handle.connected_count() == 0).await;
    let second = Node::start(same).await;
    assert_eq!(second.tcp(), address);
    until(async || second.handle.connected_count() == 1 && node.handle.connected_count() == 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_nodes_that_dial_each_other_stay_connected() {
    let (mut one, mut other) = (config(), config());
    let ports = [fixed_port(0), fixed_port(1)];
    (one.tcp_port, other.tcp_port) = (ports[0], ports[1]);
    one.static_peers = vec![format!("/ip4/127.0.0.1/tcp/{}/p2p/{}", ports[1], other.key.peer_id()).parse().unwrap()];
    other.static_peers = vec![format!("/ip4/127.0.0.1/tcp/{}/p2p/{}", ports[0], one.key.peer_id()).parse().unwrap()];
    let (mut one, other) = tokio::join!(Node::start(one), Node::start(other));
    one.meshed(1).await;
    other.meshed(1).await;
    assert_eq!(other.publish(b"hello").await, Ok(1));
    assert_eq!(one.receive().await.data, b"hello");
}
