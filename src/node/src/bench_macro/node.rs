//! One node of the benchmark: network, path and archive on the calling thread.

use std::io::{self, PipeWriter};
use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as Socket;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{AcqRel, Release};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use levada_archive::{Archive, MemoryArchive, RetentionPolicy};
use levada_benches::micro::Counts;
use levada_benches::workload;
use levada_engine::seen::Set;
use levada_engine::{Arena, ArenaConfig, Counter, Held, Invoker, Waker};
use levada_net::counters::CROSS_WORKER_WAKES;
use levada_net::{Inbound, MeshDegrees, NetConfig, NetHandle, NodeKey, Refused, peer_address};
use levada_stages::archive::GroupCommit;
use levada_stages::event::Interest;
use levada_stages::filter::Limits;
use levada_wire::waku::WakuRecord;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::Notify;
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::handler::{HandlingArchive, SharedLog};
use super::machine;
use super::orders::{Answer, Measured, Order, Role, Setup, line_of, said};
use super::publisher::Publisher;
use super::router::Router;
use crate::node::egress;
use crate::node::ingress::Ingress;
use crate::topology::{self, Ends, PathWorkers, Plan, Shared, Wakers};

/// Payload memory of a node. Much more than a window, for what routers keep to be asked for again.
const ARENA_BYTES: usize = 128 << 20;

/// What the archive keeps.
const ARCHIVE_BYTES: usize = 64 << 20;

/// The REST cache of a node, nwaku's default.
const CACHE_MESSAGES: usize = 50;

/// The size limit of the network, nwaku's default.
const MESSAGE_BYTES_MAX: usize = 150 << 10;

/// Connecting and two heartbeats take a few seconds.
const MESH_TIME_MAX: Duration = Duration::from_secs(30);

/// Between two looks at the mesh.
const MESH_LOOK: Duration = Duration::from_millis(5);

/// The last byte of the first receiver's address on loopback.
const FIRST_RECEIVER: u8 = 2;

/// More peers than this no mesh has (gossipsub's D_hi), when there are many receivers.
const MANY_PEERS_MAX: usize = 12;

/// How often stages have their chores done, as a worker does it.
const CHORES: Duration = Duration::from_millis(100);

/// Is a node until `control` ends: the first line sets it up, each other one is an [`Order`]. `feedback` is the publisher's end or a
/// receiver's end of the pipe. `routers` are those that the set-up may name. `moved_bytes` tells what the calling thread has copied.
///
/// # Errors
/// The stream broke. What the node itself cannot do is an [`Answer::Failed`].
pub fn serve(control: Socket, feedback: OwnedFd, routers: &[Router], moved_bytes: fn() -> u64) -> io::Result<()> {
    control.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let (read, write) = UnixStream::from_std(control)?.into_split();
        let mut control = Control { lines: BufReader::new(read).lines(), write };
        let Some(setup) = control.next::<Setup>().await? else { return Ok(()) };
        machine::bind(setup.core);
        match BenchNode::start(&setup, feedback, routers, moved_bytes).await {
            Ok(node) => node.follow(control, &setup).await,
            Err(error) => control.say(&Answer::Failed { reason: error.to_string() }).await,
        }
    })
}

/// The stream to whoever runs the benchmark.
struct Control {
    lines: Lines<BufReader<OwnedReadHalf>>,
    write: OwnedWriteHalf,
}

impl Control {
    async fn next<T: serde::de::DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        self.lines.next_line().await?.map(|line| said(&line)).transpose()
    }

    async fn say(&mut self, answer: &Answer) -> io::Result<()> {
        self.write.write_all(line_of(answer).as_bytes()).await
    }
}

/// The way in, which wakes whoever turns the path.
struct Door {
    ingress: Ingress,
    bell: Arc<Bell>,
}

/// Tells the node's thread that the path has something to do.
struct Bell {
    ready: Notify,
    /// It was rung since the path was turned last.
    is_rung: AtomicBool,
    home: ThreadId,
    /// Times that it was rung by another thread.
    wakes: Counter,
}

impl Bell {
    /// For the calling thread.
    fn new() -> Self {
        let home = std::thread::current().id();
        Self { ready: Notify::new(), is_rung: AtomicBool::new(false), home, wakes: Counter::new() }
    }

    fn ring(&self) {
        // Pairs with the store in `follow`.
        if !self.is_rung.swap(true, AcqRel) && std::thread::current().id() != self.home {
            self.wakes.add(1);
        }
        self.ready.notify_one();
    }
}

