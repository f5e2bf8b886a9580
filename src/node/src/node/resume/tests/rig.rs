//! The parts of a node that resume, and store nodes for it to ask: real networks over loopback.

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use levada_archive::{Archive, ArchiveError, ArchiveMessage, ArchiveReader, InsertOutcome, MemoryArchive, Query};
use levada_engine::{Arena, ArenaConfig, Drained, Running};
use levada_net::exchange::{Reply, Service};
use levada_net::store::{Pages, StoreBody, StoreFailure, StorePage, StoreRow, TERMS, serve};
use levada_net::{Multiaddr, NetConfig, NetHandle, NodeKey, PeerId};
use levada_stages::{filter, unix_ns};
use levada_wire::hash::{Digest, message_hash};
use levada_wire::waku::WakuRecord;
use levada_wire::waku::store::{PROTOCOL, StoreRequest};
use tokio::sync::watch;

use crate::bench_service::peers::Deaf;
use crate::node::bells;
use crate::node::last_online::LastOnline;
use crate::node::publish::Tickets;
use crate::node::resume::{Feed, Parts, Patience, Resume, ResumeCounters, Work};
use crate::node::store::Store;
use crate::topology::{PathWorkers, Plan, Shared, draw};

pub const TOPIC: &str = "/waku/2/rs/0/0";
pub const MESSAGE_BYTES_MAX: usize = 150 << 10;

/// Everything a test waits for comes long before this, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(40);

/// Asks again and again until it is so.
pub async fn until(mut so: impl AsyncFnMut() -> bool) {
    let asking = async {
        while !so().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, asking).await.expect("it came in time");
}

async fn network(static_peers: Vec<Multiaddr>) -> NetHandle {
    let mut config = NetConfig::new(NodeKey::generate());
    config.listen_address = Ipv4Addr::LOCALHOST.into();
    (config.tcp_port, config.websocket_port, config.relay) = (0, None, false);
    config.static_peers = static_peers;
    let arena = Arena::new(&ArenaConfig::with_budget(16 << 20, 1 << 10)).unwrap();
    let (net, task) = levada_net::start(config, Arc::new(Deaf(arena))).await.unwrap();
    tokio::spawn(task);
    net
}

/// Row number `n` of a store node: it is `n` ms younger than an hour.
pub fn row(number: i64, payload: Vec<u8>) -> StoreRow {
    row_at(hour_ago() + number * 1_000_000, payload)
}

/// An hour before the test began.
pub fn hour_ago() -> i64 {
    static HOUR_AGO: std::sync::OnceLock<i64> = std::sync::OnceLock::new();
    *HOUR_AGO.get_or_init(|| unix_ns() - 3_600 * 1_000_000_000)
}

pub fn row_at(timestamp: i64, payload: Vec<u8>) -> StoreRow {
    let content_topic = "/levada/1/test/proto";
    let hash = message_hash(TOPIC, &payload, content_topic, b"m", timestamp);
    let body = StoreBody {
        pubsub_topic: TOPIC.to_owned(),
        content_topic: content_topic.to_owned(),
        payload: payload.into(),
        version: 0,
        timestamp,
        meta: b"m".to_vec(),
    };
    StoreRow { hash, body: Some(body) }
}

/// So many rows.
pub fn rows(count: i64) -> Vec<StoreRow> {
    (0..count).map(|number| row(number, format!("message {number}").into_bytes())).collect()
}

/// What a store node was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked {
    pub time_start: Option<i64>,
    pub time_end: Option<i64>,
    pub cursor: Option<Digest>,
    pub limit: Option<u64>,
}

/// A store node that is down once it is dropped.
pub struct Server {
    net: NetHandle,
    asked: Arc<Mutex<Vec<Asked>>>,
}

type Answer = dyn Fn(usize, Asked) -> Result<StorePage, StoreFailure> + Send + Sync;

struct Told {
    asked: Arc<Mutex<Vec<Asked>>>,
    answer: Box<Answer>,
}

