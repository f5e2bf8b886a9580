//! The one table of keys: what this version acts on here and in the modules `network`, `services` and `discovery`, what it only accepts
//! in the `accepted` module.
//!
//! Names and defaults are nwaku v0.38.1's, except that `store`, `lightpush`, `rest`, `metrics-server` and `websocket-support` are on and
//! the archive's file is Levada's own.

use levada_archive::{PostgresSchema, StoreIo};

use super::accepted::ACCEPTED;
use super::choice::{LogFormat, LogLevel, Transport, WaitPreset};
use super::discovery::DISCOVERY;
use super::key::{Group, Key, Table};
use super::kind::Kind;
use super::network::NETWORK;
use super::services::SERVICES;

/// Every key of `levada run`.
pub static NODE: Table = Table(&[EFFECTIVE, NETWORK, SERVICES, DISCOVERY, ACCEPTED]);

const EFFECTIVE: &[Key] = &[
    Key::optional(
        "config-file",
        Kind::Path,
        Group::Configuration,
        "A TOML file whose keys are the names of these flags, without dashes before them.",
    ),
    Key::new(
        "cluster-id",
        Kind::Number { min: 0, max: 65_535 },
        "0",
        Group::Network,
        "The cluster the node is part of. Peers that say they are in another one are disconnected.",
    ),
    Key::optional(
        "shard",
        Kind::Number { min: 0, max: SHARD_MAX },
        Group::Network,
        "A shard to subscribe to; may be repeated. Without any: all shards with autosharding; shard 0 in cluster 0; none in \
         another cluster.",
    )
    .repeatable(),
    Key::new(
        "num-shards-in-network",
        Kind::Number { min: 0, max: SHARD_MAX + 1 },
        "0",
        Group::Network,
        "The number of shards over which content topics are spread (autosharding); 0 for static sharding.",
    ),
    Key::new(
        "max-msg-size",
        Kind::Bytes { min: 1 << 10, max: 4 << 20 },
        "150KiB",
        Group::Network,
        "The largest message, in its encoded form, that is published or relayed.",
    ),
    Key::optional(
        "nodekey",
        Kind::NodeKey,
        Group::Endpoints,
        "The node's secp256k1 private key, 64 hexadecimal digits. Without one the node makes a new key, and so gets a new peer \
         id, at each start. Prefer the file or the environment: other users of the machine can read a command line.",
    ),
    Key::new(
        "listen-address",
        Kind::Address,
        "0.0.0.0",
        Group::Endpoints,
        "The address on which peers are awaited, over TCP and WebSocket.",
    ),
    Key::new(
        "tcp-port",
        Kind::Port,
        "60000",
        Group::Endpoints,
        "The TCP port on which peers are awaited; 0 takes any free one.",
    ),
    Key::new(
        "ports-shift",
        Kind::Number { min: 0, max: 65_535 },
        "0",
        Group::Endpoints,
        "A number added to every port that is not 0, to run several nodes with one configuration.",
    ),
    Key::new(
        "nat",
        Kind::Nat,
        "any",
        Group::Endpoints,
        "How the node learns its public address: any, none, or extip:IP to announce that address.",
    ),
    Key::new(
        "agent-string",
        Kind::Text,
        concat!("levada/", env!("CARGO_PKG_VERSION")),
        Group::Endpoints,
        "What the node calls itself to its peers.",
    ),
    Key::new(
        "websocket-support",
        Kind::Bool,
        "true",
        Group::Transports,
        "Whether peers may connect by WebSocket, as browsers do.",
    ),
    Key::new(
        "websocket-port",
        Kind::Port,
        "8000",
        Group::Transports,
        "The port for WebSocket connections; 0 takes any free one.",
    ),
    Key::new(
        "transport",
        Kind::Choice(Transport::NAMES),
        "levada",
        Group::Transports,
        "Whose Noise, yamux and mplex secure and divide connections: levada, which copies a payload once in each direction, or stock, \
         which is rust-libp2p's. Peers see no difference.",
    ),
    Key::optional(
        "staticnode",
        Kind::Multiaddr,
        Group::Peers,
        "The multiaddress of a peer to connect to and stay connected to; may be repeated.",
    )
    .repeatable(),
    Key::new(
        "max-connections",
        Kind::Number { min: 1, max: 100_000 },
        "150",
        Group::Peers,
        "The most connections to peers at one time.",
    ),
    Key::new("relay", Kind::Bool, "true", Group::Relay, "Whether the node relays messages."),
    Key::new(
        "relay-queue-bytes",
        Kind::Bytes { min: 64 << 10, max: 1 << 30 },
        "8MiB",
        Group::Relay,
        "The most bytes of messages that wait to be sent to one peer; what finds no room is dropped and costs the peer score.",
    ),
    Key::new(
        "store",
        Kind::Bool,
        "true",
        Group::Store,
        "Whether the node archives the messages it relays and answers queries for them.",
    ),
    Key::new(
        "store-message-db-url",
        Kind::DatabaseUrl,
        "sqlite://levada.sqlite3",
        Group::Store,
        "The archive: sqlite://PATH, relative to the working directory; sqlite://:memory:; \
         postgres://USER:PASSWORD@HOST:PORT/DATABASE, which several nodes may share, with ?sslmode=disable, prefer, require, or \
         verify-full and sslrootcert=FILE; or memory, which keeps the newest messages without a database.",
    ),
    Key::new(
        "store-message-db-schema",
        Kind::Choice(PostgresSchema::NAMES),
        "levada",
        Group::Store,
        "Whose tables a PostgreSQL archive has: levada, or nwaku for a database that nodes of nwaku use too, which is larger and slower.",
    ),
    Key::new(
        "store-message-retention-policy",
        Kind::RetentionPolicy,
        "time:172800",
        Group::Store,
        "What the archive keeps: time:SECONDS, capacity:MESSAGES, size:NMB or size:NGB, several joined by ';', or none for \
         everything. Whole segments are dropped, so that up to an eighth more stays.",
    ),
    Key::new(
        "store-io",
        Kind::Choice(StoreIo::NAMES),
        "auto",
        Group::Store,
        "How an archive on the disk is written: uring, pwritev or buffered; auto takes io_uring where the system grants it, and \
         pwritev elsewhere.",
    ),
    Key::new(
        "store-commit-messages",
        Kind::Number { min: 1, max: 256 },
        "256",
        Group::Store,
        "The most messages that the archive commits together; as many are committed at once.",
    ),
    Key::new(
        "store-commit-ms",
        Kind::Number { min: 0, max: 10_000 },
        "100",
        Group::Store,
        "Milliseconds that fewer messages wait for others to be committed with them; a message whose sender waits is committed at once, \
         and 0 lets none wait.",
    ),
    Key::new(
        "store-max-num-db-connections",
        Kind::Number { min: 2, max: 1_000 },
        "50",
        Group::Store,
        "The most connections to a PostgreSQL archive: one writes, the others answer queries and are made as they are needed.",
    ),
    Key::new(
        "store-backlog-bytes",
        Kind::Bytes { min: 0, max: 1 << 40 },
        "256MiB",
        Group::Store,
        "How much waits in the folder levada-backlog while a PostgreSQL archive is away or slow; what comes beyond that is relayed, \
         not archived, and counted.",
    ),
    Key::new("rest", Kind::Bool, "true", Group::Servers, "Whether the node serves its REST interface."),
    Key::new(
        "rest-address",
        Kind::Address,
        "127.0.0.1",
        Group::Servers,
        "The address of the REST interface. Whoever reaches it can publish and subscribe.",
    ),
    Key::new("rest-port", Kind::Port, "8645", Group::Servers, "The port of the REST interface; 0 takes any free one."),
    Key::new(
        "rest-admin",
        Kind::Bool,
        "false",
        Group::Servers,
        "Whether REST has the administrator's routes, /admin/v1/…. Whoever reaches the REST port may then use them.",
    ),
    Key::optional(
        "rest-allow-origin",
        Kind::Text,
        Group::Servers,
        "A web origin whose pages may use REST, such as localhost:* or https://example.org, with * and ? as wildcards; may be repeated. \
         * alone allows every page. Without any, browsers refuse pages of other origins.",
    )
    .repeatable(),
    Key::new(
        "rest-relay-cache-capacity",
        Kind::Number { min: 1, max: 1_000_000 },
        "50",
        Group::Servers,
        "How many relayed messages are kept for REST clients to fetch; the oldest goes first.",
    ),
    Key::new("metrics-server", Kind::Bool, "true", Group::Servers, "Whether the node serves Prometheus metrics."),
    Key::new("metrics-server-address", Kind::Address, "127.0.0.1", Group::Servers, "The address of the metrics."),
    Key::new(
        "metrics-server-port",
        Kind::Port,
        "8008",
        Group::Servers,
        "The port of the metrics; 0 takes any free one.",
    ),
    Key::new(
        "log-level",
        Kind::Choice(LogLevel::NAMES),
        "INFO",
        Group::Logs,
        "How much is logged: TRACE, DEBUG, INFO, NOTICE, WARN, ERROR, FATAL or NONE.",
    ),
    Key::new(
        "log-format",
        Kind::Choice(LogFormat::NAMES),
        "TEXT",
        Group::Logs,
        "The shape of a log line on standard error: TEXT or JSON.",
    ),
    Key::new(
        "workers",
        Kind::Auto { max: 256 },
        "auto",
        Group::Engine,
        "How many pinned worker threads run the message path; auto takes as many as affinity has places, else half the cores this \
         process may use, at most four.",
    ),
    Key::new(
        "affinity",
        Kind::Affinity,
        "auto",
        Group::Engine,
        "Which cores the workers of the message path run on, in order: a core (0), a range (0-10), every second one of it (0-10/2), \
         workers that float (f2), several of these joined by commas; or auto, the cores this process may use, as far as its quota \
         goes.",
    ),
    Key::new(
        "net-workers",
        Kind::Auto { max: 256 },
        "auto",
        Group::Engine,
        "Over how many threads connections are spread, each of which stays on its own; auto takes the cores that the message path \
         leaves or, if that is only one, all of them, and at most four.",
    ),
    Key::new(
        "arena-bytes",
        Kind::Bytes { min: 16 << 20, max: 1 << 40 },
        "512MiB",
        Group::Engine,
        "The memory that holds messages in flight; when it is full, peers are not read until some have drained. It never grows.",
    ),
    Key::new(
        "huge-pages",
        Kind::Bool,
        "true",
        Group::Engine,
        "Whether that memory is to lie in huge pages. The kernel is asked by madvise; where it has none, ordinary pages serve.",
    ),
    Key::new(
        "wait",
        Kind::Choice(WaitPreset::NAMES),
        "balanced",
        Group::Engine,
        "How a worker without work waits: eco sleeps at once, balanced spins briefly first, spin never sleeps and burns a core.",
    ),
    Key::new(
        "drain-timeout",
        Kind::Seconds { max: 3_600 },
        "10",
        Group::Engine,
        "How many seconds the node may take after Ctrl-C or SIGTERM to finish what it has accepted.",
    ),
];

/// The highest shard index (RFC 51/WAKU2-RELAY-SHARDING: 1024 shards in each cluster).
const SHARD_MAX: u64 = 1_023;
