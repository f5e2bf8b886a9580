//! A running node: the path of [`crate::topology`], with the network, the archive and the servers around it.

mod backend;
mod database_metrics;
mod discovery;
pub(crate) mod egress;
mod error;
mod filter;
mod filter_client;
mod from_config;
mod front;
mod health;
pub(crate) mod ingress;
mod last_online;
mod light_clients;
mod operator;
mod pages;
mod peer_asker;
mod peer_metrics;
mod placement;
mod publish;
mod pusher;
mod registry;
mod resume;
mod service_metrics;
mod services;
mod store;
mod subscriptions;
mod sync_fill;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use levada_engine::{Arena, Cores, Drained, Running, Source, Waker};
use levada_net::{Multiaddr, NetConfig, NetHandle, NodeKey};
use levada_stages::signed::SignedShards;
use levada_stages::unix_ns;
use levada_wire::waku::WakuRecord;
use levada_wire::waku::topics::PubsubTopic;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

pub use error::StartError;

use crate::config::Config;
use crate::rest::Topic;
use crate::topology::{self, Ends, Plan, Shared, TOPICS_MAX, Wakers};
use backend::NodeBackend;
use discovery::Discovery;
use filter::Subscribers;
use filter_client::Subscriber;
use from_config::{Archives, arena_config, filter_limits, net_config, path_workers};
use front::Front;
use ingress::Ingress;
use last_online::LastOnline;
use placement::NetWorkers;
use publish::Tickets;
use registry::Sources;
use resume::{Resume, ResumeCounters};
use store::Store;
use subscriptions::Subscriptions;
use sync_fill::SyncFill;

/// A node that runs. Dropping it without [`stop`](Self::stop) loses what is in flight.
pub struct Node {
    net: NetHandle,
    net_task: JoinHandle<()>,
    ingress: Arc<Ingress>,
    topology: Running,
    shared: Shared,
    fill: Option<SyncFill>,
    resume: Option<Resume>,
    pumps: Vec<JoinHandle<()>>,
    servers: Vec<JoinHandle<()>>,
    front: Front,
    stop: watch::Sender<bool>,
    drain_timeout: Duration,
    listening: Listening,
}

/// What requests of clients go to.
struct Asked {
    tickets: Arc<Tickets>,
    subscriptions: Arc<Subscriptions>,
    subscribers: Subscribers,
    store: Option<Store>,
    /// The way in of what other archives give, if this one is resumed.
    resume: Option<Source<WakuRecord>>,
}

/// Where a running node can be reached.
#[derive(Debug, Clone, Default)]
pub struct Listening {
    /// Multiaddresses that end in `/p2p/<peer id>`.
    pub peers: Vec<Multiaddr>,
    /// The REST interface, if it is served.
    pub rest: Option<SocketAddr>,
    /// The metrics, if they are served.
    pub metrics: Option<SocketAddr>,
    /// The archive, if there is one.
    pub archive: Option<String>,
    /// Pubsub topics subscribed to.
    pub topics: Vec<String>,
    /// Protocols of requests and answers that are served.
    pub served: Vec<&'static str>,
    /// Where Discovery v5 is listened to, if it is on.
    pub discv5: Option<SocketAddr>,
    /// The node's record, `enr:` and base64.
    pub record: String,
    /// Workers of the message path.
    pub lanes: usize,
}

impl Node {
    /// Starts everything the configuration asks for; nothing is left running when it fails.
    ///
    /// # Errors
    /// [`StartError`]: what is not to be had, and what to change.
    pub async fn start(config: &Config) -> Result<Self, StartError> {
        // What can be found wrong without touching anything comes first.
        let net_config = net_config(config)?;
        let front = Front::open(config).await?;
        let key = net_config.key.clone();
        match Self::assemble(config, net_config).await {
            Ok((mut node, asked)) => {
                node.listening.rest = front.address();
                node.front = front;
                match node.join(config, &key, asked).await {
                    Ok(()) => Ok(node),
                    Err(error) => {
                        node.stop().await;
                        Err(error)
                    }
                }
            }
            Err(error) => {
                front.close(Instant::now() + FAREWELL).await;
                Err(error)
            }
        }
    }

