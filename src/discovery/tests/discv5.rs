//! Nodes on loopback that know one record find each other.

use std::collections::HashSet;
use std::net::Ipv4Addr;
use std::time::Duration;

use levada_discovery::service::{Service, ServiceError, Settings};
use levada_discovery::{Advertised, Capabilities, Record, Shards};
use libp2p_identity::PeerId;
use libp2p_identity::secp256k1::{Keypair, SecretKey};
use tokio::sync::mpsc::Receiver;

const LOOPBACK: Ipv4Addr = Ipv4Addr::LOCALHOST;

fn settings(number: u8, cluster: u16, bootstrap: &[Record]) -> Settings {
    let advertised = Advertised {
        ip4: Some(LOOPBACK),
        tcp4: Some(60_000 + u16::from(number)),
        capabilities: Capabilities::RELAY,
        shards: Some(Shards { cluster, indices: [0].into() }),
        ..Advertised::default()
    };
    Settings {
        key: Keypair::from(SecretKey::try_from_bytes([number; 32]).expect("any small number is a secret key")),
        listen: (LOOPBACK, 0).into(),
        advertised,
        sequence: 1,
        bootstrap: bootstrap.to_vec(),
    }
}

async fn found(receiver: &mut Receiver<Record>, count: usize) -> HashSet<PeerId> {
    let mut peers = HashSet::new();
    let all = async {
        while peers.len() < count {
            let record = receiver.recv().await.expect("the service runs");
            assert!(!record.dialable().expect("well formed").is_empty());
            assert!(peers.insert(record.peer()), "a record that did not change is told once");
        }
    };
    tokio::time::timeout(Duration::from_secs(60), all).await.expect("they are found");
    peers
}

#[tokio::test]
async fn three_nodes_find_each_other_from_one_record() {
    let (first, mut first_found) = Service::start(settings(1, 16, &[])).await.expect("it starts");
    let bootstrap = [first.record().expect("our own")];
    let (second, mut second_found) = Service::start(settings(2, 16, &bootstrap)).await.expect("it starts");
    let (third, mut third_found) = Service::start(settings(3, 16, &bootstrap)).await.expect("it starts");
    // Of another cluster: it takes part, and nobody is told of it.
    let (_other, mut other_found) = Service::start(settings(4, 17, &bootstrap)).await.expect("it starts");
    let peers = [&first, &second, &third].map(|node| node.record().expect("our own").peer());
    let others = |own: usize| peers.iter().enumerate().filter(|(n, _)| *n != own).map(|(_, peer)| *peer).collect();
    assert_eq!(found(&mut first_found, 2).await, others(0));
    assert_eq!(found(&mut second_found, 2).await, others(1));
    assert_eq!(found(&mut third_found, 2).await, others(2));
    assert!(other_found.try_recv().is_err(), "nobody is in its cluster");
    assert!(first.connected() >= 2);
}

#[tokio::test]
async fn a_port_in_use_is_named() {
    let (first, _found) = Service::start(settings(1, 16, &[])).await.expect("it starts");
    let second = Settings { listen: first.listen(), ..settings(2, 16, &[]) };
    match Service::start(second).await {
        Err(error @ ServiceError::Listen { .. }) => {
            let text = error.to_string();
            assert!(text.contains(&first.listen().to_string()) && text.contains("--discv5-udp-port"), "{text}");
        }
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("two sockets on one port"),
    }
}
