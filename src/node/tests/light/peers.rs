//! How peers come, stay, and are remembered by the real binary.

use levada_net::peer_exchange::ask;
use levada_net::{Exchange, Multiaddr, NetConfig, NetHandle, NodeKey};
use levada_wire::waku::filter::SUBSCRIBE_PROTOCOL;

use super::client::{Client, config, start, until};
use crate::support::metrics::Scrape;
use crate::support::node::Node;

/// Connected peers of which the node knows what they serve.
const IDENTIFIED: &str = "waku_filter_peers";

/// Has a peer serve something that the node counts as soon as it hears of it, which is when identify is through.
fn show_identify(exchange: &Exchange) {
    exchange.accept(SUBSCRIBE_PROTOCOL, 1, |_, _| Box::pin(std::future::ready(()))).unwrap();
}

/// A network that listens at one address, which ends in its peer id.
async fn listener() -> (NetHandle, String) {
    let net = start(config()).await;
    show_identify(net.exchange());
    let address = net.listen_addresses()[0].to_string();
    (net, address)
}

#[tokio::test]
async fn peers_survive_a_restart_with_persistence_and_only_then() {
    let folder = tempfile::tempdir().unwrap();
    let (net, address) = listener().await;
    let connected = async |wanted: usize| until(async || net.connected_count() == wanted).await;

    let first = Node::start(folder.path(), &["--peer-persistence", &format!("--staticnode={address}")]);
    connected(1).await;
    // Identify comes after the connection, and only then does the node know what its peer serves and where it listens.
    until(async || Scrape::of(first.metrics()).value(IDENTIFIED) == 1).await;
    assert_eq!(first.stop().code, Some(0));
    connected(0).await;
    let remembered = std::fs::read_to_string(folder.path().join("levada-peers.txt")).unwrap();
    assert!(remembered.lines().any(|line| line == address), "{remembered}");

    let forgetful = Node::start(folder.path(), &[]);
    let second = Node::start(folder.path(), &["--peer-persistence", "--store=false"]);
    connected(1).await;
    assert!(net.peers().await.iter().all(|peer| peer.peer_id.to_string() == second.peer_id()));
    drop(forgetful);
    second.kill();
    connected(0).await;

    std::fs::write(folder.path().join("levada-peers.txt"), format!("rubbish\n{address}\n\u{0}\n")).unwrap();
    let third = Node::start(folder.path(), &["--peer-persistence"]);
    connected(1).await;
    drop(third);
}

#[tokio::test]
async fn the_agent_string_is_told_and_services_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::start(folder.path(), &["--agent-string=a-name"]);
    let net =
        start(NetConfig { static_peers: vec![node.after("listening on ")[0].parse().unwrap()], ..config() }).await;
    until(async || net.peers().await.iter().any(|peer| peer.protocols.len() > 5)).await;
    let peer = net.peers().await.remove(0);
    assert_eq!(peer.agent, "a-name");
    for wanted in [
        "/vac/waku/store-query/3.0.0",
        "/vac/waku/lightpush/3.0.0",
        "/vac/waku/lightpush/2.0.0-beta1",
        "/vac/waku/peer-exchange/2.0.0-alpha1",
        "/vac/waku/metadata/1.0.0",
        "/ipfs/ping/1.0.0",
    ] {
        assert!(peer.protocols.iter().any(|protocol| protocol == wanted), "{wanted} in {:?}", peer.protocols);
    }
}

#[tokio::test]
async fn no_more_peers_than_the_limits_allow() {
    let folder = tempfile::tempdir().unwrap();
    // Peers from 127.0.0.1 are not counted as many from one address, but those from 127.0.0.2 would be.
    let node = Node::start(folder.path(), &["--max-connections=2", "--ip-colocation-limit=1"]);
    let address: Multiaddr = node.after("listening on ")[0].parse().unwrap();
    let clients =
        futures::future::join_all((0..2).map(|_| start(NetConfig { static_peers: vec![address.clone()], ..config() })))
            .await;
    until(async || clients.iter().all(|client| client.connected_count() == 1)).await;
    let third = start(NetConfig { static_peers: vec![address.clone()], ..config() }).await;
    let failed = levada_net::counters::DIALS_OK.value();
    // Its connection is closed as soon as it stands; what holds is that the others stay.
    until(async || levada_net::counters::DIALS_OK.value() > failed || third.connected_count() == 0).await;
    assert!(clients.iter().all(|client| client.connected_count() == 1));
}

#[tokio::test]
async fn peer_exchange_leads_one_node_to_another() {
    let folders = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let first = Node::start(folders[0].path(), &[]);
    let bootstrap = format!("--discv5-bootstrap-node={}", first.after("record ")[0]);
    let second = Node::start(folders[1].path(), &[&bootstrap]);
    let client = Client::of(&first).await;
    // Only what Discovery v5 has found is told, so this takes a moment.
    until(async || !ask(client.exchange(), &client.peer, 60).await.unwrap().is_empty()).await;
    assert!(ask(client.exchange(), &client.peer, 0).await.unwrap().is_empty());

    let node = format!("--peer-exchange-node={}", first.after("listening on ")[0]);
    let third = Node::start(folders[2].path(), &["--discv5-discovery=false", "--peer-persistence", &node]);
    let connected = "libp2p_peers";
    until(async || Scrape::of(third.metrics()).value(connected) >= 2).await;
    assert_eq!(third.stop().code, Some(0));
    let known = std::fs::read_to_string(folders[2].path().join("levada-peers.txt")).unwrap();
    for node in [&first, &second] {
        assert!(known.contains(node.peer_id()), "{} in {known}", node.peer_id());
    }
}

#[tokio::test]
async fn relay_has_its_part_of_the_connections_and_services_have_the_rest() {
    let folder = tempfile::tempdir().unwrap();
    // Three for relay, of which one is to go out.
    let node = Node::start(folder.path(), &["--max-connections=6", "--relay-service-ratio=50:50"]);
    let address: Multiaddr = node.after("listening on ")[0].parse().unwrap();
    let peer = async |relay| {
        let static_peers = vec![address.clone()];
        let net = NetConfig { key: NodeKey::generate(), static_peers, relay, ..config() };
        show_identify(&net.exchange);
        start(net).await
    };
    let is_here = |peers: &[NetHandle]| peers.iter().all(|peer| peer.connected_count() == 1);
    let identified = async |count: u64| until(async || Scrape::of(node.metrics()).value(IDENTIFIED) == count).await;
    let mut relays = Vec::new();
    for count in 1..=2 {
        relays.push(peer(true).await);
        identified(count).await;
    }
    let third = peer(true).await;
    let refused = "levada_net_relay_share_disconnects_total";
    until(async || Scrape::of(node.metrics()).value(refused) > 0).await;
    assert!(is_here(&relays), "those that are here stay");
    third.shutdown();
    identified(2).await;
    let light = [peer(false).await, peer(false).await];
    identified(4).await;
    assert!(is_here(&relays) && is_here(&light));
}
