//! Metadata (66/WAKU2-METADATA) as js-waku and nwaku use it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::sync::Arc;

use levada_net::{NetConfig, PeerId, SubscribeError, counters};
use levada_wire::varint;
use levada_wire::waku::metadata::Metadata;
use libp2p::request_response::{Event, Message, OutboundFailure, OutboundRequestId};
use libp2p::swarm::SwarmEvent;
use support::raw::{self, Ask, Muxer, ProtocolsEvent, RawPeer};
use support::{Node, TOPIC, config, until};
use tokio::sync::Semaphore;

/// The question of a js-waku light client: cluster 1, no shards.
const QUESTION: [u8; 3] = [2, 0x08, 1];

fn ask(peer: &mut RawPeer, node: &PeerId, bytes: &[u8], after: Option<&Arc<Semaphore>>) -> OutboundRequestId {
    let ask = Ask { bytes: bytes.to_vec(), after: after.cloned() };
    peer.behaviour_mut().metadata.as_mut().unwrap().send_request(node, ask)
}

/// The next outcome of a question of the peer.
async fn outcome(peer: &mut RawPeer) -> (OutboundRequestId, Result<Vec<u8>, OutboundFailure>) {
    raw::event(peer, |event| match event {
        SwarmEvent::Behaviour(ProtocolsEvent::Metadata(Event::Message {
            message: Message::Response { request_id, response },
            ..
        })) => Some((request_id, Ok(response))),
        SwarmEvent::Behaviour(ProtocolsEvent::Metadata(Event::OutboundFailure { request_id, error, .. })) => {
            Some((request_id, Err(error)))
        }
        SwarmEvent::ConnectionClosed { cause, .. } => panic!("the connection closed: {cause:?}"),
        _ => None,
    })
    .await
}

/// Answers the question of the node with `frame` and gives what it asked.
async fn answer(peer: &mut RawPeer, frame: &[u8]) -> Vec<u8> {
    let (channel, asked) = raw::event(peer, |event| match event {
        SwarmEvent::Behaviour(ProtocolsEvent::Metadata(Event::Message {
            message: Message::Request { request, channel, .. },
            ..
        })) => Some((channel, request.bytes)),
        _ => None,
    })
    .await;
    peer.behaviour_mut().metadata.as_mut().unwrap().send_response(channel, frame.to_vec()).unwrap();
    asked
}

async fn node_with_shards() -> Node {
    let mut config = config();
    config.shards = vec![0, 7];
    Node::start(config).await
}

async fn connected(muxer: &Muxer) -> (Node, RawPeer, PeerId) {
    let node = node_with_shards().await;
    let mut peer = raw::peer(muxer, true, 150 * 1_024);
    let id = raw::connect(&mut peer, &node.tcp()).await;
    (node, peer, id)
}

