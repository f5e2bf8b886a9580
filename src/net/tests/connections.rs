//! Who may connect, who is dialled, and connections secured by TLS.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use levada_net::{Multiaddr, NetConfig, Origin, PeerId, TlsFiles, counters};
use libp2p::core::Transport;
use libp2p::core::muxing::StreamMuxerBox;
use libp2p::core::upgrade::Version;
use libp2p::identity::Keypair;
use libp2p::swarm::{SwarmEvent, dummy};
use libp2p::websocket::{self, tls};
use libp2p::{Swarm, noise, tcp, yamux};
use support::raw::{self, Muxer};
use support::{Node, config, until};

fn plain() -> NetConfig {
    config()
}

#[tokio::test(flavor = "multi_thread")]
async fn one_peer_more_from_an_address_than_its_limit_is_refused_and_the_others_stay() {
    let node = Node::start(NetConfig { ip_colocation_limit: 2, colocation_whitelist: vec![], ..plain() }).await;
    let mut peers = [(); 3].map(|()| raw::peer(&Muxer::Yamux, false, 1 << 20));
    let refusals = counters::COLOCATION_REFUSALS.value();
    for peer in &mut peers[..2] {
        raw::connect(peer, &node.tcp()).await;
    }
    until(async || node.handle.connected_count() == 2).await;
    let [first, second, third] = &mut peers;
    third.dial(node.tcp()).unwrap();
    raw::event(third, |event| matches!(event, SwarmEvent::ConnectionClosed { .. }).then_some(())).await;
    assert_eq!(counters::COLOCATION_REFUSALS.value(), refusals + 1);
    assert_eq!(node.handle.connected_count(), 2);
    let id = node.handle.peer_id();
    first.disconnect_peer_id(id).unwrap();
    raw::beside(first, until(async || node.handle.connected_count() == 1)).await;
    raw::connect(third, &node.tcp()).await;
    raw::beside(third, until(async || node.handle.connected_count() == 2)).await;
    assert!(second.is_connected(&id));
}

#[tokio::test(flavor = "multi_thread")]
async fn loopback_and_what_this_node_dials_are_not_counted() {
    let node = Node::start(NetConfig { ip_colocation_limit: 1, ..plain() }).await;
    let mut peers = [(); 3].map(|()| raw::peer(&Muxer::Yamux, false, 1 << 20));
    for peer in &mut peers {
        raw::connect(peer, &node.tcp()).await;
    }
    until(async || node.handle.connected_count() == 3).await;
    let others = [Node::start(plain()).await, Node::start(plain()).await];
    let static_peers = others.iter().map(Node::tcp).collect();
    let narrow = NetConfig { ip_colocation_limit: 1, colocation_whitelist: vec![], static_peers, ..plain() };
    let dialling = Node::start(narrow).await;
    until(async || dialling.handle.connected_count() == 2).await;
}

