//! Messages between nodes, over both transports, and what verdicts do to them.

mod support;

use bytes::Bytes;
use levada_net::{Direction, Multiaddr, PublishError, Verdict};
use levada_wire::hash::message_id;
use libp2p::multiaddr::Protocol;
use support::{LARGEST_BYTES, Node, TOPIC, config, dialling, until};

async fn both_ways(a: Node, address: Multiaddr) {
    let mut a = a;
    let mut b = Node::start(dialling(&address)).await;
    a.meshed(1).await;
    b.meshed(1).await;
    assert_eq!(a.publish(b"from a").await, Ok(1));
    assert_eq!(b.publish(b"from b").await, Ok(1));
    let (at_b, at_a) = (b.receive().await, a.receive().await);
    assert_eq!((at_b.data.as_slice(), at_b.topic.as_str(), at_b.id), (&b"from a"[..], TOPIC, message_id(b"from a")));
    assert_eq!((at_a.data.as_slice(), at_a.id), (&b"from b"[..], message_id(b"from b")));
    let seen = a.handle.peers().await;
    assert_eq!((seen.len(), a.handle.connected_count()), (1, 1));
    assert_eq!((seen[0].peer_id, seen[0].direction, seen[0].handle), (b.handle.peer_id(), Direction::In, at_a.peer));
    assert_eq!(b.handle.peers().await[0].direction, Direction::Out);
}

#[tokio::test(flavor = "multi_thread")]
async fn over_tcp() {
    let a = Node::start(config()).await;
    let address = a.tcp();
    both_ways(a, address).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn over_websocket_and_without_the_peer_id() {
    let a = Node::start(config()).await;
    let mut address = a.websocket();
    assert!(matches!(address.pop(), Some(Protocol::P2p(id)) if id == a.handle.peer_id()));
    both_ways(a, address).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_accepted_messages_are_forwarded() {
    let mut middle = Node::start(config()).await;
    let from = Node::start(dialling(&middle.tcp())).await;
    let mut to = Node::start(dialling(&middle.websocket())).await;
    middle.meshed(2).await;
    from.meshed(1).await;
    to.meshed(1).await;
    for (data, verdict) in
        [(&b"ignored"[..], Verdict::Ignore), (b"rejected", Verdict::Reject), (b"accepted", Verdict::Accept)]
    {
        assert_eq!(from.publish(data).await, Ok(1));
        let message = middle.receive().await;
        assert_eq!(message.data, data);
        middle.judge(message, verdict).await;
    }
    assert_eq!(to.receive().await.data, b"accepted", "what came before it was not forwarded");
}

#[tokio::test(flavor = "multi_thread")]
async fn identify_tells_who_the_peer_is() {
    let mut told = config();
    told.agent = "a node under test".to_owned();
    told.external_addresses = vec!["/ip4/192.0.2.7/tcp/60000".parse().unwrap()];
    let a = Node::start(told).await;
    let external = a.handle.external_addresses();
    assert_eq!(external[0].to_string(), format!("/ip4/192.0.2.7/tcp/60000/p2p/{}", a.handle.peer_id()));
    let b = Node::start(dialling(&a.tcp())).await;
    until(async || b.handle.peers().await.first().is_some_and(|peer| !peer.agent.is_empty())).await;
    let peer = b.handle.peers().await.remove(0);
    assert_eq!(peer.agent, "a node under test");
    for protocol in [levada_net::RELAY_PROTOCOL, levada_net::METADATA_PROTOCOL, "/ipfs/id/1.0.0", "/ipfs/ping/1.0.0"] {
        assert!(peer.protocols.iter().any(|known| known == protocol), "{protocol} in {:?}", peer.protocols);
    }
    assert!(peer.addresses.iter().any(|address| address.to_string().starts_with("/ip4/192.0.2.7/tcp/60000")));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_published_is_told() {
    let a = Node::start(config()).await;
    assert_eq!(a.publish(b"lonely").await, Err(PublishError::NoPeers));
    let b = Node::start(dialling(&a.tcp())).await;
    a.meshed(1).await;
    assert_eq!(a.publish(b"lonely").await, Ok(1), "a message that found nobody may be published again");
    assert_eq!(a.publish(b"lonely").await, Err(PublishError::Duplicate));
    let bytes_max = LARGEST_BYTES;
    let large = Bytes::from(vec![0; bytes_max + 1]);
    let too_large = PublishError::TooLarge { bytes: bytes_max + 1, bytes_max };
    assert_eq!(a.handle.publish(TOPIC, large, None).await, Err(too_large));
    assert_eq!(b.handle.subscribe(TOPIC).await, Ok(false), "joined before");
    assert_eq!(b.handle.unsubscribe(TOPIC).await, Ok(true));
    assert_eq!(b.handle.unsubscribe(TOPIC).await, Ok(false));
    let mut changes = a.handle.changes();
    for number in 0_u8.. {
        // A new message each time, for one that was published before is a duplicate first of all.
        if a.handle.publish(TOPIC, Bytes::from(vec![number]), None).await == Err(PublishError::NoPeers) {
            break;
        }
        support::within(changes.changed()).await.unwrap();
    }
    let mut off = config();
    off.relay = false;
    let off = Node::start(off).await;
    assert_eq!(off.publish(b"data").await, Err(PublishError::RelayOff));
    assert!(off.handle.mesh_sizes().await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_known_id_is_used_instead_of_hashing() {
    let a = Node::start(config()).await;
    let mut b = Node::start(dialling(&a.tcp())).await;
    a.meshed(1).await;
    let id = Some([9; 32]);
    assert_eq!(a.handle.publish(TOPIC, Bytes::from_static(b"one"), id).await, Ok(1));
    assert_eq!(a.handle.publish(TOPIC, Bytes::from_static(b"two"), id).await, Err(PublishError::Duplicate));
    assert_eq!(a.publish(b"two").await, Ok(1), "the id was for one call only");
    assert_eq!(b.receive().await.id, message_id(b"one"), "the receiver hashes for itself");
}
