//! Two nodes that dial each other. Alone in its process, because it compares counters.

mod support;

use levada_net::counters::{
    CONNECTIONS_CLOSED_IN, CONNECTIONS_CLOSED_OUT, CONNECTIONS_OPENED_IN, CONNECTIONS_OPENED_OUT,
};
use support::{Node, config, fixed_port, until};

#[tokio::test(flavor = "multi_thread")]
async fn of_two_connections_that_crossed_both_nodes_keep_the_same() {
    let (mut one, mut other) = (config(), config());
    let ports = [fixed_port(2), fixed_port(3)];
    (one.tcp_port, other.tcp_port) = (ports[0], ports[1]);
    one.static_peers = vec![format!("/ip4/127.0.0.1/tcp/{}/p2p/{}", ports[1], other.key.peer_id()).parse().unwrap()];
    other.static_peers = vec![format!("/ip4/127.0.0.1/tcp/{}/p2p/{}", ports[0], one.key.peer_id()).parse().unwrap()];
    (one.workers, other.workers) = (2, 2);
    let (mut one, other) = tokio::join!(Node::start(one), Node::start(other));
    one.meshed(1).await;
    other.meshed(1).await;
    assert_eq!(other.publish(b"over either").await, Ok(1));
    assert_eq!(one.receive().await.data, b"over either");
    // Each end counts for itself.
    let open = || {
        let opened = CONNECTIONS_OPENED_IN.value() + CONNECTIONS_OPENED_OUT.value();
        opened - CONNECTIONS_CLOSED_IN.value() - CONNECTIONS_CLOSED_OUT.value()
    };
    until(async || open() == 2).await;
    one.meshed(1).await;
    other.meshed(1).await;
    assert_eq!(other.publish(b"over the one").await, Ok(1));
    assert_eq!(one.receive().await.data, b"over the one");
    assert_eq!(open(), 2);
}
