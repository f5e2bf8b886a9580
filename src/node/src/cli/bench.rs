//! The options of `levada bench micro`, declared in a table like the node's own and read by the same code.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use super::bench_keys::{BenchFormat, FORMAT, SEED, read, runs};
use super::error::CliError;
use crate::config::{Group, Key, Kind, Settings, Table, Value, choice};

choice! {
    /// Which worker runs which stage.
    BenchPlacement {
        /// A worker for each lane.
        PerCore = "per-core",
        /// A worker for each stage of each lane.
        Dedicated = "dedicated",
    }
}

choice! {
    /// How the stages hash.
    BenchHash {
        /// One message after another, by the `sha2` crate.
        Sha2 = "sha2",
        /// What waits side by side.
        Multi = "multi",
    }
}

/// Where the measured messages are archived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BenchArchive {
    /// Nowhere: the archive step is left out.
    None,
    /// In memory, by Levada's own archive.
    Memory,
    /// In the database of this URL.
    Url(String),
}

/// What a micro benchmark runs and how it reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BenchOptions {
    /// Messages in one round, 1 to [`BenchOptions::MESSAGES_MAX`].
    pub messages: usize,
    /// Messages before the clock starts, 0 to [`BenchOptions::MESSAGES_MAX`].
    pub warmup: usize,
    /// The seed of the message generator.
    pub seed: u64,
    /// The most messages in flight, at least 1.
    pub window: usize,
    /// Numbers of lanes of the path, each at least 1; placed per core, a lane is a worker thread. At least one.
    pub workers: Vec<usize>,
    /// Which worker runs which stage.
    pub placement: BenchPlacement,
    /// Digests of each message: 1 is the message hash, 2 the message id as well.
    pub digests: usize,
    /// Messages that arrive per second; none: the next one arrives when the window allows it.
    pub rate_msg_per_s: Option<u64>,
    /// One configuration is run for each, with each number of lanes and each way to hash, in this order; at least one.
    pub archives: Vec<BenchArchive>,
    /// Ways to hash; at least one.
    pub hashes: Vec<BenchHash>,
    /// Runs of each configuration, of which the medians are reported; at least 1.
    pub runs: usize,
    /// How long each run measures at least: rounds are repeated until this has passed.
    pub min_duration: Duration,
    /// The file for a series of heap sizes over time.
    pub heap_series: Option<PathBuf>,
    /// The shape of the results on standard output.
    pub format: BenchFormat,
    /// The folder in which the results are written too.
    pub out: Option<PathBuf>,
}

impl BenchOptions {
    /// The most messages in a round: at the reference sizes they take 6.5 GB, all in memory before the clock starts.
    pub const MESSAGES_MAX: usize = 100_000;

    /// Reads the arguments after `levada bench micro`.
    ///
    /// # Errors
    /// [`CliError::Options`] with every fault at once.
    pub fn read(args: impl IntoIterator<Item = OsString>) -> Result<Self, CliError> {
        read(&BENCH, args).map(|settings| Self::from_settings(&settings))
    }

    fn from_settings(settings: &Settings) -> Self {
        let Value::Duration(min_duration) = settings.value("min-seconds") else { unreachable!("declared seconds") };
        let path = |name| settings.texts(name).into_iter().next().map(PathBuf::from);
        Self {
            messages: settings.number("messages"),
            warmup: settings.number("warmup"),
            seed: settings.number("seed"),
            window: settings.number("window"),
            workers: settings.numbers("workers"),
            placement: BenchPlacement::named(settings.text("placement")).expect(WORDS),
            digests: settings.number("digests"),
            rate_msg_per_s: settings.numbers("rate").first().copied(),
            archives: settings.texts("archive").into_iter().map(BenchArchive::from).collect(),
            hashes: settings.texts("hash").iter().map(|word| BenchHash::named(word).expect(WORDS)).collect(),
            runs: settings.number("runs"),
            min_duration: *min_duration,
            heap_series: path("heap-series"),
            format: BenchFormat::of(settings),
            out: path("out"),
        }
    }
}

