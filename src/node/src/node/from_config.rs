//! What the parts of a node are told, from its configuration.

use std::net::IpAddr;

use levada_archive::{
    Archive, ArchiveReader, DatabaseUrl, HELD_BYTES_DEFAULT, PostgresArchive, PostgresOptions, SegmentOptions,
};
use levada_engine::{Affinity, ArenaConfig, usable_cores};
use levada_net::{Multiaddr, NetConfig, NodeKey, TlsFiles, peer_address};
use levada_stages::filter::Limits;

use super::StartError;
use super::store::Store;
use crate::config::{Config, WaitPreset};
use crate::topology::PathWorkers;

/// Lanes of the path at most, unless more are asked for: one relay router does not keep more busy.
const LANES_MAX: usize = 4;

/// Known peers survive a restart in this file, in the folder the node is started in.
const PEER_FILE: &str = "levada-peers.txt";

/// Of the connections that are for relay one in so many is one that the node strives for itself, as in nwaku.
const OUTGOING_PART: u32 = 3;

/// The archive, for the path that writes to it and for those who read.
#[derive(Default)]
pub struct Archives {
    pub writer: Option<Box<dyn Archive>>,
    pub location: Option<String>,
    pub store: Option<Store>,
    pub sync_reader: Option<Box<dyn ArchiveReader>>,
}

impl Archives {
    /// Opens it, if messages are to be stored.
    pub fn open(config: &Config) -> Result<Self, StartError> {
        if !config.store {
            return Ok(Self::default());
        }
        let writer = open_archive(config)?;
        Ok(Self {
            location: Some(writer.location()),
            store: Some(Store::open(writer.as_ref(), config.max_msg_bytes)?),
            sync_reader: Some(writer.reader()?),
            writer: Some(writer),
        })
    }
}

fn open_archive(config: &Config) -> Result<Box<dyn Archive>, StartError> {
    if let DatabaseUrl::Postgres(url) = &config.store_message_db_url {
        let (connections_max, backlog_bytes) = (config.store_max_num_db_connections, config.store_backlog_bytes);
        let schema = config.store_message_db_schema;
        let options = PostgresOptions { schema, connections_max, backlog_bytes, ..PostgresOptions::default() };
        return Ok(Box::new(PostgresArchive::open(url, &options)?));
    }
    // In a small arena, slots are for messages under way.
    let held_bytes = HELD_BYTES_DEFAULT.min(config.arena_bytes / 16);
    let options = SegmentOptions { io: config.store_io, held_bytes, ..SegmentOptions::default() };
    Ok(levada_archive::open_with(&config.store_message_db_url, &options)?)
}

/// As many lanes as are asked for, or as the affinity has places, else for half the cores.
pub fn path_workers(config: &Config) -> PathWorkers {
    let lanes = config.workers.unwrap_or_else(|| match &config.affinity {
        Affinity::Auto => (usable_cores() / 2).clamp(1, LANES_MAX),
        Affinity::Places(places) => places.len(),
    });
    PathWorkers { lanes, wait: wait_of(config.wait), affinity: config.affinity.clone() }
}

pub fn arena_config(config: &Config) -> ArenaConfig {
    ArenaConfig { huge_pages: config.huge_pages, ..ArenaConfig::with_budget(config.arena_bytes, config.max_msg_bytes) }
}

fn wait_of(preset: WaitPreset) -> levada_engine::Wait {
    match preset {
        WaitPreset::Spin => levada_engine::Wait::Spin,
        WaitPreset::Balanced => levada_engine::Wait::Balanced,
        WaitPreset::Eco => levada_engine::Wait::Eco,
    }
}

pub fn filter_limits(config: &Config) -> Limits {
    Limits {
        subscribers_max: config.filter_max_peers_to_serve,
        criteria_max: config.filter_max_criteria,
        timeout: config.filter_subscription_timeout,
    }
}

pub fn net_config(config: &Config) -> Result<NetConfig, StartError> {
    let key = match &config.node_key {
        Some(key) => NodeKey::from_hex(&key.secret_hex())?,
        None => NodeKey::generate(),
    };
    let mut net = NetConfig::new(key);
    net.listen_address = config.listen_address;
    net.tcp_port = config.tcp_port;
    net.websocket_port = config.websocket_support.then_some(config.websocket_port);
    net.websocket_tls = config
        .websocket_secure
        .as_ref()
        .map(|files| TlsFiles { key: files.key.clone(), certificate: files.certificate.clone() });
    net.external_addresses = external_addresses(config)?;
    net.announce_listen = !config.ext_multiaddr_only;
    net.cluster_id = config.cluster_id;
    net.shards.clone_from(&config.shards);
    let used = [&config.filter_node, &config.store_node, &config.lightpush_node, &config.peer_exchange_node]
        .into_iter()
        .flatten();
    let mut wanted: Vec<&String> = config.static_nodes.iter().chain(used).collect();
    // One node may be named for several purposes.
    wanted.sort();
    wanted.dedup();
    net.static_peers = wanted.into_iter().map(|text| peer_address(text)).collect::<Result<_, _>>()?;
    net.max_connections = config.max_connections;
    let outgoing = config.relay_peers_max / OUTGOING_PART;
    if config.relay {
        net.relay_incoming_max = (config.relay_peers_max - outgoing) as usize;
    }
    net.ip_colocation_limit = config.ip_colocation_limit;
    net.outgoing_wanted = outgoing as usize;
    net.known_peers_max = config.peer_store_capacity;
    net.peer_file = config.peer_persistence.then(|| PEER_FILE.into());
    net.keep_alive = config.keep_alive;
    net.message_bytes_max = config.max_msg_bytes;
    net.agent.clone_from(&config.agent_string);
    net.relay = config.relay;
    net.transport = config.transport.into();
    net.send_queue_bytes = config.relay_queue_bytes;
    Ok(net)
}

/// The addresses to announce besides those listened on: the listeners as the outside sees them under `--dns4-domain-name`, else behind
/// `--nat=extip:IP`, and those of `--ext-multiaddr`.
fn external_addresses(config: &Config) -> Result<Vec<Multiaddr>, StartError> {
    let given = config.ext_multiaddrs.iter().map(|text| text.parse::<Multiaddr>());
    let given = given.collect::<Result<Vec<_>, _>>().map_err(|error| StartError::Announced(error.to_string()))?;
    let host = match (&config.dns4_domain_name, config.nat.external_ip()) {
        _ if config.ext_multiaddr_only => None,
        (Some(name), _) => Some(format!("/dns4/{name}")),
        (None, Some(IpAddr::V4(ip))) => Some(format!("/ip4/{ip}")),
        (None, Some(IpAddr::V6(ip))) => Some(format!("/ip6/{ip}")),
        (None, None) => None,
    };
    let seen = host.map(|host| seen_addresses(&host, config)).unwrap_or_default();
    Ok(seen.into_iter().chain(given).collect())
}

/// The listeners under another host. A port that the system chooses cannot be foretold.
fn seen_addresses(host: &str, config: &Config) -> Vec<Multiaddr> {
    let tcp = (config.tcp_port != 0).then(|| format!("{host}/tcp/{}", config.tcp_port));
    let websocket = (config.websocket_support && config.websocket_port != 0).then(|| {
        let scheme = if config.websocket_secure.is_some() { "wss" } else { "ws" };
        format!("{host}/tcp/{}/{scheme}", config.websocket_port)
    });
    tcp.into_iter().chain(websocket).filter_map(|address| address.parse().ok()).collect()
}
