//! discv5 (33/WAKU2-DISCV5): finds records of nodes by walking the network of those that are known.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use discv5::{ConfigBuilder, Discv5, Enr, ListenConfig, ProtocolIdentity};
use enr::NodeId;
use libp2p_identity::{PeerId, secp256k1};
use tokio::net::UdpSocket;
use tokio::sync::mpsc;

use crate::record::{Advertised, Record, RecordError, Shards, replace_shards, signer};

/// What Waku's nodes call the protocol, so that they do not mix with Ethereum's.
const PROTOCOL: ProtocolIdentity = ProtocolIdentity { protocol_id: *b"d5waku", protocol_version: [0, 1] };

/// Time between two walks.
const WALK_INTERVAL: Duration = Duration::from_secs(5);

/// Peers whose latest record is remembered, so that it is told once.
const PEERS_TOLD_MAX: usize = 4_096;

/// Records that wait to be taken; more are told again by a later walk.
const RECORDS_WAITING_MAX: usize = 256;

/// How to take part.
#[derive(Debug)]
pub struct Settings {
    /// Signs the record.
    pub key: secp256k1::Keypair,
    /// Where to listen; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The record's contents; its port of discv5 is filled in.
    pub advertised: Advertised,
    /// The record's version.
    pub sequence: u64,
    /// Whom to ask first.
    pub bootstrap: Vec<Record>,
}

/// Why discv5 could not start.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// The socket.
    #[error("discv5 cannot listen on UDP {listen}: {source}; choose another --discv5-udp-port, or 0 for a free one")]
    Listen {
        /// Where.
        listen: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// The record.
    #[error("the node's own record: {0}")]
    Record(#[from] RecordError),
    /// Whatever the protocol's library objects to.
    #[error("discv5 does not start: {0}")]
    Library(String),
}

/// Takes part in discv5 until it is dropped.
pub struct Service {
    discv5: Arc<Discv5>,
    walks: tokio::task::JoinHandle<()>,
    listen: SocketAddr,
}

impl Service {
    /// Listens, and walks every five seconds. What it finds comes out of the receiver: records of other nodes of the own
    /// cluster, each version once.
    ///
    /// # Errors
    /// [`ServiceError`]. A bootstrap record that cannot be reached is logged.
    pub async fn start(settings: Settings) -> Result<(Self, mpsc::Receiver<Record>), ServiceError> {
        let (socket, listen) = bind(settings.listen).await?;
        let mut advertised = settings.advertised;
        let udp = if listen.is_ipv4() { &mut advertised.udp4 } else { &mut advertised.udp6 };
        // A port that was given stands: it is what the outside sees.
        udp.get_or_insert(listen.port());
        let (record, _) = Record::sign(&settings.key, settings.sequence, &advertised)?;
        let sockets = match listen {
            SocketAddr::V4(_) => ListenConfig::FromSockets { ipv4: Some(socket), ipv6: None },
            SocketAddr::V6(_) => ListenConfig::FromSockets { ipv4: None, ipv6: Some(socket) },
        };
        let mut config = ConfigBuilder::new(sockets);
        config.protocol_identity(PROTOCOL);
        if advertised.ip4.is_some() || advertised.ip6.is_some() {
            // What was configured is not to be outvoted.
            config.disable_enr_update();
        }
        let mut discv5 = Discv5::new(record.enr().clone(), signer(&settings.key)?, config.build())
            .map_err(|error| ServiceError::Library(error.to_owned()))?;
        settings.bootstrap.iter().for_each(|known| add(&discv5, known));
        discv5.start().await.map_err(|error| ServiceError::Library(error.to_string()))?;
        let discv5 = Arc::new(discv5);
        let (found, receiver) = mpsc::channel(RECORDS_WAITING_MAX);
        let cluster = advertised.shards.map(|shards| shards.cluster);
        let walks =
            tokio::spawn(walk(discv5.clone(), Told { own: record.peer(), cluster, latest: HashMap::new() }, found));
        Ok((Self { discv5, walks, listen }, receiver))
    }

    /// Where it listens.
    pub fn listen(&self) -> SocketAddr {
        self.listen
    }

    /// The node's own record as it is now: its address may have been learnt from others.
    ///
    /// # Errors
    /// Never for a record that was signed here.
    pub fn record(&self) -> Result<Record, RecordError> {
        Record::of(self.discv5.local_enr())
    }

    /// Says other shards in the node's record from now on, which is its next version.
    ///
    /// # Errors
    /// [`RecordError::TooLong`] when they do not fit; the record is then as it was.
    pub fn set_shards(&self, key: &secp256k1::Keypair, shards: &Shards) -> Result<(), RecordError> {
        let signer = signer(key)?;
        replace_shards(&mut self.discv5.external_enr().write(), &signer, shards)
    }

    /// Asks this node too, from the next walk on.
    pub fn add(&self, known: &Record) {
        add(&self.discv5, known);
    }

    /// Nodes that answered lately.
    pub fn connected(&self) -> usize {
        self.discv5.connected_peers()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.walks.abort();
    }
}

fn add(discv5: &Discv5, known: &Record) {
    if let Err(error) = discv5.add_enr(known.enr().clone()) {
        tracing::warn!(record = %known, error, "discv5 cannot use the record of a node it was told of");
    }
}

async fn bind(listen: SocketAddr) -> Result<(Arc<UdpSocket>, SocketAddr), ServiceError> {
    let failed = |source| ServiceError::Listen { listen, source };
    let socket = UdpSocket::bind(listen).await.map_err(failed)?;
    let bound = socket.local_addr().map_err(failed)?;
    Ok((Arc::new(socket), bound))
}

/// Which records are worth telling.
struct Told {
    own: PeerId,
    cluster: Option<u16>,
    latest: HashMap<PeerId, u64>,
}

impl Told {
    /// The record, if it is of another node of the cluster and newer than what was told of that node.
    fn news(&mut self, enr: Enr) -> Option<Record> {
        let record = Record::of(enr).ok()?;
        let said = record.advertised().ok()?;
        let is_ours = said.shards.map(|shards| shards.cluster) == self.cluster;
        let is_old = self.latest.get(&record.peer()).is_some_and(|known| *known >= record.sequence());
        (is_ours && !is_old && record.peer() != self.own).then_some(record)
    }

    fn was_told(&mut self, record: &Record) {
        if self.latest.len() >= PEERS_TOLD_MAX {
            // Everybody is news once more; that costs the reader a look at each.
            self.latest.clear();
        }
        self.latest.insert(record.peer(), record.sequence());
    }
}

async fn walk(discv5: Arc<Discv5>, mut told: Told, found: mpsc::Sender<Record>) {
    let mut ticks = tokio::time::interval(WALK_INTERVAL);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    while !found.is_closed() {
        ticks.tick().await;
        if discv5.table_entries_id().is_empty() {
            // Whoever asks us is in the table from then on.
            continue;
        }
        let nodes = match discv5.find_node(NodeId::random()).await {
            Ok(nodes) => nodes,
            Err(error) => {
                tracing::debug!(%error, "a walk of discv5 failed");
                continue;
            }
        };
        for enr in nodes.into_iter().chain(discv5.table_entries_enr()) {
            if let Some(record) = told.news(enr)
                && found.try_send(record.clone()).is_ok()
            {
                told.was_told(&record);
            }
        }
    }
}
