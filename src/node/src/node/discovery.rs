//! Finds peers for the node, and lets it be found: its record, Discovery v5, and a list in the DNS.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use levada_discovery::dns::{self, Link, SystemResolver};
use levada_discovery::service::{Service, Settings};
use levada_discovery::{Advertised, Capabilities, Record, RecordError, Shards};
use levada_net::multiaddr::Protocol;
use levada_net::peer_exchange::RecordBook;
use levada_net::{Multiaddr, NetHandle, NodeKey, Origin};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use crate::config::Config;
use crate::node::error::StartError;
use crate::node::peer_metrics::DiscoveryCounters;

/// Time between two readings of the list in the DNS.
const DNS_INTERVAL: Duration = Duration::from_secs(30 * 60);

/// Time after which a reading that failed is tried again.
const DNS_RETRY: Duration = Duration::from_secs(60);

/// Most records taken from the list.
const DNS_RECORDS_MAX: usize = 256;

/// The port of DNS servers.
const DNS_PORT: u16 = 53;

/// How the node is found, and finds.
pub struct Discovery {
    own: Arc<Mutex<Record>>,
    counters: Arc<DiscoveryCounters>,
    service: Option<Arc<Service>>,
    /// Ends what runs beside.
    _tasks: JoinSet<()>,
}

/// Where found peers go.
#[derive(Clone)]
struct Finds {
    cluster: u16,
    net: NetHandle,
    book: Arc<RecordBook>,
    counters: Arc<DiscoveryCounters>,
}

impl Discovery {
    /// Signs the node's record and starts what is configured; all of it ends with what is returned. The record follows `shards`, which
    /// the relay takes part in, unless there are none: then it says those of the configuration, which light clients are served on.
    ///
    /// # Errors
    /// [`StartError::Discovery`] and [`StartError::Record`].
    pub async fn start(
        config: &Config,
        key: &NodeKey,
        net: &NetHandle,
        book: &Arc<RecordBook>,
        shards: watch::Receiver<BTreeSet<u16>>,
    ) -> Result<Self, StartError> {
        let (signer, advertised) = (key.secp256k1(), advertised(config, net));
        let sequence = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_secs();
        let (mut own, left_out) = Record::sign(&signer, sequence, &advertised).map_err(StartError::Record)?;
        if left_out > 0 {
            tracing::warn!(left_out, "not all external addresses fit into the node's record");
        }
        let counters = Arc::new(DiscoveryCounters::default());
        let finds =
            Finds { cluster: config.cluster_id, net: net.clone(), book: book.clone(), counters: counters.clone() };
        let (mut service, mut tasks) = (None, JoinSet::new());
        if let Some(port) = config.discovery.discv5_udp_port {
            let bootstrap = config.discovery.discv5_bootstrap_nodes.iter();
            let bootstrap = bootstrap.map(|text| text.parse()).collect::<Result<_, RecordError>>();
            let bootstrap = bootstrap.map_err(StartError::Record)?;
            let listen = SocketAddr::new(config.listen_address, port);
            let settings = Settings { key: signer, listen, advertised, sequence, bootstrap };
            let (started, found) = Service::start(settings).await?;
            own = started.record().map_err(StartError::Record)?;
            tasks.spawn(finds.clone().take(found));
            service = Some(Arc::new(started));
        }
        for url in &config.discovery.dns_urls {
            let servers: Vec<_> =
                config.discovery.dns_servers.iter().map(|ip| SocketAddr::new(*ip, DNS_PORT)).collect();
            tasks.spawn(read_dns(url.clone(), servers, finds.clone(), service.clone()));
        }
        let own = Arc::new(Mutex::new(own));
        let follower = Follower {
            key: key.clone(),
            cluster: config.cluster_id,
            configured: config.shards.clone(),
            own: own.clone(),
        };
        tasks.spawn(follower.follow(shards, service.clone()));
        Ok(Self { own, counters, service, _tasks: tasks })
    }

