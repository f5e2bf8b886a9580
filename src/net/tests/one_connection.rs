//! Two nodes that dial each other. Alone in its process, because it compares counters.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use levada_net::counters::{
    CONNECTIONS_CLOSED_IN, CONNECTIONS_CLOSED_OUT, CONNECTIONS_OPENED_IN, CONNECTIONS_OPENED_OUT,
};
use levada_net::{Multiaddr, NodeKey};
use support::{Node, config, fixed_port, until};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Barrier;

/// Passes one connection on to `port`, from when both nodes have dialled: neither has heard of the other before.
async fn gate(port: u16, both_dialled: Arc<Barrier>, key: &NodeKey) -> Multiaddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let gate = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        let (mut dialler, _) = listener.accept().await.unwrap();
        both_dialled.wait().await;
        let mut listener = loop {
            // A node may dial before it listens.
            match TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await {
                Ok(listener) => break listener,
                Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        };
        // The nodes close one of the two connections, in their way.
        _ = copy_bidirectional(&mut dialler, &mut listener).await;
    });
    format!("/ip4/127.0.0.1/tcp/{gate}/p2p/{}", key.peer_id()).parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_connections_that_crossed_both_nodes_keep_the_same() {
    let (mut one, mut other) = (config(), config());
    let ports = [fixed_port(2), fixed_port(3)];
    (one.tcp_port, other.tcp_port) = (ports[0], ports[1]);
    let both_dialled = Arc::new(Barrier::new(2));
    one.static_peers = vec![gate(ports[1], both_dialled.clone(), &other.key).await];
    other.static_peers = vec![gate(ports[0], both_dialled, &one.key).await];
    (one.workers, other.workers) = (2, 2);
    let (mut one, other) = tokio::join!(Node::start(one), Node::start(other));
    // Each end counts for itself.
    let opened = || [&CONNECTIONS_OPENED_IN, &CONNECTIONS_OPENED_OUT].map(|opened| opened.value());
    until(async || opened() == [2, 2]).await;
    one.meshed(1).await;
    other.meshed(1).await;
    assert_eq!(other.publish(b"over either").await, Ok(1));
    assert_eq!(one.receive().await.data, b"over either");
    let open = || opened().iter().sum::<u64>() - CONNECTIONS_CLOSED_IN.value() - CONNECTIONS_CLOSED_OUT.value();
    until(async || open() == 2).await;
    one.meshed(1).await;
    other.meshed(1).await;
    assert_eq!(other.publish(b"over the one").await, Ok(1));
    assert_eq!(one.receive().await.data, b"over the one");
    assert_eq!((opened(), open()), ([2, 2], 2), "nothing was dialled again");
}
