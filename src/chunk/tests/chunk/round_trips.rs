//! Files go out to the majority of their close groups and come back byte for byte.

use levada_chunk::client::PutOptions;
use levada_chunk::signature::Signer;
use levada_chunk::transport::Scheme;

use crate::cluster::{CHUNK, Cluster, PATIENCE, Sending, content, get};

/// Puts and gets a file of each size; every chunk must be on the majority's disks.
async fn round_trips(scheme: Scheme, sizes: &[usize], signer: Option<Signer>) {
    let cluster = Cluster::start(5).await;
    let addresses = cluster.addresses(scheme);
    let mut sending =
        Sending::to(&addresses, 8, PutOptions { signer, answer_within: PATIENCE, ..PutOptions::default() }).await;
    for (seed, bytes) in (0..).zip(sizes) {
        let sent = content(seed, *bytes);
        let path = cluster.folder.path().join(format!("file-{bytes}"));
        std::fs::write(&path, &sent).unwrap();
        let map = sending.put(&path).await;
        assert_eq!(map.chunks.len(), bytes.div_ceil(CHUNK));
        assert!(map.chunks.iter().all(|address| cluster.holders(address) >= 3), "{bytes} bytes");
        let back = path.with_extension("back");
        get(&addresses, &map, &back).await;
        assert!(std::fs::read(&back).unwrap() == sent, "{bytes} bytes came back otherwise");
    }
    assert_eq!(sending.peers.faults.counts(), []);
    sending.settle().await;
    drop(sending);
    cluster.stop().await;
}

const SIZES: [usize; 6] = [0, 1, 70_000, CHUNK - 1, CHUNK, CHUNK + 1];

#[tokio::test(flavor = "multi_thread")]
async fn over_tcp() {
    round_trips(Scheme::Tcp, &SIZES, None).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn over_quic() {
    round_trips(Scheme::Quic, &SIZES, None).await;
}

/// Each recipient verifies the signature.
#[tokio::test(flavor = "multi_thread")]
async fn signed() {
    round_trips(Scheme::Tcp, &[1, CHUNK], Some(Signer::from_seed(&[3; 32]))).await;
}

/// More chunks than are under way at once; 300 MB with `LEVADA_DEEP=1`.
#[tokio::test(flavor = "multi_thread")]
async fn of_many_chunks() {
    let is_deep = std::env::var_os("LEVADA_DEEP").is_some_and(|deep| deep == "1");
    let bytes = if is_deep { 300_000_000 } else { 45_000_000 };
    for scheme in [Scheme::Tcp, Scheme::Quic] {
        round_trips(scheme, &[bytes], None).await;
    }
}