impl Pages for Told {
    fn page(&self, request: &StoreRequest<'_>) -> BoxFuture<'static, Result<StorePage, StoreFailure>> {
        let StoreRequest { time_start, time_end, cursor, limit, .. } = *request;
        assert!(request.include_data && request.forward == Some(true));
        let asked = Asked { time_start, time_end, cursor, limit };
        let mut all = self.asked.lock().unwrap();
        all.push(asked);
        let answer = (self.answer)(all.len(), asked);
        futures::future::ready(answer).boxed()
    }
}

struct Raw(Box<dyn Fn(Bytes) -> Reply + Send + Sync>);

impl Service for Raw {
    fn answer(&self, _: PeerId, request: Bytes) -> BoxFuture<'static, Reply> {
        futures::future::ready((self.0)(request)).boxed()
    }

    fn too_many(&self) -> Reply {
        Reply::None
    }
}

impl Server {
    /// A node that gives the answer of a function to the request of each number, counted from 1.
    pub async fn answering(
        answer: impl Fn(usize, Asked) -> Result<StorePage, StoreFailure> + Send + Sync + 'static,
    ) -> Self {
        let (net, asked) = (network(Vec::new()).await, Arc::<Mutex<Vec<Asked>>>::default());
        let told = Told { asked: asked.clone(), answer: Box::new(answer) };
        serve(net.exchange(), Arc::new(told), None).unwrap();
        Self { net, asked }
    }

    /// A node that has these rows.
    pub async fn with(rows: Vec<StoreRow>) -> Self {
        Self::answering(move |_, asked| Ok(page(&rows, asked))).await
    }

    /// A node that answers bytes.
    pub async fn raw(answer: impl Fn(Bytes) -> Reply + Send + Sync + 'static) -> Self {
        let (net, asked) = (network(Vec::new()).await, Arc::default());
        net.exchange().serve(TERMS, Arc::new(Raw(Box::new(answer)))).unwrap();
        Self { net, asked }
    }

    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    pub fn peer(&self) -> PeerId {
        self.net.peer_id()
    }

    pub fn handle(&self) -> NetHandle {
        self.net.clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.net.shutdown();
    }
}

/// The page of sorted rows that was asked for.
pub fn page(rows: &[StoreRow], asked: Asked) -> StorePage {
    let time = |row: &StoreRow| row.body.as_ref().unwrap().timestamp;
    let within = |row: &&StoreRow| (asked.time_start.unwrap()..=asked.time_end.unwrap()).contains(&time(row));
    let behind = asked.cursor.map_or(0, |cursor| 1 + rows.iter().position(|row| row.hash == cursor).unwrap());
    let limit = asked.limit.unwrap() as usize;
    let mut found: Vec<StoreRow> = rows[behind..].iter().filter(within).take(limit + 1).cloned().collect();
    let goes_on = found.len() > limit;
    found.truncate(limit);
    let cursor = found.last().filter(|_| goes_on).map(|row| row.hash);
    StorePage { rows: found, cursor, hold: Box::new(()) }
}

/// An archive in memory that fails while it is told to.
struct Faulty {
    archive: MemoryArchive,
    fails: Arc<AtomicBool>,
}

impl Archive for Faulty {
    fn insert_batch<'a>(
        &mut self,
        batch: &mut dyn Iterator<Item = ArchiveMessage<'a>>,
    ) -> Result<InsertOutcome, ArchiveError> {
        if self.fails.load(Relaxed) {
            return Err(ArchiveError::BacklogFull { location: String::new(), bytes_max: 0 });
        }
        self.archive.insert_batch(batch)
    }

    fn reader(&self) -> Result<Box<dyn ArchiveReader>, ArchiveError> {
        self.archive.reader()
    }

    fn clear(&mut self) -> Result<(), ArchiveError> {
        self.archive.clear()
    }

    fn message_count(&self) -> Result<u64, ArchiveError> {
        self.archive.message_count()
    }

    fn location(&self) -> String {
        self.archive.location()
    }

    fn close(self: Box<Self>) -> Result<(), ArchiveError> {
        Ok(())
    }
}

/// A node as far as it resumes.
pub struct Rig {
    pub counters: Arc<ResumeCounters>,
    pub arena: Arc<Arena<WakuRecord>>,
    pub store: Store,
    pub fails: Arc<AtomicBool>,
    shared: Shared,
    net: NetHandle,
    feed: Feed,
    topology: Running,
    stop: watch::Sender<bool>,
    peers: Vec<PeerId>,
    pub last_online: Option<LastOnline>,
}