impl Inbound for Door {
    fn arena(&self) -> &Arc<Arena<WakuRecord>> {
        self.ingress.arena()
    }

    fn topic(&self, name: &str) -> Option<u32> {
        self.ingress.topic(name)
    }

    fn seen(&self) -> Option<Arc<Set>> {
        self.ingress.seen()
    }

    fn offer(&self, message: Held<WakuRecord>) -> Result<(), Refused> {
        let taken = self.ingress.offer(message);
        self.bell.ring();
        taken
    }
}

struct BenchNode {
    net: NetHandle,
    invoker: Invoker<WakuRecord>,
    bell: Arc<Bell>,
    log: SharedLog,
    arena: Arc<Arena<WakuRecord>>,
    publisher: Option<Publisher>,
    /// Whether the node has threads beside this one, and the process to itself.
    has_workers: bool,
    moved_bytes: fn() -> u64,
    /// As they stood at the beginning.
    before: Stand,
}

/// What only grows, on the node's threads.
#[derive(Debug, Clone, Copy, Default)]
struct Stand {
    counts: Counts,
    wakes: u64,
    cpu_ns: u64,
    moved_bytes: u64,
}

type Failure = Box<dyn std::error::Error + Send + Sync>;

impl BenchNode {
    async fn start(
        setup: &Setup,
        feedback: OwnedFd,
        routers: &[Router],
        moved_bytes: fn() -> u64,
    ) -> Result<Self, Failure> {
        let router =
            routers.iter().find(|router| router.name == setup.router).ok_or("no such router in this program")?;
        let (mut reader, mut writer) = (None, None);
        match setup.role {
            Role::Publisher => reader = Some(pipe::Receiver::from_owned_fd(feedback)?),
            Role::Relay => drop(feedback),
            Role::Receiver(number) => writer = Some((PipeWriter::from(feedback), number)),
        }
        let arena = Arena::new(&ArenaConfig::with_budget(ARENA_BYTES, MESSAGE_BYTES_MAX))?;
        let shared = Shared::new(CACHE_MESSAGES, ARENA_BYTES, Limits::default());
        let topic = shared.topics.intern(workload::PUBSUB_TOPIC)?;
        shared.events.open(Interest::Topic(topic));
        for (subscriber, content_topic) in [(b"1", workload::CONTENT_TOPIC), (b"2", workload::OTHER_CONTENT_TOPIC)] {
            shared.subscriptions.subscribe(subscriber, workload::PUBSUB_TOPIC, content_topic, Instant::now())?;
        }
        let log = SharedLog::default();
        let archive = HandlingArchive::new(Box::new(MemoryArchive::new(ARCHIVE_BYTES)), log.clone(), writer);
        let archive: Option<Box<dyn Archive>> = Some(Box::new(archive));
        let (retention, commit) = (RetentionPolicy::default(), GroupCommit::default());
        let (workers, message_bytes_max) = (PathWorkers::new(1), MESSAGE_BYTES_MAX);
        // Nobody waits for an answer: messages enter by the network only.
        let answers = Arc::new(());
        let plan = Plan { workers, message_bytes_max, archive, retention, commit, resume: false, answers };
        let (bell, egress_ready) = (Arc::new(Bell::new()), Arc::new(Notify::new()));
        let told = egress_ready.clone();
        let egress_waker = Waker::from_callback(move || told.notify_one());
        // What filter finds wanted has no subscriber to go to: its sink is dropped, and so is what comes there.
        let wakers = Wakers { egress: egress_waker, wanted: Waker::from_callback(|| ()) };
        let (drawing, ends) = topology::draw(arena.clone(), &shared, plan, &wakers)?;
        let Ends { ingress, egress, .. } = ends;
        let door =
            Door { ingress: Ingress::new(ingress, shared.topics.clone(), shared.seen.clone()), bell: bell.clone() };
        let (net, task) = (router.start)(net_config(setup)?, Arc::new(door)).await?;
        tokio::spawn(task);
        tokio::spawn(egress::run(egress, egress_ready, shared.topics.clone(), net.clone()));
        net.subscribe(workload::PUBSUB_TOPIC).await?;
        let publisher = reader.map(|feedback| Publisher::new(setup, net.clone(), arena.clone(), feedback));
        let invoker = drawing.invoker();
        let has_workers = setup.net_workers > 0;
        Ok(Self { net, invoker, bell, log, arena, publisher, has_workers, moved_bytes, before: Stand::default() })
    }

