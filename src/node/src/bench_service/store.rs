//! The scenario behind the comparison's rows about store: a node over a large archive on the disk, and clients that query it, all in this
//! process and over loopback TCP.

use std::path::Path;
use std::time::Instant;

use futures::{AsyncReadExt, AsyncWriteExt};
use levada_archive::{ArchiveMessage, DatabaseUrl};
use levada_engine::heap;
use levada_net::store::query;
use levada_net::{NetHandle, PeerId};
use levada_wire::varint;
use levada_wire::waku::store::{PROTOCOL, StoreRequest};

use super::peers::start;
use super::{CONTENT_TOPIC, TOPIC};
use crate::config::Config;
use crate::node::Node;

const PAYLOAD_BYTES: usize = 1_000;
const BATCH: u64 = 4_096;
const PAGE: u64 = 100;

/// Streams that one peer may have open are fewer than the queries at once.
const CLIENTS: usize = 10;

/// A node over an archive, and clients of it.
struct Bench {
    node: Node,
    clients: Vec<NetHandle>,
    peer: PeerId,
    stored: u64,
}

/// The median time of queries for pages of 100 messages of 1 kB from anywhere in an archive of `stored` messages, in milliseconds, as the
/// client sees it. `warmup` queries before do not count.
pub fn query_ms_p50(stored: u64, warmup: usize, queries: usize) -> f64 {
    with_node(stored, async |bench| {
        let mut times = Vec::with_capacity(queries);
        for number in 0..warmup + queries {
            let began = Instant::now();
            let page = query(bench.clients[0].exchange(), &bench.peer, &bench.request(number as u64)).await;
            assert_eq!(page.expect("a page").messages.len(), PAGE as usize);
            if number >= warmup {
                times.push(began.elapsed().as_secs_f64() * 1e3);
            }
        }
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    })
}

/// What the process holds more at most, in megabytes, while `queries` such pages have been asked for at once and nobody reads them. Needs
/// [`heap::CountingAllocator`] as the allocator.
pub fn held_mb(stored: u64, queries: usize) -> f64 {
    with_node(stored, async |bench| {
        heap::track_bytes(true);
        let mut streams = Vec::new();
        for number in 0..queries {
            let client = &bench.clients[number % CLIENTS];
            let mut stream = client.exchange().open(&bench.peer, PROTOCOL).await.expect("a stream");
            let mut body = Vec::new();
            bench.request(number as u64).encode(&mut body);
            let mut prefix = vec![0; varint::len(body.len() as u64)];
            varint::encode(body.len() as u64, &mut prefix);
            stream.write_all(&[prefix, body].concat()).await.expect("the node takes the query");
            stream.flush().await.expect("the node takes the query");
            streams.push(stream);
        }
        let mut first = [0];
        for stream in &mut streams {
            stream.read_exact(&mut first).await.expect("the answer has begun");
        }
        let (_, most) = heap::tracked_bytes();
        heap::track_bytes(false);
        most as f64 / 1e6
    })
}

impl Bench {
    /// The page behind a message anywhere in the archive, but not so near its end that it would not be full.
    fn request(&self, number: u64) -> StoreRequest<'static> {
        let behind = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) % (self.stored - PAGE);
        StoreRequest {
            request_id: "1",
            include_data: true,
            pubsub_topic: Some(TOPIC),
            content_topics: vec![CONTENT_TOPIC],
            cursor: Some(hash(behind)),
            forward: Some(true),
            limit: Some(PAGE),
            ..StoreRequest::default()
        }
    }
}

fn hash(number: u64) -> [u8; 32] {
    let mut hash = [0x3c; 32];
    hash[..8].copy_from_slice(&(number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes());
    hash
}

/// Fills an archive on the disk, and measures over it.
fn with_node(stored: u64, measure: impl AsyncFnOnce(&Bench) -> f64) -> f64 {
    let folder = std::env::temp_dir().join(format!("levada-store-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for the archive");
    let path = folder.join("store.sqlite3");
    fill(&path, stored);
    let runtime = tokio::runtime::Runtime::new().expect("the system grants threads");
    let figure = runtime.block_on(async {
        let bench = serve(&path, stored).await;
        let figure = measure(&bench).await;
        bench.clients.iter().for_each(NetHandle::shutdown);
        bench.node.stop().await;
        figure
    });
    std::fs::remove_dir_all(&folder).expect("the folder was made here");
    figure
}

/// Makes an archive at `path` with `stored` messages of 1 kB, as old as their numbers.
pub fn fill(path: &Path, stored: u64) {
    let url = DatabaseUrl::Sqlite(path.to_owned());
    let mut archive = levada_archive::open(&url).expect("a new archive");
    let payload = [7; PAYLOAD_BYTES];
    let message = |number: u64| ArchiveMessage {
        hash: hash(number),
        pubsub_topic: TOPIC,
        content_topic: CONTENT_TOPIC,
        payload: &payload,
        version: 0,
        timestamp: number as i64,
        meta: &[],
    };
    for first in (0..stored).step_by(BATCH as usize) {
        archive.insert_batch(&mut (first..stored.min(first + BATCH)).map(message)).expect("room on the disk");
    }
    archive.close().expect("a sound disk");
}

async fn serve(path: &Path, stored: u64) -> Bench {
    let url = format!("--store-message-db-url=sqlite://{}", path.display());
    let flags = [
        "--listen-address=127.0.0.1",
        "--tcp-port=0",
        "--websocket-support=false",
        "--rest=false",
        "--metrics-server=false",
        "--discv5-discovery=false",
        "--log-level=NONE",
        // The messages are as old as their numbers.
        "--store-message-retention-policy=none",
        &url,
    ];
    let loaded = Config::load(flags.into_iter().map(Into::into), []).unwrap_or_else(|errors| panic!("{errors}"));
    let node = Node::start(&loaded.config).await.expect("a node starts");
    let address = node.listening().peers[0].clone();
    let mut clients = Vec::new();
    for _ in 0..CLIENTS {
        clients.push(start(&address, false).await);
    }
    let id = address.to_string().rsplit('/').next().and_then(|id| id.parse().ok());
    Bench { node, clients, peer: id.expect("it ends in the peer id"), stored }
}
