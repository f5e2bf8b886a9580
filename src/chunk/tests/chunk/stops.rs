//! Uploads that are interrupted, and nodes that end in the middle of one.

use std::time::Duration;

use levada_chunk::client::{DataMap, FaultKind, PutError, PutOptions, map_of};
use levada_chunk::transport::Scheme;

use crate::cluster::{CHUNK, Cluster, Sending, content, get, until};

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_upload_goes_on_where_it_ended() {
    const CHUNKS: u64 = 8;
    let cluster = Cluster::start(3).await;
    let addresses = cluster.addresses(Scheme::Tcp);
    let path = cluster.folder.path().join("file");
    let sent = content(1, CHUNKS as usize * CHUNK - 5);
    std::fs::write(&path, &sent).unwrap();
    // One chunk at a time, so that some are left when it stops.
    let mut sending = Sending::to(&addresses, 1, PutOptions::default()).await;
    let (progress, stop) = (sending.progress.clone(), sending.stop.clone());
    let stopper = tokio::spawn(async move {
        until(|| progress.snapshot().done_bytes > 0).await;
        stop.send(true).unwrap();
    });
    let mut stop = sending.stop.subscribe();
    let error = sending.uploader.put(&path, &sending.progress, &mut stop).await.unwrap_err();
    stopper.await.unwrap();
    let PutError::Stopped { stored, chunks: CHUNKS, .. } = error else { panic!("{error}") };
    assert!((1..CHUNKS).contains(&stored) && !map_of(&path).exists());
    sending.settle().await;
    let mut again = Sending::to(&addresses, 4, PutOptions::default()).await;
    let mut stop = again.stop.subscribe();
    let uploaded = again.uploader.put(&path, &again.progress, &mut stop).await.unwrap();
    assert_eq!((uploaded.kept, uploaded.chunks), (stored, CHUNKS));
    let map = DataMap::read(&uploaded.map).unwrap();
    assert!(map.chunks.iter().all(|address| cluster.holders(address) >= 2));
    let back = path.with_extension("back");
    get(&addresses, &map, &back).await;
    assert!(std::fs::read(&back).unwrap() == sent);
    let left: Vec<_> =
        std::fs::read_dir(cluster.folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().contains("journal")), "{left:?}");
    drop((sending, again));
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_ends_in_the_middle_is_replaced_by_the_next() {
    let mut cluster = Cluster::start(5).await;
    let addresses = cluster.addresses(Scheme::Quic);
    let path = cluster.folder.path().join("file");
    let sent = content(2, 12 * CHUNK);
    std::fs::write(&path, &sent).unwrap();
    let options = PutOptions { answer_within: Duration::from_secs(5), ..PutOptions::default() };
    let mut sending = Sending::to(&addresses, 2, options).await;
    let mut stop = sending.stop.subscribe();
    let (progress, ending) = (sending.progress.clone(), cluster.nodes.remove(4));
    let ender = tokio::spawn(async move {
        until(|| progress.snapshot().done_bytes > 0).await;
        ending.stop(Duration::ZERO).await
    });
    let uploaded = sending.uploader.put(&path, &sending.progress, &mut stop).await.unwrap();
    ender.await.unwrap();
    let map = DataMap::read(&uploaded.map).unwrap();
    // The folder of the fifth is still there, and may hold chunks of before its end.
    for address in &map.chunks {
        assert!(cluster.holders(address) + usize::from(on_disk(&cluster, 4, address)) >= 3);
    }
    let back = path.with_extension("back");
    get(&addresses[..4], &map, &back).await;
    assert!(std::fs::read(&back).unwrap() == sent);
    sending.settle().await;
    drop(sending);
    cluster.stop().await;
}

fn on_disk(cluster: &Cluster, number: usize, address: &[u8; 32]) -> bool {
    let name = hex::encode(address);
    cluster.folder_of(number).join("chunks").join(&name[62..]).join(&name).exists()
}

/// A download goes on too: what is in its place already is not asked for.
#[tokio::test(flavor = "multi_thread")]
async fn a_download_keeps_what_is_right_and_mends_what_is_not() {
    let cluster = Cluster::start(1).await;
    let addresses = cluster.addresses(Scheme::Tcp);
    let path = cluster.folder.path().join("file");
    let sent = content(3, 2 * CHUNK + 100);
    std::fs::write(&path, &sent).unwrap();
    let map = Sending::to(&addresses, 2, PutOptions::default()).await.put(&path).await;
    let back = path.with_extension("back");
    let mut part = sent.clone();
    part[CHUNK + 7] ^= 1;
    std::fs::write(path.with_extension("back.part"), &part).unwrap();
    let found = |cluster: &Cluster| cluster.nodes[0].replies().found.value();
    let before = found(&cluster);
    let peers = get(&addresses, &map, &back).await;
    assert!(std::fs::read(&back).unwrap() == sent);
    assert_eq!(found(&cluster) - before, 1, "one chunk of three was wrong");
    assert_eq!(peers.faults.of_kind(FaultKind::NotFound), 0);
    drop(peers);
    cluster.stop().await;
}

/// The file must stay what it is while it is read.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_not_there_or_changes_is_named() {
    let cluster = Cluster::start(1).await;
    let addresses = cluster.addresses(Scheme::Tcp);
    let mut sending = Sending::to(&addresses, 1, PutOptions::default()).await;
    let mut stop = sending.stop.subscribe();
    let missing = cluster.folder.path().join("missing");
    let error = sending.uploader.put(&missing, &sending.progress, &mut stop).await.unwrap_err();
    assert!(error.to_string().contains("missing"), "{error}");
    let error = sending.uploader.put(cluster.folder.path(), &sending.progress, &mut stop).await.unwrap_err();
    assert!(error.to_string().contains("ordinary file"), "{error}");
    let path = cluster.folder.path().join("file");
    std::fs::write(&path, content(4, 4 * CHUNK)).unwrap();
    let file = path.clone();
    let progress = sending.progress.clone();
    let writer = tokio::spawn(async move {
        until(|| progress.snapshot().done_bytes > 0).await;
        std::fs::OpenOptions::new()
            .append(true)
            .open(file)
            .and_then(|mut file| std::io::Write::write_all(&mut file, b"more"))
    });
    let error = sending.uploader.put(&path, &sending.progress, &mut stop).await.unwrap_err();
    writer.await.unwrap().unwrap();
    assert!(matches!(error, PutError::Changed { .. }), "{error}");
    drop(sending);
    cluster.stop().await;
}
