//! Whatever one peer does, the chunk reaches its majority by the next candidate, the slots come back, and the fault is named
//! and counted.

use std::time::Duration;

use levada_chunk::client::{DataMap, FaultKind, PutError, PutOptions};
use levada_chunk::stages::address_of;
use levada_chunk::transport::{Limits, Scheme};
use levada_wire::autonomi::ProtocolError;

use crate::cluster::{CHUNK, Cluster, Sending, content, get, limits};
use crate::odd_peer::{Conduct, OddPeer};

/// Every conduct and the fault it is.
const CONDUCTS: [(Conduct, FaultKind); 19] = [
    (Conduct::Stalls, FaultKind::Stalled),
    (Conduct::Silent, FaultKind::TimedOut),
    (Conduct::Dies, FaultKind::Disconnected),
    (Conduct::Garbage, FaultKind::Malformed),
    (Conduct::Floods, FaultKind::Malformed),
    (Conduct::WrongAddress, FaultKind::WrongAddress),
    (Conduct::WrongKind, FaultKind::UnexpectedAnswer),
    (Conduct::PaymentRequired, FaultKind::PaymentRequired),
    (Conduct::Error(ProtocolError::SerializationFailed("x")), FaultKind::SerializationFailed),
    (Conduct::Error(ProtocolError::DeserializationFailed("x")), FaultKind::DeserializationFailed),
    (Conduct::Error(ProtocolError::MessageTooLarge { size: 2, max_size: 1 }), FaultKind::MessageTooLarge),
    (Conduct::Error(ProtocolError::ChunkTooLarge { size: 2, max_size: 1 }), FaultKind::ChunkTooLarge),
    (
        Conduct::Error(ProtocolError::AddressMismatch { expected: &[1; 32], actual: &[2; 32] }),
        FaultKind::AddressMismatch,
    ),
    (Conduct::Error(ProtocolError::StorageFailed("x")), FaultKind::StorageFailed),
    (Conduct::Error(ProtocolError::PaymentFailed("x")), FaultKind::PaymentFailed),
    (Conduct::Error(ProtocolError::QuoteFailed("x")), FaultKind::QuoteFailed),
    (Conduct::Error(ProtocolError::Internal("x")), FaultKind::Internal),
    (CLIENT_OLD, FaultKind::ClientUpdateRequired),
    (STORER_OLD, FaultKind::StorerUpdateRequired),
];

const CLIENT_OLD: Conduct =
    Conduct::Error(ProtocolError::ClientUpdateRequired { client_settlement_version: 1, min_settlement_version: 2 });
const STORER_OLD: Conduct =
    Conduct::Error(ProtocolError::StorerUpdateRequired { client_settlement_version: 2, node_settlement_version: 1 });