    /// The parts, which work already; nobody can ask them yet.
    async fn assemble(config: &Config, mut net_config: NetConfig) -> Result<(Self, Asked), StartError> {
        let mut shared = Shared::new(config.rest_relay_cache_capacity, config.arena_bytes, filter_limits(config));
        shared.signed = Arc::new(SignedShards::new(config.protected_topics()));
        let Archives { writer: archive, location, store, sync_reader } = Archives::open(config)?;
        let arena = Arena::<WakuRecord>::new(&arena_config(config))?;
        let path = path_workers(config);
        let ([egress_ready, wanted_ready], wakers) = bells();
        let tickets = Arc::new(Tickets::default());
        let (retention, commit) = (config.store_message_retention_policy, config.store_commit);
        let (workers, message_bytes_max) = (path.clone(), config.max_msg_bytes);
        let (resume, answers) = (config.store_resume, tickets.clone());
        let plan = Plan { workers, message_bytes_max, archive, retention, commit, resume, answers };
        let (drawing, ends) = topology::draw(arena, &shared, plan, &wakers)?;
        let Ends { ingress, egress, wanted, resume } = ends;
        let ingress = Arc::new(Ingress::new(ingress, shared.topics.clone(), shared.seen.clone()));

        let workers = NetWorkers::new(config.net_workers, &path, &Cores::of_process());
        (net_config.workers, net_config.worker_cores) = (workers.count, workers.cores);
        let (net, net_task) = levada_net::start(net_config, ingress.clone()).await?;
        let net_task = tokio::spawn(net_task);
        let topology = drawing.run()?;
        report_unpinned(&topology);
        let subscribers = Subscribers::new(&shared, net.exchange(), config.arena_bytes);
        let pumps = vec![
            tokio::spawn(egress::run(egress, egress_ready, shared.topics.clone(), net.clone())),
            tokio::spawn(filter::run(wanted, wanted_ready, subscribers.clone())),
        ];
        let fill = sync_reader.map(|reader| SyncFill::start(reader, shared.topics.clone(), shared.sync.clone()));
        let stored = fill.as_ref().map(|fill| fill.wanted().clone());
        let subscriptions =
            Arc::new(Subscriptions::new(net.clone(), shared.topics.clone(), shared.events.clone(), stored.clone()));
        let topics = config.pubsub_topics();
        stored.iter().for_each(|stored| topics.iter().for_each(|topic| stored.fill(topic)));
        let peers = in_order(net.listen_addresses());
        let listening = Listening { peers, archive: location, topics, lanes: path.lanes, ..Listening::default() };
        let (stop, _) = watch::channel(false);
        let drain_timeout = config.drain_timeout;
        let node = Self {
            net,
            net_task,
            ingress,
            topology,
            shared,
            fill,
            resume: None,
            pumps,
            servers: Vec::new(),
            front: Front::default(),
            stop,
            drain_timeout,
            listening,
        };
        Ok((node, Asked { tickets, subscriptions, subscribers, store, resume }))
    }

    /// What answers REST and the services.
    fn backend(&self, config: &Config, asked: &Asked) -> NodeBackend {
        let Self { net, ingress, shared, .. } = self;
        let filter_client = Subscriber::new(filter_client::Parts {
            net,
            ingress: ingress.clone(),
            counters: asked.subscribers.pushes.counters().clone(),
            topics: shared.topics.clone(),
            shelves: shared.shelves.clone(),
            named: config.filter_node.as_deref().and_then(peer_asker::peer_of),
            cluster_id: config.cluster_id,
            num_shards_in_network: config.num_shards_in_network,
        });
        NodeBackend {
            filter_client,
            ingress: ingress.clone(),
            tickets: asked.tickets.clone(),
            events: shared.events.clone(),
            topics: shared.topics.clone(),
            subscriptions: asked.subscriptions.clone(),
            store: asked.store.clone(),
            resumed: Arc::default(),
            net: net.clone(),
            cluster_id: config.cluster_id,
            num_shards_in_network: config.num_shards_in_network,
            message_bytes_max: config.max_msg_bytes,
            relay: config.relay,
            clients: services::clients(config, net),
            operator: config.rest_admin.then(|| services::operator(config, net, &shared.subscriptions)),
            discovery: None,
        }
    }