    /// The node's record as it is now.
    pub fn record(&self) -> Record {
        let current = self.service.as_ref().and_then(|service| service.record().ok());
        current.unwrap_or_else(|| self.own.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    /// What was found.
    pub fn counters(&self) -> &Arc<DiscoveryCounters> {
        &self.counters
    }

    /// Where Discovery v5 listens, if it is on.
    pub fn listen(&self) -> Option<SocketAddr> {
        self.service.as_ref().map(|service| service.listen())
    }
}

impl Finds {
    async fn take(self, mut found: mpsc::Receiver<Record>) {
        while let Some(record) = found.recv().await {
            self.learn(&record, Origin::Discv5).await;
        }
    }

    /// Peers that ask are told only of nodes that Discovery v5 has found, as nwaku does: these are alive.
    async fn learn(&self, record: &Record, origin: Origin) {
        let counters = &self.counters;
        if origin == Origin::Discv5 {
            counters.discv5_found.add(1);
        }
        let Some(addresses) = record.dialable().ok().filter(|addresses| !addresses.is_empty()) else {
            counters.discv5_unusable.add(u64::from(origin == Origin::Discv5));
            return;
        };
        tracing::debug!(peer = %record.peer(), ?addresses, "a peer was found");
        if origin == Origin::Discv5 {
            self.book.put(&record.peer().to_bytes(), record.to_rlp().into());
        }
        self.net.learn(addresses, origin).await;
    }

    /// Whether the record says that its node is in our cluster.
    fn is_ours(&self, record: &Record) -> bool {
        let said = record.advertised().ok().and_then(|said| said.shards);
        said.is_some_and(|shards| shards.cluster == self.cluster)
    }
}

/// Keeps the shards of the node's record up to date.
struct Follower {
    key: NodeKey,
    cluster: u16,
    configured: Vec<u16>,
    own: Arc<Mutex<Record>>,
}

impl Follower {
    async fn follow(self, mut shards: watch::Receiver<BTreeSet<u16>>, service: Option<Arc<Service>>) {
        // What was joined until now is in the record already.
        while shards.changed().await.is_ok() {
            let joined = shards.borrow_and_update().clone();
            let indices = if joined.is_empty() { self.configured.iter().copied().collect() } else { joined };
            let told = Shards { cluster: self.cluster, indices };
            let changed = match &service {
                Some(service) => service.set_shards(&self.key.secp256k1(), &told),
                None => self.resign(&told),
            };
            if let Err(error) = changed {
                tracing::warn!(%error, "the node's record does not say which shards it takes part in now");
            }
        }
    }

    fn resign(&self, told: &Shards) -> Result<(), RecordError> {
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        *own = own.with_shards(&self.key.secp256k1(), told)?;
        Ok(())
    }
}

async fn read_dns(url: String, servers: Vec<SocketAddr>, finds: Finds, service: Option<Arc<Service>>) {
    loop {
        let wait = match read_once(&url, &servers).await {
            Ok(tree) => {
                finds.counters.dns_found.add(tree.records.len() as u64);
                tracing::info!(
                    records = tree.records.len(),
                    bad = tree.entries_bad,
                    url,
                    "the list in the DNS was read"
                );
                for record in tree.records.iter().filter(|record| finds.is_ours(record)) {
                    if let Some(service) = &service {
                        service.add(record);
                    }
                    finds.learn(record, Origin::Dns).await;
                }
                DNS_INTERVAL
            }
            Err(error) => {
                tracing::warn!(error, url, "the list in the DNS cannot be read; it is tried again in a minute");
                finds.counters.dns_failed.add(1);
                DNS_RETRY
            }
        };
        tokio::time::sleep(wait).await;
    }
}

async fn read_once(url: &str, servers: &[SocketAddr]) -> Result<dns::Tree, String> {
    let link: Link = url.parse().map_err(|error: dns::LinkError| error.to_string())?;
    let resolver = SystemResolver::new(servers).map_err(|error| error.to_string())?;
    dns::walk(&link, &resolver, DNS_RECORDS_MAX).await.map_err(|error| error.to_string())
}

/// What the node says of itself. Without an external address it says those it listens on, unless that is all of them.
fn advertised(config: &Config, net: &NetHandle) -> Advertised {
    let is_announced = !config.ext_multiaddr_only;
    let bound = Some(config.listen_address).filter(|ip| is_announced && !ip.is_unspecified());
    let ip = config.nat.external_ip().filter(|_| is_announced).or(bound);
    let tcp = net.listen_addresses().iter().find_map(tcp_port);
    let mut said = Advertised { capabilities: capabilities(config), ..Advertised::default() };
    match ip {
        Some(IpAddr::V4(ip)) => (said.ip4, said.tcp4) = (Some(ip), tcp),
        Some(IpAddr::V6(ip)) => (said.ip6, said.tcp6) = (Some(ip), tcp),
        None if config.listen_address.is_ipv4() => said.tcp4 = tcp,
        None => said.tcp6 = tcp,
    }
    // The plain TCP address of the listener is said by the keys above.
    let listened = net.listen_addresses().into_iter().filter(|_| bound.is_some());
    let all = net.external_addresses().into_iter().chain(listened).map(without_peer);
    let given: Vec<Multiaddr> = config.ext_multiaddrs.iter().filter_map(|text| text.parse().ok()).collect();
    said.addresses = all.filter(|address| tcp_port(address).is_none() || given.contains(address)).collect();
    said.addresses.dedup();
    said.shards = Some(Shards { cluster: config.cluster_id, indices: config.shards.iter().copied().collect() });
    said
}

fn capabilities(config: &Config) -> Capabilities {
    Capabilities::default()
        .with_if(config.relay, Capabilities::RELAY)
        .with_if(config.store, Capabilities::STORE)
        .with_if(config.filter, Capabilities::FILTER)
        .with_if(config.lightpush && config.relay, Capabilities::LIGHTPUSH)
}

/// The port of an address that is an IP address, a TCP port and perhaps a peer id.
fn tcp_port(address: &Multiaddr) -> Option<u16> {
    let parts: Vec<Protocol<'_>> = address.iter().filter(|part| !matches!(part, Protocol::P2p(_))).collect();
    match parts[..] {
        [Protocol::Ip4(_) | Protocol::Ip6(_), Protocol::Tcp(port)] => Some(port),
        _ => None,
    }
}

fn without_peer(address: Multiaddr) -> Multiaddr {
    address.iter().filter(|part| !matches!(part, Protocol::P2p(_))).collect()
}
