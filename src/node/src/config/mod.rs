//! The node's configuration: one table of keys, from which flags, environment twins, TOML keys, help and checks all come.
//!
//! [`Config::load`] reads three sources by the table ([`NODE`]), in the order of precedence flag, environment, file, default;
//! checks every value; and either hands over a typed [`Config`] with the warnings the operator should see, or every fault at
//! once. It never prints and never starts anything.

mod accepted;
mod choice;
mod discovery;
mod environment;
mod error;
mod file;
pub(crate) mod flags;
mod key;
mod kind;
mod nat;
mod network;
mod node_key;
mod preset;
mod protected;
mod rate_limit;
mod relay_share;
mod render;
mod rules;
mod services;
mod settings;
mod size;
mod source;
mod suggest;
mod table;
#[cfg(test)]
mod tests;
mod wrap;

use std::ffi::OsString;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use levada_archive::{DatabaseUrl, PostgresSchema, RetentionPolicy, StoreIo};
use levada_engine::Affinity;
use levada_stages::archive::GroupCommit;
use levada_stages::signed::SignerKey;

pub(crate) use choice::choice;
pub use choice::{LogFormat, LogLevel, Transport, WaitPreset};
pub use discovery::Discovery;
pub use error::{ConfigError, ConfigErrors, EXIT_CONFIG, EXIT_USAGE};
pub(crate) use key::quoted;
pub use key::{Effect, Group, Key, Table};
pub use kind::{Kind, Value};
pub use nat::Nat;
use network::EntryNodes;
pub use node_key::NodeKey;
use preset::Preset;
pub use protected::ProtectedShard;
pub use rate_limit::{RateLimits, Service};
pub use render::render_default;
pub use settings::{Setting, Settings};
pub use size::{format_bytes, parse_bytes};
pub use source::Source;
pub(crate) use suggest::nearest;
pub use table::NODE;
pub(crate) use wrap::wrap;