    /// Subscribes and opens the servers: what a failure must undo in order.
    async fn join(&mut self, config: &Config, key: &NodeKey, asked: Asked) -> Result<(), StartError> {
        let mut backend = self.backend(config, &asked);
        let Asked { subscriptions, subscribers, .. } = &asked;
        if config.shards.len() > TOPICS_MAX {
            return Err(StartError::TooManyShards { shards: config.shards.len(), shards_max: TOPICS_MAX });
        }
        for shard in config.shards.iter().filter(|_| config.relay) {
            let topic = PubsubTopic { cluster: config.cluster_id, shard: *shard };
            let subscribed = subscriptions.subscribe(&Topic::Pubsub(topic), topic).await;
            subscribed
                .map_err(|error| StartError::Subscribe { topic: topic.to_string(), reason: error.to_string() })?;
        }
        let records = Arc::default();
        services::serve(config, &mut backend, &records);
        let resumed = self.resume(config, &asked);
        backend.resumed = resumed.clone();
        let shards = subscriptions.shards();
        let discovery = Arc::new(Discovery::start(config, key, &self.net, &records, shards).await?);
        let discovery_counters = discovery.counters().clone();
        (self.listening.record, self.listening.discv5) = (discovery.record().to_string(), discovery.listen());
        backend.discovery = Some(discovery);
        if let Some(peer) = config.peer_exchange_node.as_deref().and_then(peer_asker::peer_of) {
            let (asking, stopped) = (peer_asker::run(self.net.clone(), peer, config.cluster_id), self.stopped());
            self.servers.push(tokio::spawn(async move {
                tokio::select! {
                    () = asking => {}
                    () = stopped => {}
                }
            }));
        }
        let keeping_up = backend.filter_client.clone().keep_up(self.stopped());
        self.servers.push(tokio::spawn(keeping_up));
        let pushes = subscribers.pushes.clone();
        if config.filter {
            services::serve_filter(config, &backend, subscribers);
            self.servers.push(tokio::spawn(filter::sweep(subscribers.clone(), self.stopped())));
        }
        self.listening.served = self.net.exchange().protocols();
        if let Some(address) = config.metrics_socket() {
            let (net, ingress) = (self.net.clone(), self.ingress.clone());
            let shared = self.shared.clone();
            let discovery = discovery_counters;
            let (stats, service_peers) = (self.topology.stats(), services::named(config));
            let sources = Sources { shared, stats, ingress, net, pushes, discovery, resumed, service_peers };
            let (bound, server) = crate::metrics::serve(address, registry::metrics(sources), self.stopped()).await?;
            self.listening.metrics = Some(bound);
            self.servers.push(tokio::spawn(server));
        }
        self.front.ready(backend);
        Ok(())
    }

    /// Begins to fetch what was missed while the node was off, if that is wanted; gives what is counted of it.
    fn resume(&mut self, config: &Config, asked: &Asked) -> Arc<ResumeCounters> {
        let counters = Arc::<ResumeCounters>::default();
        if let (Some(source), Some(store)) = (&asked.resume, &asked.store) {
            // Without relay nobody else gives them numbers; there is room, as their number was looked at.
            config.pubsub_topics().iter().for_each(|topic| _ = self.shared.topics.intern(topic));
            let (source, tickets, counters) = (source.clone(), asked.tickets.clone(), counters.clone());
            let Shared { backlog, topics, .. } = self.shared.clone();
            let parts = resume::Parts {
                net: self.net.clone(),
                store_node: config.store_node.as_deref().and_then(peer_asker::peer_of),
                store: store.clone(),
                feed: resume::Feed { source, tickets, backlog, topics, counters },
                message_bytes_max: config.max_msg_bytes,
                retention_seconds: config.store_message_retention_policy.seconds_max,
                last_online: LastOnline::of(&config.store_message_db_url),
                patience: resume::Patience::default(),
            };
            self.resume = Some(Resume::start(parts, self.stopped()));
        }
        counters
    }