impl Default for BenchOptions {
    fn default() -> Self {
        Self::read([]).expect("the table's defaults are valid, which a test shows")
    }
}

impl From<String> for BenchArchive {
    fn from(text: String) -> Self {
        match text.as_str() {
            "none" => Self::None,
            "memory" => Self::Memory,
            _ => Self::Url(text),
        }
    }
}

impl std::fmt::Display for BenchArchive {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Memory => "memory",
            Self::Url(url) => url,
        })
    }
}

const WORDS: &str = "the table allows only these words";

/// Every option of `levada bench micro`.
pub(super) static BENCH: Table = Table(&[OPTIONS]);

const MESSAGES_MAX: u64 = BenchOptions::MESSAGES_MAX as u64;

const OPTIONS: &[Key] = &[
    Key::new(
        "messages",
        Kind::Number { min: 1, max: MESSAGES_MAX },
        "1000",
        Group::Workload,
        "How many messages one round has.",
    ),
    Key::new(
        "warmup",
        Kind::Number { min: 0, max: MESSAGES_MAX },
        "100",
        Group::Workload,
        "How many messages are processed before the clock starts.",
    ),
    SEED,
    Key::new(
        "window",
        Kind::Number { min: 1, max: 65_536 },
        "128",
        Group::Workload,
        "The most messages in flight at one time, over all workers. As many can be hashed side by side, divided by the workers; a \
         worker's hash kernel is at its best with 64.",
    ),
    Key::new(
        "workers",
        Kind::Number { min: 1, max: 256 },
        "1",
        Group::Workload,
        "How many lanes the path has; placed per core, as many pinned worker threads run. May be repeated: each number is a \
         configuration of its own, and their runs take turns.",
    )
    .repeatable(),
    Key::new(
        "placement",
        Kind::Choice(BenchPlacement::NAMES),
        "per-core",
        Group::Workload,
        "per-core: one worker runs all stages of a lane. dedicated: every stage of a lane has a worker thread to itself; \
         those beyond the number of cores share them.",
    ),
    Key::new(
        "hash",
        Kind::Choice(BenchHash::NAMES),
        "multi",
        Group::Workload,
        "multi: what waits is hashed side by side, as in a node. sha2: one message after another by the sha2 crate. May be \
         repeated: each one is a configuration of its own, and their runs take turns.",
    )
    .repeatable(),
    Key::new(
        "digests",
        Kind::Number { min: 1, max: 2 },
        "1",
        Group::Workload,
        "1: the message hash (14/WAKU2-MESSAGE). 2: before it the message id too, SHA-256 over the encoded message \
         (11/WAKU2-RELAY), which a receiver needs to find duplicates: two passes over each payload.",
    ),
    Key::optional(
        "rate",
        Kind::Number { min: 1, max: 10_000_000 },
        Group::Workload,
        "Messages that arrive per second, by a Poisson process of the seed, whether or not the path keeps up (open loop). \
         Latencies count from when a message was due. At most --window are inside; the others wait before the path. \
         Without it the next one arrives when the window has room (closed loop).",
    ),
    Key::new(
        "archive",
        Kind::Archive,
        "none,memory,sqlite://:memory:",
        Group::Workload,
        "Where messages are archived: none, memory or a database URL. Beside sqlite://PATH stands what its disk takes by itself. May be \
         repeated: each one is a configuration of its own.",
    )
    .repeatable(),
    runs("5", "How often each configuration is run; medians and spread are reported."),
    Key::new(
        "min-seconds",
        Kind::Seconds { max: 3_600 },
        "2",
        Group::Workload,
        "How many seconds each run measures at least, by repeating rounds.",
    ),
    FORMAT,
    Key::optional("out", Kind::Path, Group::Report, "A folder in which the results are written too."),
    Key::optional("heap-series", Kind::Path, Group::Report, "A file for a series of heap sizes over time."),
];