/// Everything the node is told before it starts. Ports are those to listen on, `ports-shift` already added.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// The cluster the node is part of.
    pub cluster_id: u16,
    /// The shards to subscribe to at start, sorted, each once (51/WAKU2-RELAY-SHARDING).
    pub shards: Vec<u16>,
    /// The number of shards for autosharding; 0 for static sharding.
    pub num_shards_in_network: u16,
    /// The shards whose messages must be signed, and by whom.
    pub protected_shards: Vec<ProtectedShard>,
    /// The largest encoded message, in bytes (`max-msg-size`).
    pub max_msg_bytes: usize,
    /// The private key; `None` to make one at start.
    pub node_key: Option<NodeKey>,
    /// The address on which peers are awaited.
    pub listen_address: IpAddr,
    /// The TCP port; 0 takes any free one.
    pub tcp_port: u16,
    /// How the node learns its public address.
    pub nat: Nat,
    /// Multiaddresses to announce besides.
    pub ext_multiaddrs: Vec<String>,
    /// Whether only those are announced.
    pub ext_multiaddr_only: bool,
    /// The name under which the node is reached.
    pub dns4_domain_name: Option<String>,
    /// What the node calls itself in identify.
    pub agent_string: String,
    /// Whether peers may connect by WebSocket.
    pub websocket_support: bool,
    /// The WebSocket port; 0 takes any free one.
    pub websocket_port: u16,
    /// Key and certificate of the WebSocket port, if it is secured by TLS.
    pub websocket_secure: Option<TlsFiles>,
    /// Whose Noise, yamux and mplex secure and divide connections.
    pub transport: Transport,
    /// The multiaddresses of peers to stay connected to: static nodes and entry nodes.
    pub static_nodes: Vec<String>,
    /// The most connections to peers.
    pub max_connections: u32,
    /// The most of them that are for relay.
    pub relay_peers_max: u32,
    /// The most peers from one IP address; 0 for no limit.
    pub ip_colocation_limit: usize,
    /// Whether peers are pinged.
    pub keep_alive: bool,
    /// Whether peers survive a restart.
    pub peer_persistence: bool,
    /// The most peers that are remembered.
    pub peer_store_capacity: usize,
    /// Whether the node relays.
    pub relay: bool,
    /// The most bytes of messages that wait to be sent to one peer.
    pub relay_queue_bytes: usize,
    /// Whether the node archives and answers queries.
    pub store: bool,
    /// The URL of the archive.
    pub store_message_db_url: DatabaseUrl,
    /// Whose tables a PostgreSQL archive has.
    pub store_message_db_schema: PostgresSchema,
    /// The multiaddress of a store node to use.
    pub store_node: Option<String>,
    /// Whether messages missed while the node was off are fetched at start.
    pub store_resume: bool,
    /// Whether filter subscriptions are served.
    pub filter: bool,
    /// The multiaddress of a filter node to use.
    pub filter_node: Option<String>,
    /// After how long a silent filter subscriber is forgotten.
    pub filter_subscription_timeout: Duration,
    /// The most filter subscribers.
    pub filter_max_peers_to_serve: usize,
    /// The most criteria of one filter subscriber.
    pub filter_max_criteria: usize,
    /// How many requests each service answers.
    pub rate_limits: RateLimits,
    /// Whether messages are published for light clients.
    pub lightpush: bool,
    /// The multiaddress of a lightpush node to use.
    pub lightpush_node: Option<String>,
    /// Whether peers are told of other nodes.
    pub peer_exchange: bool,
    /// The multiaddress of a node to ask for peers.
    pub peer_exchange_node: Option<String>,
    /// How peers are found.
    pub discovery: Discovery,
    /// What the archive keeps.
    pub store_message_retention_policy: RetentionPolicy,
    /// How an archive on the disk is written.
    pub store_io: StoreIo,
    /// When the archive commits what has come.
    pub store_commit: GroupCommit,
    /// Most connections to a PostgreSQL archive.
    pub store_max_num_db_connections: usize,
    /// Bytes that wait at most while a PostgreSQL archive is away.
    pub store_backlog_bytes: u64,
    /// Whether the REST interface is served.
    pub rest: bool,
    /// Its address.
    pub rest_address: IpAddr,
    /// Its port; 0 takes any free one.
    pub rest_port: u16,
    /// How many relayed messages are kept for REST clients.
    pub rest_relay_cache_capacity: usize,
    /// Whether REST has the administrator's routes.
    pub rest_admin: bool,
    /// Web origins whose pages may use REST, with wildcards.
    pub rest_allow_origin: Vec<String>,
    /// Whether metrics are served.
    pub metrics_server: bool,
    /// Their address.
    pub metrics_server_address: IpAddr,
    /// Their port; 0 takes any free one.
    pub metrics_server_port: u16,
    /// How much is logged.
    pub log_level: LogLevel,
    /// The shape of a log line.
    pub log_format: LogFormat,
    /// How many threads connections are spread over; `None` for as many as the machine grants.
    pub net_workers: Option<usize>,
    /// How many workers run the message path; `None` for as many as the machine grants.
    pub workers: Option<usize>,
    /// Which cores they run on.
    pub affinity: Affinity,
    /// The memory for messages in flight, in bytes.
    pub arena_bytes: usize,
    /// Whether it is to lie in huge pages.
    pub huge_pages: bool,
    /// How a worker without work waits.
    pub wait: WaitPreset,
    /// How long a drain may take.
    pub drain_timeout: Duration,
}

/// Where a TLS listener finds what it needs, both in PEM form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// The file of the key.
    pub key: PathBuf,
    /// The file of the certificate and those that vouch for it.
    pub certificate: PathBuf,
}

/// A configuration that can run.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The typed values.
    pub config: Config,
    /// What the operator should see before the node starts, one sentence each; grave ones begin with `SECURITY: `.
    pub warnings: Vec<String>,
    /// Every key's value as given, and where it came from.
    pub settings: Settings,
}