    /// Where the node can be reached.
    pub fn listening(&self) -> &Listening {
        &self.listening
    }

    /// Ends when the node cannot go on: the network task has ended, or a stage stopped the path.
    pub async fn failed(&mut self) {
        let mut look = tokio::time::interval(FAILURE_CHECK);
        while !self.net_task.is_finished() && !self.topology.has_failed() {
            look.tick().await;
        }
    }

    fn stopped(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut stop = self.stop.subscribe();
        async move {
            let _ = stop.wait_for(|stop| *stop).await;
        }
    }

    /// Takes nothing more in, lets what is inside go all the way and to the disk, and ends.
    pub async fn stop(self) -> Stopped {
        let deadline = Instant::now() + self.drain_timeout.max(FAREWELL);
        self.ingress.close();
        let online_until = unix_ns();
        self.stop.send_replace(true);
        let (topology, limit) = (self.topology, self.drain_timeout);
        let drained = tokio::task::spawn_blocking(move || topology.drain(limit)).await;
        let drained = drained.unwrap_or(Drained::Failed);
        if let Some(fill) = self.fill {
            fill.stop().await;
        }
        if let Some(resume) = self.resume {
            // A disk that stands still leaves the time as it is.
            let noted = resume.stop(online_until, drained == Drained::Complete);
            let _ = tokio::time::timeout_at(deadline, noted).await;
        }
        for task in self.pumps.into_iter().chain(self.servers) {
            // What does not end by itself ends with the process.
            let _ = tokio::time::timeout_at(deadline, task).await;
        }
        self.front.close(deadline).await;
        self.net.exchange().close();
        self.net.shutdown();
        if !self.net_task.is_finished() {
            let _ = tokio::time::timeout_at(deadline, self.net_task).await;
        }
        let (archived, backlog) = (&self.shared.archived, &self.shared.backlog);
        Stopped { drained, stored: archived.stored.value(), not_stored: archived.failed.value() + backlog.full.value() }
    }
}

/// How a node ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stopped {
    /// Whether the path was emptied in time.
    pub drained: Drained,
    /// Messages stored since the start.
    pub stored: u64,
    /// Messages that were accepted and should have been stored, and were not: the archive failed, or too many waited.
    pub not_stored: u64,
}

/// Time for answering open requests and saying goodbye to peers, if the drain leaves less.
const FAREWELL: Duration = Duration::from_secs(1);

/// Time between two looks at whether the node can go on.
const FAILURE_CHECK: Duration = Duration::from_millis(250);

/// TCP before WebSocket, and loopback first: the order in which people try them.
fn in_order(mut addresses: Vec<Multiaddr>) -> Vec<Multiaddr> {
    addresses.sort_by_key(|address| {
        let text = address.to_string();
        (text.contains("/ws"), !text.contains("/127.0.0.1/"))
    });
    addresses
}

/// A container without the right to bind threads costs speed, not function; the operator should know.
fn report_unpinned(topology: &Running) {
    let stats = topology.stats();
    let unpinned = stats.workers.iter().filter(|worker| worker.name.starts_with("path") && !worker.is_pinned());
    let names: Vec<&str> = unpinned.map(|worker| worker.name.as_str()).collect();
    if !names.is_empty() {
        tracing::info!(
            "the system did not bind {} to a core of its own; they run unbound, somewhat slower",
            names.join(", ")
        );
    }
}

/// What the sinks of the path ring, in the order of [`Wakers`].
fn bells() -> ([Arc<Notify>; 2], Wakers) {
    let bells = [(); 2].map(|()| Arc::new(Notify::new()));
    let [egress, wanted] = bells.each_ref().map(|bell| {
        let bell = bell.clone();
        Waker::from_callback(move || bell.notify_one())
    });
    (bells, Wakers { egress, wanted })
}
