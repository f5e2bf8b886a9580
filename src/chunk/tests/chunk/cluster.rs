//! Some nodes in this process, each with a folder of its own, and a client of them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use levada_chunk::arena;
use levada_chunk::client::{DataMap, Downloader, GetOptions, Peers, Progress, PutOptions, Uploader};
use levada_chunk::node::{ChunkNode, NodeOptions};
use levada_chunk::stages::{AcceptAll, ChunkRecord};
use levada_chunk::transport::{Limits, PeerAddress, Scheme};
use levada_engine::Arena;
use tempfile::TempDir;
use tokio::sync::watch;

/// Bytes of the largest chunk.
pub const CHUNK: usize = 4 << 20;

/// How long an honest peer may take on a busy machine. Tests of those that are not say less.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// Limits that no honest peer comes to.
pub fn limits() -> Limits {
    Limits {
        stall: PATIENCE,
        message_within: PATIENCE,
        connect_within: PATIENCE,
        others_within: PATIENCE,
        ..Limits::default()
    }
}

/// Options of a node that takes everything, on ports of the system's choice.
pub fn node_options(folder: &Path) -> NodeOptions {
    let any = Some(([127, 0, 0, 1], 0).into());
    NodeOptions {
        folder: folder.to_owned(),
        tcp: any,
        quic: any,
        chunk_bytes_max: 1 << 40,
        arena_bytes: 64 << 20,
        connections_max: 32,
        requires_signature: false,
        verifier: Box::new(AcceptAll),
        limits: limits(),
    }
}

/// Peers of which every one was tried, however busy the machine is.
async fn connect(addresses: &[PeerAddress], arena: Arc<Arena<ChunkRecord>>, limits: Limits) -> Arc<Peers> {
    let peers = Arc::new(Peers::connect(addresses, 7, Some(1), arena, limits).await.unwrap());
    until(|| peers.dialing() == 0).await;
    peers
}

/// Waits for a condition.
pub async fn until(mut holds: impl FnMut() -> bool) {
    while !holds() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// Nodes and their folder.
pub struct Cluster {
    pub nodes: Vec<ChunkNode>,
    pub folder: TempDir,
}

impl Cluster {
    pub async fn start(nodes: usize) -> Self {
        let mut cluster = Self { nodes: Vec::new(), folder: tempfile::tempdir().unwrap() };
        for number in 0..nodes {
            let options = node_options(&cluster.folder_of(number));
            cluster.nodes.push(ChunkNode::start(options).await.unwrap());
        }
        cluster
    }

    pub fn folder_of(&self, number: usize) -> PathBuf {
        self.folder.path().join(format!("node-{number}"))
    }

    /// The addresses of all nodes on one transport.
    pub fn addresses(&self, scheme: Scheme) -> Vec<PeerAddress> {
        let of = |node: &ChunkNode| node.addresses().iter().find(|address| address.scheme == scheme).cloned();
        self.nodes.iter().filter_map(of).collect()
    }

    /// Nodes that have the chunk on their disks, whole.
    pub fn holders(&self, address: &[u8; 32]) -> usize {
        let name = hex::encode(address);
        let path = |number| self.folder_of(number).join("chunks").join(&name[62..]).join(&name);
        let is_whole = |bytes: Vec<u8>| blake3::hash(&bytes).as_bytes() == address;
        (0..self.nodes.len()).filter(|number| std::fs::read(path(*number)).is_ok_and(is_whole)).count()
    }

    /// Ends all nodes, which must have nothing left in their arenas.
    pub async fn stop(self) {
        for node in self.nodes {
            let arena = node.arena().clone();
            assert_eq!(node.stop(Duration::from_secs(20)).await, levada_engine::Drained::Complete);
            assert_eq!(arena.slots_in_use(), 0, "every slot of a node went back");
        }
    }
}

/// A client for sending, with the arena it sends from.
pub struct Sending {
    pub uploader: Uploader,
    pub peers: Arc<Peers>,
    pub arena: Arc<Arena<ChunkRecord>>,
    pub progress: Arc<Progress>,
    pub stop: watch::Sender<bool>,
}

impl Sending {
    pub async fn to(addresses: &[PeerAddress], chunks: usize, options: PutOptions) -> Self {
        Self::with_limits(addresses, chunks, options, limits()).await
    }

    pub async fn with_limits(addresses: &[PeerAddress], chunks: usize, options: PutOptions, limits: Limits) -> Self {
        let arena = Arena::new(&arena::sender(chunks)).unwrap();
        let peers = connect(addresses, arena.clone(), limits).await;
        let uploader = Uploader::new(peers.clone(), options, arena.clone()).unwrap();
        Self { uploader, peers, arena, progress: Arc::default(), stop: watch::channel(false).0 }
    }

    /// Puts a file; gives the list of its chunks.
    pub async fn put(&mut self, file: &Path) -> DataMap {
        let mut stop = self.stop.subscribe();
        let uploaded = self.uploader.put(file, &self.progress, &mut stop).await.unwrap();
        DataMap::read(&uploaded.map).unwrap()
    }

    /// Waits until no slot is lent out.
    pub async fn settle(&self) {
        until(|| self.arena.slots_in_use() == 0).await;
    }
}

/// Gets a file from `addresses`.
pub async fn get(addresses: &[PeerAddress], map: &DataMap, to: &Path) -> Arc<Peers> {
    let arena = Arena::new(&arena::receiver(64 << 20)).unwrap();
    let peers = connect(addresses, arena, limits()).await;
    let options = GetOptions { answer_within: PATIENCE, attempts: 3, concurrency: 8, signer: None };
    let downloader = Downloader::new(peers.clone(), options);
    let mut stop = watch::channel(false).1;
    downloader.get(map, to, &Arc::default(), &mut stop).await.unwrap();
    peers
}

/// Bytes that no two seeds have in common.
pub fn content(seed: u64, bytes: usize) -> Vec<u8> {
    let mut out = vec![0; bytes];
    blake3::Hasher::new().update(&seed.to_le_bytes()).finalize_xof().fill(&mut out);
    out
}