impl Config {
    /// Reads flags (the arguments after the subcommand), the environment and, if either names one, the configuration file.
    ///
    /// # Errors
    /// Every fault of all three at once, as [`ConfigErrors`].
    pub fn load(
        args: impl IntoIterator<Item = OsString>,
        environment: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<Loaded, ConfigErrors> {
        let (mut errors, mut warnings) = (Vec::new(), Vec::new());
        let flags = flags::read(&NODE, args, &mut errors);
        let environment = environment::read(&NODE, environment, &mut warnings, &mut errors);
        let file_name = flags.iter().chain(&environment).find(|given| given.key.name == "config-file");
        let file = match file_name.and_then(|given| Some((given.texts.first()?, &given.source))) {
            // A name that is no path is a wrong value, which is reported with the others.
            Some((name, source)) if Kind::Path.parse(name).is_some() => {
                file::read(&NODE, Path::new(name), source, &mut errors)
            }
            _ => Vec::new(),
        };
        let given = [flags, environment, file];
        let preset = Preset::of(&given);
        let decided = preset.map(|preset| preset.decisions(&NODE)).unwrap_or_default();
        let proposed = preset.map(|preset| preset.proposals(&NODE)).unwrap_or_default();
        warnings.extend(preset::overruled(&decided, &given));
        let [flags, environment, file] = given;
        let settings = Settings::resolve(&NODE, &[decided, flags, environment, file, proposed], &mut errors);
        rules::check(&settings, &mut errors);
        if !errors.is_empty() {
            return Err(ConfigErrors(errors));
        }
        warnings.extend(rules::warnings(&settings));
        Ok(Loaded { config: Self::from_settings(&settings), warnings, settings })
    }

    /// The address and port of the REST interface, if it is served.
    pub fn rest_socket(&self) -> Option<SocketAddr> {
        self.rest.then(|| SocketAddr::new(self.rest_address, self.rest_port))
    }

    /// The address and port of the metrics, if they are served.
    pub fn metrics_socket(&self) -> Option<SocketAddr> {
        self.metrics_server.then(|| SocketAddr::new(self.metrics_server_address, self.metrics_server_port))
    }

    /// The pubsub topics to subscribe to at start, `/waku/2/rs/CLUSTER/SHARD` (23/WAKU2-TOPICS).
    pub fn pubsub_topics(&self) -> Vec<String> {
        self.shards.iter().map(|shard| format!("/waku/2/rs/{}/{shard}", self.cluster_id)).collect()
    }

    /// The pubsub topics on which messages must be signed, and by whom.
    pub fn protected_topics(&self) -> impl Iterator<Item = (String, SignerKey)> + '_ {
        let topic =
            |shard: &ProtectedShard| (format!("/waku/2/rs/{}/{}", self.cluster_id, shard.shard), shard.key.clone());
        self.protected_shards.iter().map(topic)
    }

