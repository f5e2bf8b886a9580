//! What a user sees when the network cannot start.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::sync::Arc;

use levada_net::{NetError, start};
use support::{Inbox, Node, config};

async fn error_of(config: levada_net::NetConfig) -> NetError {
    match start(config, Arc::new(Inbox::new(1, 1 << 24).0)).await {
        Ok(_) => panic!("it started"),
        Err(error) => error,
    }
}

fn port_of(address: &levada_net::Multiaddr) -> u16 {
    address
        .iter()
        .find_map(|part| if let libp2p::multiaddr::Protocol::Tcp(port) = part { Some(port) } else { None })
        .unwrap()
}

#[tokio::test]
async fn a_port_in_use_is_named_with_its_flag() {
    // Another node of the same user is the hard case: its listeners would share their ports.
    let other = Node::start(config()).await;
    let mut taken = config();
    taken.tcp_port = port_of(&other.tcp());
    let error = error_of(taken).await;
    assert!(matches!(&error, NetError::Listen { flag: "--tcp-port", .. }), "{error:?}");
    let text = error.to_string();
    assert!(text.contains(&port_of(&other.tcp()).to_string()) && text.contains("--tcp-port"), "{text}");

    let mut taken = config();
    taken.websocket_port = Some(port_of(&other.websocket()));
    let error = error_of(taken).await;
    assert!(matches!(&error, NetError::Listen { flag: "--websocket-port", .. }), "{error:?}");
    assert!(error.to_string().contains("/ws"), "{error}");
}

#[tokio::test]
async fn an_address_of_another_machine_is_refused() {
    let mut elsewhere = config();
    elsewhere.listen_address = "192.0.2.1".parse().unwrap();
    assert!(matches!(error_of(elsewhere).await, NetError::Listen { .. }));
}

#[tokio::test]
async fn a_static_peer_that_cannot_be_dialled_is_refused() {
    let mut quic = config();
    quic.static_peers = vec!["/ip4/127.0.0.1/udp/1/quic-v1".parse().unwrap()];
    let error = error_of(quic).await;
    assert!(error.to_string().contains("/udp/1/quic-v1"), "{error}");
}

#[tokio::test]
async fn without_websocket_there_is_one_listener() {
    let mut plain = config();
    plain.websocket_port = None;
    let node = Node::start(plain).await;
    let addresses = node.handle.listen_addresses();
    assert_eq!(addresses.len(), 1);
    assert_ne!(port_of(&addresses[0]), 0);
    assert!(addresses[0].to_string().ends_with(&format!("/p2p/{}", node.handle.peer_id())));
}

#[tokio::test]
async fn a_listener_on_all_addresses_knows_at_least_loopback() {
    let mut all = config();
    all.listen_address = std::net::Ipv4Addr::UNSPECIFIED.into();
    let node = Node::start(all).await;
    let loopback = |address: &levada_net::Multiaddr| address.to_string().starts_with("/ip4/127.0.0.1/tcp/");
    assert!(node.handle.listen_addresses().iter().any(loopback), "{:?}", node.handle.listen_addresses());
}