fn named(address: &str, id: PeerId) -> Multiaddr {
    format!("{address}/p2p/{id}").parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn known_peers_are_dialled_and_those_that_are_none_are_passed_over() {
    let (one, other) = (Node::start(plain()).await, Node::start(plain()).await);
    let foreign = Node::start(NetConfig { cluster_id: 99, relay: false, ..plain() }).await;
    let node = Node::start(plain()).await;
    let refused = counters::ADDRESSES_REFUSED.value();
    let own = node.tcp();
    let bare: Multiaddr = one.tcp().to_string().split("/p2p/").next().unwrap().parse().unwrap();
    let quic = named("/ip4/127.0.0.1/udp/1/quic-v1", PeerId::random());
    node.handle.learn(vec![own, bare, quic], Origin::Unknown).await;
    assert_eq!(node.handle.known_count().await, 0);
    assert_eq!(counters::ADDRESSES_REFUSED.value(), refused + 3);
    let nobody = named("/ip4/127.0.0.1/tcp/1", PeerId::random());
    node.handle.learn(vec![nobody, one.tcp(), other.tcp(), foreign.tcp()], Origin::Discv5).await;
    // The peer of another cluster is left as soon as it says so.
    let mut wanted = [one.handle.peer_id(), other.handle.peer_id()];
    wanted.sort();
    until(async || {
        let mut here: Vec<PeerId> = node.handle.peers().await.iter().map(|peer| peer.peer_id).collect();
        here.sort();
        here == wanted
    })
    .await;
    // Who was dialled knows where the dialling node listens, and comes back by itself.
    until(async || one.handle.known_count().await == 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_more_known_peers_are_dialled_than_are_wanted() {
    let others = [Node::start(plain()).await, Node::start(plain()).await, Node::start(plain()).await];
    let node = Node::start(NetConfig { outgoing_wanted: 2, ..plain() }).await;
    node.handle.learn(others.iter().map(Node::tcp).collect(), Origin::Dns).await;
    until(async || node.handle.connected_count() == 2).await;
    let leaving = others.iter().find(|other| other.handle.connected_count() == 1).unwrap();
    leaving.handle.shutdown();
    until(async || others.iter().filter(|other| other.handle.connected_count() == 1).count() == 2).await;
    assert_eq!(node.handle.connected_count(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_peer_comes_by_secured_websocket_and_only_so() {
    let folder = tempfile::tempdir().unwrap();
    let rcgen::CertifiedKey { cert, key_pair } =
        rcgen::generate_simple_self_signed(["127.0.0.1".to_owned(), "localhost".to_owned()]).unwrap();
    let files = TlsFiles { key: folder.path().join("key.pem"), certificate: folder.path().join("certificate.pem") };
    std::fs::write(&files.key, key_pair.serialize_pem()).unwrap();
    std::fs::write(&files.certificate, cert.pem()).unwrap();
    let node = Node::start(NetConfig { websocket_tls: Some(files), ..plain() }).await;
    let listening = node.handle.listen_addresses();
    let address = listening.iter().find(|address| address.to_string().contains("/wss/")).unwrap();

    let mut peer = websocket_peer(&tls::Certificate::new(cert.der().to_vec()));
    raw::connect(&mut peer, address).await;
    raw::beside(&mut peer, until(async || node.handle.connected_count() == 1)).await;

    let unsecured: Multiaddr = address.to_string().replace("/wss/", "/ws/").parse().unwrap();
    let other = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap().cert;
    for (address, trusted) in [(&unsecured, &cert), (address, &other)] {
        let mut peer = websocket_peer(&tls::Certificate::new(trusted.der().to_vec()));
        peer.dial(address.clone()).unwrap();
        let refused = |event| matches!(event, SwarmEvent::OutgoingConnectionError { .. }).then_some(());
        raw::event(&mut peer, refused).await;
    }
    assert_eq!(node.handle.connected_count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secured_listener_without_its_files_does_not_start() {
    let missing = TlsFiles { key: "nowhere/key.pem".into(), certificate: "nowhere/certificate.pem".into() };
    let (inbox, _messages) = support::Inbox::new(1, 16 << 20);
    let config = NetConfig { websocket_tls: Some(missing), ..plain() };
    let error = levada_net::start(config, std::sync::Arc::new(inbox)).await.err().unwrap().to_string();
    assert!(error.contains("nowhere/key.pem") && error.contains("--websocket-secure-key-path"), "{error}");
}

/// A peer that speaks WebSocket and trusts one certificate.
fn websocket_peer(trusted: &tls::Certificate) -> Swarm<dummy::Behaviour> {
    let key: Keypair = Keypair::generate_ed25519();
    let mut builder = tls::Config::builder();
    builder.add_trust(trusted).unwrap();
    let mut transport = websocket::Config::new(tcp::tokio::Transport::default());
    transport.set_tls_config(builder.finish());
    let transport = transport
        .upgrade(Version::V1Lazy)
        .authenticate(noise::Config::new(&key).unwrap())
        .multiplex(yamux::Config::default())
        .map(|(peer, muxer), _| (peer, StreamMuxerBox::new(muxer)))
        .boxed();
    let config =
        libp2p::swarm::Config::with_tokio_executor().with_idle_connection_timeout(std::time::Duration::from_secs(600));
    Swarm::new(transport, dummy::Behaviour, key.public().to_peer_id(), config)
}