impl Rig {
    /// A node that is connected with `servers`, of which the first is its storenode.
    pub async fn new(servers: &[&Server], last_online: Option<LastOnline>) -> Self {
        const ARENA_BYTES: usize = 16 << 20;
        let arena = Arena::new(&ArenaConfig::with_budget(ARENA_BYTES, MESSAGE_BYTES_MAX)).unwrap();
        let shared = Shared::new(50, ARENA_BYTES, filter::Limits::default());
        shared.topics.intern(TOPIC).unwrap();
        let fails = Arc::new(AtomicBool::new(false));
        let archive = Box::new(Faulty { archive: MemoryArchive::new(64 << 20), fails: fails.clone() });
        let store = Store::open(&*archive, MESSAGE_BYTES_MAX).unwrap();
        let tickets = Arc::new(Tickets::default());
        let plan = Plan {
            workers: PathWorkers::new(1),
            message_bytes_max: MESSAGE_BYTES_MAX,
            archive: Some(archive),
            retention: Default::default(),
            commit: Default::default(),
            resume: true,
            answers: tickets.clone(),
        };
        let (_, wakers) = bells();
        let (drawing, ends) = draw(arena.clone(), &shared, plan, &wakers).unwrap();
        let topology = drawing.run().unwrap();
        let counters = Arc::<ResumeCounters>::default();
        let feed = Feed {
            source: ends.resume.unwrap(),
            tickets,
            backlog: shared.backlog.clone(),
            topics: shared.topics.clone(),
            counters: counters.clone(),
        };
        let (stop, _) = watch::channel(false);
        let (net, peers) = (network(Vec::new()).await, Vec::new());
        let rig = Self { counters, arena, store, fails, shared, net, feed, topology, stop, peers, last_online };
        rig.among(servers).await
    }

    /// The same in another network, once it knows that `servers` serve store.
    pub async fn among(self, servers: &[&Server]) -> Self {
        let net = network(servers.iter().map(|server| server.net.announced_addresses()[0].clone()).collect()).await;
        let serves = |peer: &levada_net::PeerInfo| peer.protocols.iter().any(|served| served == PROTOCOL);
        until(async || net.peers().await.iter().filter(|peer| serves(peer)).count() == servers.len()).await;
        let peers = servers.iter().map(|server| server.peer()).collect();
        self.net.shutdown();
        Self { net, peers, ..self }
    }

    fn parts(&self) -> Parts {
        let Feed { source, tickets, backlog, topics, counters } = &self.feed;
        let (source, tickets, backlog) = (source.clone(), tickets.clone(), backlog.clone());
        Parts {
            net: self.net.clone(),
            store_node: self.peers.first().copied(),
            store: self.store.clone(),
            feed: Feed { source, tickets, backlog, topics: topics.clone(), counters: counters.clone() },
            message_bytes_max: MESSAGE_BYTES_MAX,
            retention_seconds: None,
            last_online: self.last_online.clone(),
            patience: Patience { tries: 3, pause: Duration::from_millis(20) },
        }
    }

    /// One try, without a time at which the node was online.
    pub fn work(&self) -> Work {
        Work { parts: self.parts(), failed: None, from: None }
    }

    /// The whole of it.
    pub fn start(&self) -> Resume {
        let mut stop = self.stop.subscribe();
        Resume::start(self.parts(), async move { drop(stop.wait_for(|stop| *stop).await) })
    }

    /// Ends what was started, and all else.
    pub async fn stop(self, resume: Resume, until: i64) -> Drained {
        self.stop.send_replace(true);
        let topology = self.topology;
        let drained = tokio::task::spawn_blocking(move || topology.drain(PATIENCE)).await.unwrap();
        resume.stop(until, drained == Drained::Complete).await;
        self.net.shutdown();
        assert_eq!((self.arena.slots_in_use(), self.shared.backlog.bytes()), (0, 0));
        drained
    }

    /// The hashes in the archive, in its order.
    pub async fn hashes(&self) -> Vec<Digest> {
        let (mut hashes, mut cursor) = (Vec::new(), None);
        loop {
            let direction = levada_archive::Direction::Forward;
            let query = Query { cursor, direction, page_size: Some(100), ..Query::default() };
            let page = self.store.query(query).await.unwrap();
            hashes.extend(page.messages.iter().map(|message| message.hash));
            cursor = page.cursor;
            if cursor.is_none() {
                return hashes;
            }
        }
    }
}
