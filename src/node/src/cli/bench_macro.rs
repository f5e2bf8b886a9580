//! The options of `levada bench macro`, declared in a table like the node's own and read by the same code.

use std::ffi::OsString;

use super::bench_keys::{BenchFormat, FORMAT, SEED, read, runs};
use super::error::CliError;
use crate::config::{Group, Key, Kind, Table, Transport};

/// What a macro benchmark runs and how it reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MacroBenchOptions {
    /// Messages measured, at least 1.
    pub messages: usize,
    /// Messages before the clock starts.
    pub warmup: usize,
    /// The seed of the message generator.
    pub seed: u64,
    /// The most messages in flight, at least 1.
    pub window: usize,
    /// Receivers, at least 1.
    pub peers: usize,
    /// 1 or 2.
    pub hops: usize,
    /// 1 or 2.
    pub processes: usize,
    /// Threads of each node for its connections.
    pub net_workers: usize,
    /// Transports: a configuration for each.
    pub transports: Vec<Transport>,
    /// Runs of each configuration, at least 1.
    pub runs: usize,
    /// The shape of the results on standard output.
    pub format: BenchFormat,
}

impl MacroBenchOptions {
    /// Reads the arguments after `levada bench macro`.
    ///
    /// # Errors
    /// [`CliError::Options`] with every fault at once.
    pub fn read(args: impl IntoIterator<Item = OsString>) -> Result<Self, CliError> {
        let settings = read(&BENCH_MACRO, args)?;
        Ok(Self {
            messages: settings.number("messages"),
            warmup: settings.number("warmup"),
            seed: settings.number("seed"),
            window: settings.number("window"),
            peers: settings.number("peers"),
            hops: settings.number("hops"),
            processes: settings.number("processes"),
            net_workers: settings.number("net-workers"),
            transports: settings.texts("transport").iter().map(|word| Transport::named(word).expect(WORDS)).collect(),
            runs: settings.number("runs"),
            format: BenchFormat::of(&settings),
        })
    }
}

const WORDS: &str = "the table allows only these words";

/// Every option of `levada bench macro`.
pub(super) static BENCH_MACRO: Table = Table(&[OPTIONS]);

const PEERS_MAX: u64 = crate::bench_macro::PEERS_MAX as u64;

const NET_WORKERS_MAX: u64 = crate::bench_macro::NET_WORKERS_MAX as u64;

const WINDOW_MAX: u64 = crate::bench_macro::WINDOW_MAX as u64;

const OPTIONS: &[Key] = &[
    Key::new(
        "messages",
        Kind::Number { min: 1, max: 1_000_000 },
        "1000",
        Group::Workload,
        "How many messages are measured. They are made as they are published.",
    ),
    Key::new(
        "warmup",
        Kind::Number { min: 0, max: 1_000_000 },
        "2500",
        Group::Workload,
        "How many messages are published before the clock starts: enough that archive and caches have their memory by then.",
    ),
    SEED,
    Key::new(
        "window",
        Kind::Number { min: 1, max: WINDOW_MAX },
        "32",
        Group::Workload,
        "The most messages that are published and not yet handled by every receiver.",
    ),
    Key::new(
        "transport",
        Kind::Choice(Transport::NAMES),
        "levada",
        Group::Workload,
        "Whose Noise and yamux secure and divide the connections, levada or stock. May be repeated: each one is a configuration of \
         its own, and their runs take turns.",
    )
    .repeatable(),
    Key::new(
        "peers",
        Kind::Number { min: 1, max: PEERS_MAX },
        "1",
        Group::Workload,
        "How many receivers there are. Each message is sent to every one.",
    ),
    Key::new(
        "hops",
        Kind::Number { min: 1, max: 2 },
        "1",
        Group::Workload,
        "1: the publisher is connected to the receivers. 2: a relay node stands between them.",
    ),
    Key::new(
        "processes",
        Kind::Number { min: 1, max: 2 },
        "1",
        Group::Workload,
        "1: every node is a thread of this process. 2: every node is a process, whose memory starts empty.",
    ),
    Key::new(
        "net-workers",
        Kind::Number { min: 0, max: NET_WORKERS_MAX },
        "0",
        Group::Workload,
        "Over how many threads of a node its connections are spread, all on the node's core; 0 leaves them to the node's own thread. With \
         --processes=2 only.",
    ),
    runs("5", "How often each configuration is run, in turns with the bound; medians and spread are reported."),
    FORMAT,
];