    /// Turns the path and follows orders until none come any more.
    async fn follow(mut self, mut control: Control, setup: &Setup) -> io::Result<()> {
        let address = self.net.listen_addresses().first().map(ToString::to_string).unwrap_or_default();
        control.say(&Answer::Listening { address }).await?;
        let mut chores = interval(CHORES);
        chores.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            // Pairs with the exchange in `ring`.
            self.bell.is_rung.store(false, Release);
            self.invoker.turn_until_idle();
            tokio::select! {
                () = self.bell.ready.notified() => {}
                _ = chores.tick() => self.invoker.housekeep(),
                order = control.next() => {
                    let Some(order) = order? else { return Ok(()) };
                    let answer = self.obey(order, setup).await;
                    let failed = |error: io::Error| Answer::Failed { reason: error.to_string() };
                    control.say(&answer.unwrap_or_else(failed)).await?;
                }
            }
        }
    }

    async fn obey(&mut self, order: Order, setup: &Setup) -> io::Result<Answer> {
        match order {
            Order::Mesh { peers } => self.meshed(peers).await?,
            Order::Publish { warm_up } => {
                let publisher = self.publisher.as_mut().ok_or_else(|| io::Error::other("this is no publisher"))?;
                return publisher.publish(&setup.work, warm_up).await.map(|wall_ns| Answer::Published { wall_ns });
            }
            Order::Begin => {
                *self.log.lock() = Default::default();
                self.before = self.stand();
            }
            Order::End => return Ok(Answer::Measured(Box::new(self.measured()))),
        }
        Ok(Answer::Done)
    }

    async fn meshed(&self, peers: usize) -> io::Result<()> {
        let wait = async {
            while self.net.mesh_sizes().await.first().is_none_or(|(_, size)| *size != peers) {
                tokio::time::sleep(MESH_LOOK).await;
            }
        };
        let missing = |_| io::Error::other(format!("no mesh of {peers} peers in {} s", MESH_TIME_MAX.as_secs()));
        timeout(MESH_TIME_MAX, wait).await.map_err(missing)
    }

    fn stand(&self) -> Stand {
        let moved_bytes = (self.moved_bytes)();
        let [cross_wakes, bell] = [&CROSS_WORKER_WAKES, &self.bell.wakes].map(Counter::value);
        if self.has_workers {
            let (counts, cpu_ns) = (Counts::now(), machine::process_cpu_ns());
            return Stand { counts, wakes: cross_wakes + bell, cpu_ns, moved_bytes };
        }
        Stand { counts: Counts::of_thread(), wakes: bell, cpu_ns: machine::thread_cpu_ns(), moved_bytes }
    }

    fn measured(&self) -> Measured {
        let (before, now) = (self.before, self.stand());
        Measured {
            counts: now.counts.since(&before.counts),
            wakes: now.wakes - before.wakes,
            cpu_ns: now.cpu_ns - before.cpu_ns,
            moved_bytes: now.moved_bytes - before.moved_bytes,
            rss_bytes_max: machine::peak_bytes(),
            arena_bytes: self.arena.bytes() as u64,
            handled: self.log.lock().handled(),
        }
    }
}

/// Loopback TCP on a port of the system's choice; each receiver has an address of its own, as peers elsewhere have.
fn net_config(setup: &Setup) -> Result<NetConfig, Failure> {
    let mut net = NetConfig::new(NodeKey::generate());
    net.listen_address = match setup.role {
        Role::Publisher | Role::Relay => Ipv4Addr::LOCALHOST.into(),
        Role::Receiver(number) => Ipv4Addr::new(127, 0, 0, FIRST_RECEIVER + number as u8).into(),
    };
    if setup.receivers > net.mesh.target {
        net.mesh = MeshDegrees {
            target: setup.receivers,
            low: setup.receivers,
            high: MANY_PEERS_MAX,
            ..MeshDegrees::default()
        };
    }
    (net.tcp_port, net.websocket_port) = (0, None);
    (net.message_bytes_max, net.workers) = (MESSAGE_BYTES_MAX, setup.net_workers);
    net.static_peers = setup.dial.iter().map(|text| peer_address(text)).collect::<Result<_, _>>()?;
    net.transport = setup.transport.parse()?;
    Ok(net)
}