#[tokio::test(flavor = "multi_thread")]
async fn a_put_goes_to_the_next_candidate() {
    let cluster = Cluster::start(3).await;
    for (seed, (conduct, kind)) in (100..).zip(CONDUCTS) {
        // A peer that takes nothing is felt only when the sockets between are full.
        let bytes = if conduct == Conduct::Stalls { CHUNK } else { 5_000 };
        let sent = content(seed, bytes);
        let odd = OddPeer::start(address_of(&sent), conduct).await;
        let mut addresses = cluster.addresses(Scheme::Tcp);
        addresses.push(odd.address.clone());
        let options = PutOptions { answer_within: Duration::from_secs(4), ..PutOptions::default() };
        let limits = Limits { stall: Duration::from_secs(1), ..limits() };
        let mut sending = Sending::with_limits(&addresses, 2, options, limits).await;
        let path = cluster.folder.path().join(format!("put-{seed}"));
        std::fs::write(&path, &sent).unwrap();
        let map = sending.put(&path).await;
        assert!(odd.requests() > 0, "{conduct:?} was asked");
        assert_eq!(cluster.holders(&map.chunks[0]), 3, "{conduct:?}");
        let counted = [(odd.address.to_string(), kind, 1)];
        assert_eq!(sending.peers.faults.counts(), counted, "{conduct:?}");
        // What a peer's connection still kept goes back when it is given up.
        sending.settle().await;
    }
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_get_goes_to_the_next_candidate() {
    let cluster = Cluster::start(1).await;
    let conducts = [
        (Conduct::Dies, FaultKind::Disconnected),
        (Conduct::Garbage, FaultKind::Malformed),
        (Conduct::Floods, FaultKind::Malformed),
        (Conduct::WrongAddress, FaultKind::WrongAddress),
        (Conduct::WrongContent, FaultKind::WrongAddress),
        (Conduct::WrongKind, FaultKind::UnexpectedAnswer),
        (Conduct::NotFound, FaultKind::NotFound),
        (Conduct::Error(ProtocolError::StorageFailed("x")), FaultKind::StorageFailed),
    ];
    for (seed, (conduct, kind)) in (200..).zip(conducts) {
        let sent = content(seed, 5_000);
        let path = cluster.folder.path().join(format!("get-{seed}"));
        std::fs::write(&path, &sent).unwrap();
        let map = Sending::to(&cluster.addresses(Scheme::Tcp), 1, PutOptions::default()).await.put(&path).await;
        let odd = OddPeer::start(map.chunks[0], conduct).await;
        let addresses = [vec![odd.address.clone()], cluster.addresses(Scheme::Tcp)].concat();
        let back = path.with_extension("back");
        let peers = get(&addresses, &map, &back).await;
        assert!(std::fs::read(&back).unwrap() == sent, "{conduct:?}");
        assert_eq!(peers.faults.counts(), [(odd.address.to_string(), kind, 1)], "{conduct:?}");
    }
    cluster.stop().await;
}

/// With too few peers that take it, a chunk is given up, and what it was is said.
#[tokio::test(flavor = "multi_thread")]
async fn without_a_majority_the_file_is_not_put() {
    let cluster = Cluster::start(1).await;
    let sent = content(300, 5_000);
    let conduct = Conduct::Error(ProtocolError::StorageFailed("full"));
    let odd = [OddPeer::start(address_of(&sent), conduct).await, OddPeer::start([9; 32], conduct).await];
    let addresses = [cluster.addresses(Scheme::Tcp), odd.iter().map(|odd| odd.address.clone()).collect()].concat();
    let mut sending = Sending::to(&addresses, 1, PutOptions { attempts: 2, ..PutOptions::default() }).await;
    let path = cluster.folder.path().join("file");
    std::fs::write(&path, &sent).unwrap();
    let mut stop = sending.stop.subscribe();
    let error = sending.uploader.put(&path, &sending.progress, &mut stop).await.unwrap_err();
    assert!(matches!(error, PutError::Majority { failed: 1, chunks: 1, wanted: 2, .. }), "{error}");
    assert_eq!(sending.peers.faults.of_kind(FaultKind::StorageFailed), 4, "two peers, asked twice");
    assert_eq!(cluster.holders(&address_of(&sent)), 1, "who has it is not asked again");
    assert!(!levada_chunk::client::map_of(&path).exists(), "no list of what cannot be got back");
    sending.settle().await;
    cluster.stop().await;
}

/// A node that answers at two addresses is one node: it cannot be the majority by itself.
#[tokio::test(flavor = "multi_thread")]
async fn one_node_under_two_addresses_counts_once() {
    let cluster = Cluster::start(2).await;
    let addresses = [cluster.addresses(Scheme::Tcp), cluster.addresses(Scheme::Quic)].concat();
    let mut sending = Sending::to(&addresses, 1, PutOptions::default()).await;
    assert_eq!((sending.peers.reached(), sending.peers.wanted()), (2, 2));
    let path = cluster.folder.path().join("file");
    std::fs::write(&path, content(400, 10)).unwrap();
    let DataMap { chunks, .. } = sending.put(&path).await;
    assert_eq!(cluster.holders(&chunks[0]), 2);
    drop(sending);
    cluster.stop().await;
}