fn assert_full_answer(bytes: &[u8]) {
    let (length, body) = bytes.split_first().unwrap();
    assert_eq!(usize::from(*length), body.len(), "one frame and nothing after it");
    assert_eq!(Metadata::decode(body).unwrap(), Metadata { cluster_id: Some(1), shards: vec![0, 7] });
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_is_followed_by_the_end_of_the_stream() {
    for muxer in [Muxer::Yamux, Muxer::Mplex] {
        let (_node, mut peer, id) = connected(&muxer).await;
        ask(&mut peer, &id, &QUESTION, None);
        assert_full_answer(&outcome(&mut peer).await.1.unwrap());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_opened_ahead_of_need_can_be_used_later() {
    for muxer in [Muxer::Yamux, Muxer::Mplex] {
        let (_node, mut peer, id) = connected(&muxer).await;
        let later = Arc::new(Semaphore::new(0));
        let idle = ask(&mut peer, &id, &QUESTION, Some(&later));
        for _ in 0..3 {
            let prompt = ask(&mut peer, &id, &QUESTION, None);
            let (answered, bytes) = outcome(&mut peer).await;
            assert_eq!(answered, prompt);
            assert_full_answer(&bytes.unwrap());
        }
        later.close();
        let (answered, bytes) = outcome(&mut peer).await;
        assert_eq!(answered, idle);
        assert_full_answer(&bytes.unwrap());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn idle_streams_are_bounded_and_those_beyond_are_reset() {
    let (_node, mut peer, id) = connected(&Muxer::Yamux).await;
    let now = answer(&mut peer, &[2, 0x08, 1]).await;
    assert_full_answer(&now);
    let later = Arc::new(Semaphore::new(0));
    let mut idle = 0;
    // A question is refused as soon as idle streams hold every place.
    loop {
        ask(&mut peer, &id, &QUESTION, Some(&later));
        idle += 1;
        ask(&mut peer, &id, &QUESTION, None);
        match outcome(&mut peer).await.1 {
            // A reset that comes before the reading begins reads as an end.
            Ok(bytes) if bytes.is_empty() => break,
            Ok(bytes) => assert_full_answer(&bytes),
            Err(error) => {
                assert!(matches!(error, OutboundFailure::Io(_)), "{error}");
                break;
            }
        }
        assert!(idle < 64, "nothing bounds the idle streams");
    }
    later.close();
    let mut answered = 0;
    for _ in 0..idle {
        answered += usize::from(outcome(&mut peer).await.1.is_ok_and(|bytes| !bytes.is_empty()));
    }
    assert_eq!(answered, 32, "of {idle}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_question_fails_alone() {
    let (_node, mut peer, id) = connected(&Muxer::Yamux).await;
    let malformed = counters::METADATA_MALFORMED.value();
    for bad in [&[0xff; 12][..], &[0x81, 0x08], &[2, 0x08], &[1, 0x08], &[]] {
        ask(&mut peer, &id, bad, None);
        match outcome(&mut peer).await.1 {
            Ok(bytes) => assert!(bytes.is_empty(), "{bad:?} was answered"),
            Err(error) => assert!(matches!(error, OutboundFailure::Io(_)), "{bad:?}: {error}"),
        }
    }
    ask(&mut peer, &id, &QUESTION, None);
    assert_full_answer(&outcome(&mut peer).await.1.unwrap());
    assert!(counters::METADATA_MALFORMED.value() >= malformed + 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_node_asks_with_its_shards_and_leaves_another_cluster() {
    let (node, mut peer, _) = connected(&Muxer::Yamux).await;
    let others = counters::METADATA_OTHER_CLUSTER.value();
    assert_full_answer(&answer(&mut peer, &[2, 0x08, 2]).await);
    raw::event(&mut peer, |event| matches!(event, SwarmEvent::ConnectionClosed { .. }).then_some(())).await;
    assert!(counters::METADATA_OTHER_CLUSTER.value() > others);
    until(async || node.handle.connected_count() == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_peer_with_a_malformed_answer_or_none_stays() {
    for (frame, counter) in [
        (&[0xff, 0xff, 0xff][..], &counters::METADATA_MALFORMED),
        (&[0], &counters::METADATA_NO_CLUSTER),
        (&[2, 0x08, 1], &counters::METADATA_SAME_CLUSTER),
        (&[], &counters::METADATA_FAILED),
    ] {
        let before = counter.value();
        let (node, mut peer, id) = connected(&Muxer::Yamux).await;
        answer(&mut peer, frame).await;
        raw::beside(&mut peer, until(async || counter.value() > before)).await;
        ask(&mut peer, &id, &QUESTION, None);
        assert_full_answer(&outcome(&mut peer).await.1.unwrap());
        assert_eq!(node.handle.connected_count(), 1);
    }
}

/// The shards that the node tells, whoever asks.
async fn shards_told(peer: &mut RawPeer, node: &PeerId) -> Vec<u32> {
    ask(peer, node, &QUESTION, None);
    let bytes = outcome(peer).await.1.unwrap();
    let (length, prefix_bytes) = varint::decode(&bytes).unwrap();
    assert_eq!(bytes.len(), prefix_bytes + usize::try_from(length).unwrap());
    Metadata::decode(&bytes[prefix_bytes..]).unwrap().shards
}

#[tokio::test(flavor = "multi_thread")]
async fn shards_joined_and_left_at_run_time_are_told() {
    let (node, mut peer, id) = connected(&Muxer::Yamux).await;
    assert_eq!(node.handle.subscribe("/waku/2/rs/1/3").await, Ok(true));
    assert_eq!(shards_told(&mut peer, &id).await, [0, 3, 7]);
    assert_eq!(node.handle.unsubscribe(TOPIC).await, Ok(true));
    assert_eq!(shards_told(&mut peer, &id).await, [3, 7]);
    let topic = "/waku/2/rs/2/5".to_owned();
    let refused = SubscribeError::OtherCluster { topic: topic.clone(), cluster: 1 };
    assert_eq!(node.handle.subscribe(&topic).await, Err(refused));
    assert_eq!(node.handle.unsubscribe(&topic).await, Ok(false));
    assert_eq!(shards_told(&mut peer, &id).await, [3, 7]);
    // A peer that comes later is told the same when it is asked.
    let mut later = raw::peer(&Muxer::Yamux, true, 150 * 1_024);
    raw::connect(&mut later, &node.tcp()).await;
    let asked = answer(&mut later, &[2, 0x08, 1]).await;
    assert_eq!(Metadata::decode(&asked[1..]).unwrap().shards, [3, 7]);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_relay_the_configured_shards_are_told() {
    let node = Node::start(NetConfig { relay: false, shards: vec![2, 4], ..config() }).await;
    let mut peer = raw::peer(&Muxer::Yamux, true, 150 * 1_024);
    let id = raw::connect(&mut peer, &node.tcp()).await;
    assert_eq!(shards_told(&mut peer, &id).await, [2, 4]);
}

#[tokio::test(flavor = "multi_thread")]
async fn more_shards_than_a_message_holds_are_no_reason_not_to_start() {
    for (count, told) in [(512, 512), (1_024, 525)] {
        let node = Node::start(NetConfig { shards: (0..count).collect(), ..config() }).await;
        let mut peer = raw::peer(&Muxer::Yamux, true, 150 * 1_024);
        let id = raw::connect(&mut peer, &node.tcp()).await;
        assert_eq!(shards_told(&mut peer, &id).await, (0..told).collect::<Vec<u32>>());
    }
}
