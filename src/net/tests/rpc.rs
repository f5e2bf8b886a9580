//! RPCs that the stock router would not write: names that are no shards, and as many control messages as are allowed.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use bytes::Bytes;
use levada_net::{PeerId, PublishError};
use levada_wire::varint;
use libp2p::Swarm;
use libp2p::request_response::Behaviour;
use support::raw::{self, Ask, ToTheEnd};
use support::{Node, TOPIC, config, until};

type Writer = Swarm<Behaviour<ToTheEnd>>;

/// A field of protobuf that holds bytes.
fn field(number: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 1 + varint::len(body.len() as u64)];
    bytes[0] = number << 3 | 2;
    varint::encode(body.len() as u64, &mut bytes[1..]).unwrap();
    bytes.extend_from_slice(body);
    bytes
}

/// `RPC.subscriptions` that joins `topic`.
fn joining(topic: &str) -> Vec<u8> {
    field(1, &[&[0x08, 1], &field(2, topic.as_bytes())[..]].concat())
}

async fn write(peer: &mut Writer, node: &PeerId, rpc: &[u8]) {
    // The number of the field is cut off, and what is left is a length and a body.
    peer.behaviour_mut().send_request(node, Ask { bytes: field(1, rpc)[1..].to_vec(), after: None });
}

async fn connected() -> (Node, Writer, PeerId) {
    let node = Node::start(config()).await;
    let mut peer = raw::relay_writer();
    let id = raw::connect(&mut peer, &node.tcp()).await;
    (node, peer, id)
}

async fn publish(node: &Node, topic: &str, data: &'static [u8]) -> Result<usize, PublishError> {
    node.handle.publish(topic, Bytes::from_static(data), None).await
}

#[tokio::test(flavor = "multi_thread")]
async fn names_that_are_no_shards_of_the_cluster_are_not_kept() {
    let (node, mut peer, id) = connected().await;
    let long = format!("/waku/2/rs/1/{}", "7".repeat(12_000));
    let others = [&long, "/waku/2/rs/2/0", "/waku/2/default-waku/proto"];
    let rpc: Vec<u8> = others.into_iter().chain([TOPIC]).flat_map(joining).collect();
    write(&mut peer, &id, &rpc).await;
    // The subscriptions of one RPC are handled together.
    raw::beside(&mut peer, until(async || publish(&node, TOPIC, b"to the shard").await == Ok(1))).await;
    for other in others {
        assert_eq!(publish(&node, other, b"to another topic").await, Err(PublishError::NoPeers), "{other:.40}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn all_shards_of_a_cluster_fit_into_one_rpc_and_no_more_are_kept() {
    let (mut node, mut peer, id) = connected().await;
    let rpc: Vec<u8> = (0..1_024).flat_map(|shard| joining(&format!("/waku/2/rs/1/{shard}"))).collect();
    write(&mut peer, &id, &rpc).await;
    raw::beside(&mut peer, until(async || publish(&node, "/waku/2/rs/1/1023", b"to the last").await == Ok(1))).await;
    let message = field(2, &[field(2, b"beside them"), field(4, TOPIC.as_bytes())].concat());
    write(&mut peer, &id, &[joining("/waku/2/rs/1/1024"), joining("/waku/2/rs/1/1025"), message].concat()).await;
    assert_eq!(raw::beside(&mut peer, node.receive()).await.data, b"beside them");
    assert_eq!(publish(&node, "/waku/2/rs/1/1025", b"one more").await, Err(PublishError::NoPeers));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_longest_gossip_that_is_allowed_does_not_break_the_stream() {
    let (mut node, mut peer, id) = connected().await;
    let ids: Vec<u8> = (0..5_000_u32).flat_map(|number| field(2, &[number.to_be_bytes(); 8].concat())).collect();
    let ihave = field(1, &[field(1, TOPIC.as_bytes()), ids].concat());
    let message = field(2, &[field(2, b"beside it"), field(4, TOPIC.as_bytes())].concat());
    write(&mut peer, &id, &[message, field(3, &ihave)].concat()).await;
    assert_eq!(raw::beside(&mut peer, node.receive()).await.data, b"beside it");
}
