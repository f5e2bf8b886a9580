//! A client begins with the peers that are there.

use std::net::UdpSocket;
use std::sync::Arc;
use std::time::Duration;

use levada_chunk::arena;
use levada_chunk::client::{FaultKind, Peers, PutOptions, Uploader};
use levada_chunk::transport::{Limits, PeerAddress, Scheme};
use levada_engine::Arena;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::cluster::{Cluster, content, limits, until};

/// So long that a test which waits for it never ends.
fn patient() -> Limits {
    let (connect_within, others_within) = (Duration::from_secs(3_600), Duration::from_millis(50));
    Limits { connect_within, others_within, ..limits() }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_peer_holds_nobody_up() {
    let cluster = Cluster::start(3).await;
    // Over QUIC nobody says that nobody is there.
    let dead = UdpSocket::bind("127.0.0.1:0").unwrap();
    let mut addresses = vec![PeerAddress::of(Scheme::Quic, dead.local_addr().unwrap())];
    addresses.extend(cluster.addresses(Scheme::Quic));
    let arena = Arena::new(&arena::sender(2)).unwrap();
    let peers = Arc::new(Peers::connect(&addresses, 7, None, arena.clone(), patient()).await.unwrap());
    assert_eq!((peers.wanted(), peers.peer(0).id()), (3, None));
    let dead_one = (addresses[0].to_string(), FaultKind::Unreachable, 1);
    assert!(peers.faults.counts().contains(&dead_one), "{:?}", peers.faults.counts());
    until(|| peers.reached() == 3).await;
    let path = cluster.folder.path().join("file");
    std::fs::write(&path, content(1, 5_000)).unwrap();
    let mut uploader = Uploader::new(peers.clone(), PutOptions::default(), arena).unwrap();
    let uploaded = uploader.put(&path, &Arc::default(), &mut watch::channel(false).1).await.unwrap();
    assert_eq!((uploaded.chunks, peers.dialing()), (1, 1), "the dead one is still waited for, by nobody else");
    drop((uploader, peers));
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_peer_takes_its_place() {
    let cluster = Cluster::start(2).await;
    let late = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut addresses = cluster.addresses(Scheme::Tcp);
    addresses.push(PeerAddress::of(Scheme::Tcp, late.local_addr().unwrap()));
    let arena = Arena::new(&arena::sender(1)).unwrap();
    let peers = Peers::connect(&addresses, 7, None, arena, patient()).await.unwrap();
    let near = [7; 32];
    assert_eq!(peers.candidates(&near).last(), Some(&2), "unknown, and asked last");
    let (mut stream, _) = late.accept().await.unwrap();
    let mut version = [0; 16];
    stream.read_exact(&mut version).await.unwrap();
    stream.write_all(&[&version[..], &near].concat()).await.unwrap();
    until(|| peers.dialing() == 0).await;
    assert_eq!((peers.reached(), peers.candidates(&near)[0]), (3, 2));
    drop(peers);
    cluster.stop().await;
}
