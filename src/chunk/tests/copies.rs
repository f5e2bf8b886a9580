//! What is copied, hashed and signed on a chunk's way, by the counters that run in production. A process of its own, because it reads
//! them.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "chunk/cluster.rs"]
mod cluster;

use cluster::{CHUNK, Cluster, PATIENCE, Sending, content, get};
use levada_chunk::client::PutOptions;
use levada_chunk::signature::{SIGNATURES, Signer};
use levada_chunk::stages::CHUNK_HASHES;
use levada_chunk::transport::Scheme;
use levada_engine::{PAYLOAD_COPIED_BYTES, PAYLOAD_COPIES};

/// Copies, bytes of them, and hashes that putting one chunk to three nodes costs all four programs together.
async fn cost(cluster: &Cluster, scheme: Scheme, seed: u64) -> (u64, u64, u64) {
    let path = cluster.folder.path().join(format!("file-{seed}"));
    std::fs::write(&path, content(seed, CHUNK)).unwrap();
    let options = PutOptions { answer_within: PATIENCE, ..PutOptions::default() };
    let mut sending = Sending::to(&cluster.addresses(scheme), 1, options).await;
    let counters = || (PAYLOAD_COPIES.value(), PAYLOAD_COPIED_BYTES.value(), CHUNK_HASHES.value());
    let before = counters();
    let map = sending.put(&path).await;
    assert_eq!(cluster.holders(&map.chunks[0]), 2);
    assert_eq!(sending.peers.faults.counts(), []);
    sending.settle().await;
    let after = counters();
    (after.0 - before.0, after.1 - before.1, after.2 - before.2)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chunk_is_hashed_and_signed_once_and_copied_at_most_once_by_its_receiver() {
    let cluster = Cluster::start(3).await;
    // The sender makes none for any recipient; TCP writes into the slot, QUIC's buffers are copied to it.
    assert_eq!(cost(&cluster, Scheme::Tcp, 1).await, (0, 0, 3));
    let (copies, copied_bytes, hashes) = cost(&cluster, Scheme::Quic, 2).await;
    let messages_bytes = 2 * CHUNK as u64;
    assert_eq!(hashes, 3);
    // Two chunks and their two answers.
    assert_eq!(copies, 4);
    assert!((messages_bytes..messages_bytes + 1_000).contains(&copied_bytes), "{copied_bytes}");
    // Coming back, the chunk is hashed by who reads the disk and by who asked.
    let path = cluster.folder.path().join("file-1");
    let map = levada_chunk::client::DataMap::read(&levada_chunk::client::map_of(&path)).unwrap();
    let before = (PAYLOAD_COPIES.value(), CHUNK_HASHES.value());
    get(&cluster.addresses(Scheme::Tcp), &map, &path.with_extension("back")).await;
    assert_eq!((PAYLOAD_COPIES.value() - before.0, CHUNK_HASHES.value() - before.1), (0, 2));
    // One signature serves all recipients; each verifies it, and none copies for it.
    let before = (SIGNATURES.value(), PAYLOAD_COPIES.value());
    let path = cluster.folder.path().join("signed");
    std::fs::write(&path, content(3, CHUNK)).unwrap();
    let options =
        PutOptions { signer: Some(Signer::from_seed(&[3; 32])), answer_within: PATIENCE, ..PutOptions::default() };
    let mut sending = Sending::to(&cluster.addresses(Scheme::Tcp), 1, options).await;
    let map = sending.put(&path).await;
    assert_eq!(cluster.holders(&map.chunks[0]), 2);
    assert_eq!((SIGNATURES.value() - before.0, PAYLOAD_COPIES.value() - before.1), (1, 0));
    drop(sending);
    cluster.stop().await;
}