    /// The typed form of settings in which no fault was found.
    fn from_settings(settings: &Settings) -> Self {
        let entry = EntryNodes::of(settings);
        Self {
            cluster_id: settings.number("cluster-id"),
            shards: rules::subscribed_shards(settings),
            num_shards_in_network: settings.number("num-shards-in-network"),
            protected_shards: rules::protected_shards(settings),
            max_msg_bytes: settings.number("max-msg-size"),
            node_key: settings.node_key(),
            listen_address: settings.address("listen-address"),
            tcp_port: port(settings, "tcp-port"),
            nat: settings.nat(),
            ext_multiaddrs: settings.texts("ext-multiaddr"),
            ext_multiaddr_only: settings.bool("ext-multiaddr-only"),
            dns4_domain_name: settings.texts("dns4-domain-name").pop(),
            agent_string: settings.text("agent-string").to_owned(),
            websocket_support: settings.bool("websocket-support"),
            websocket_port: port(settings, "websocket-port"),
            websocket_secure: rules::tls_files(settings),
            transport: Transport::named(settings.text("transport")).expect(TABLED),
            static_nodes: [settings.texts("staticnode"), entry.multiaddrs].concat(),
            max_connections: settings.number("max-connections"),
            relay_peers_max: relay_share::relay_peers_max(settings),
            ip_colocation_limit: settings.number("ip-colocation-limit"),
            keep_alive: settings.bool("keep-alive"),
            peer_persistence: settings.bool("peer-persistence"),
            peer_store_capacity: settings.number("peer-store-capacity"),
            relay: settings.bool("relay"),
            relay_queue_bytes: settings.number("relay-queue-bytes"),
            store: settings.bool("store"),
            store_message_db_url: settings.text("store-message-db-url").parse().expect(CHECKED),
            store_message_db_schema: settings.text("store-message-db-schema").parse().expect(TABLED),
            store_node: settings.texts("storenode").pop(),
            store_resume: settings.bool("store-resume"),
            filter: settings.bool("filter"),
            filter_node: settings.texts("filternode").pop(),
            filter_subscription_timeout: settings.duration("filter-subscription-timeout"),
            filter_max_peers_to_serve: settings.number("filter-max-peers-to-serve"),
            filter_max_criteria: settings.number("filter-max-criteria"),
            rate_limits: RateLimits::of(&settings.texts("rate-limit")),
            lightpush: settings.bool("lightpush"),
            lightpush_node: settings.texts("lightpushnode").pop(),
            peer_exchange: settings.bool("peer-exchange"),
            peer_exchange_node: settings.texts("peer-exchange-node").pop(),
            discovery: Discovery::from_settings(settings, entry.records, entry.lists),
            store_message_retention_policy: settings.text("store-message-retention-policy").parse().expect(CHECKED),
            store_io: settings.text("store-io").parse().expect(TABLED),
            store_commit: group_commit(settings),
            store_max_num_db_connections: settings.number("store-max-num-db-connections"),
            store_backlog_bytes: settings.number("store-backlog-bytes"),
            rest: settings.bool("rest"),
            rest_address: settings.address("rest-address"),
            rest_port: port(settings, "rest-port"),
            rest_relay_cache_capacity: settings.number("rest-relay-cache-capacity"),
            rest_admin: settings.bool("rest-admin"),
            rest_allow_origin: settings.texts("rest-allow-origin"),
            metrics_server: settings.bool("metrics-server"),
            metrics_server_address: settings.address("metrics-server-address"),
            metrics_server_port: port(settings, "metrics-server-port"),
            log_level: LogLevel::named(settings.text("log-level")).expect(TABLED),
            log_format: LogFormat::named(settings.text("log-format")).expect(TABLED),
            net_workers: Some(settings.number("net-workers")).filter(|workers| *workers != 0),
            workers: Some(settings.number("workers")).filter(|workers| *workers != 0),
            affinity: settings.text("affinity").parse().expect(CHECKED),
            arena_bytes: settings.number("arena-bytes"),
            huge_pages: settings.bool("huge-pages"),
            wait: WaitPreset::named(settings.text("wait")).expect(TABLED),
            drain_timeout: settings.duration("drain-timeout"),
        }
    }
}

/// The port to listen on.
fn port(settings: &Settings, name: &str) -> u16 {
    rules::shifted_port(settings, name).unwrap_or_default()
}

fn group_commit(settings: &Settings) -> GroupCommit {
    GroupCommit {
        messages: settings.number("store-commit-messages"),
        wait: Duration::from_millis(settings.number("store-commit-ms")),
    }
}

impl Loaded {
    /// The resolved configuration as TOML, each value with its source, no secret shown. It can be used as a
    /// configuration file once the secrets are put back.
    pub fn render(&self) -> String {
        render::render(self)
    }
}

/// Why reading a text again cannot fail.
const TABLED: &str = "the table allows only these words";
const CHECKED: &str = "its kind has read it";
