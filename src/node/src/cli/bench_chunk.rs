//! The options of `levada bench chunk`, declared in a table like the node's own and read by the same code.

use std::ffi::OsString;

use super::bench_keys::{BenchFormat, FORMAT, read, runs};
use super::error::CliError;
use crate::config::{Group, Key, Kind, Table, choice};

choice! {
    /// How a chunk lies in memory while it is under way.
    BenchForm {
        /// A copy and an encoding per recipient.
        Vec = "vec",
        /// An encoding per recipient.
        Bytes = "bytes",
        /// One encoding for all.
        Shared = "shared",
        /// Header, content and trailer by reference.
        Vectored = "vectored",
    }
}

choice! {
    /// Where the messages go.
    BenchSink {
        /// Nowhere.
        Null = "null",
        /// Unix sockets.
        Unix = "unix",
        /// TCP over loopback.
        Tcp = "tcp",
    }
}

/// What a benchmark of chunks runs and how it reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChunkBenchOptions {
    /// Bytes of all chunks.
    pub bytes: u64,
    /// Chunks under way at once.
    pub in_flight: usize,
    /// Numbers of recipients, at least one.
    pub recipients: Vec<usize>,
    /// Forms, at least one.
    pub forms: Vec<BenchForm>,
    /// Sinks, at least one.
    pub sinks: Vec<BenchSink>,
    /// Runs of each configuration, at least 1.
    pub runs: usize,
    /// The shape of the results on standard output.
    pub format: BenchFormat,
}

impl ChunkBenchOptions {
    /// Reads the arguments after `levada bench chunk`.
    ///
    /// # Errors
    /// [`CliError::Options`] with every fault at once.
    pub fn read(args: impl IntoIterator<Item = OsString>) -> Result<Self, CliError> {
        let settings = read(&BENCH_CHUNK, args)?;
        Ok(Self {
            bytes: settings.number("size"),
            in_flight: settings.number("in-flight"),
            recipients: settings.numbers("recipients"),
            forms: settings.texts("form").iter().map(|word| BenchForm::named(word).expect(WORDS)).collect(),
            sinks: settings.texts("sink").iter().map(|word| BenchSink::named(word).expect(WORDS)).collect(),
            runs: settings.number("runs"),
            format: BenchFormat::of(&settings),
        })
    }
}

const WORDS: &str = "the table allows only these words";

/// Every option of `levada bench chunk`.
pub(super) static BENCH_CHUNK: Table = Table(&[OPTIONS]);

const OPTIONS: &[Key] = &[
    Key::new(
        "size",
        Kind::Bytes { min: 1, max: 1 << 40 },
        "300MB",
        Group::Workload,
        "How many bytes are sent, in chunks of 4 MiB.",
    ),
    Key::new(
        "in-flight",
        Kind::Number { min: 1, max: 4_096 },
        "64",
        Group::Workload,
        "How many chunks are under way at once, with the messages to all their recipients.",
    ),
    Key::new(
        "recipients",
        Kind::Number { min: 1, max: 256 },
        "5",
        Group::Workload,
        "To how many peers each chunk goes. May be repeated: each number is a configuration of its own.",
    )
    .repeatable(),
    Key::new(
        "form",
        Kind::Choice(BenchForm::NAMES),
        "vec,bytes,shared,vectored",
        Group::Workload,
        "How a chunk lies in memory: vec and bytes are the network's client before and after its chunks became Bytes, shared is \
         encoded once, vectored is ours. May be repeated.",
    )
    .repeatable(),
    Key::new(
        "sink",
        Kind::Choice(BenchSink::NAMES),
        "null",
        Group::Workload,
        "Where the messages go: null, or through unix or tcp sockets to a thread per recipient. May be repeated.",
    )
    .repeatable(),
    runs("3", "How often each configuration is run, in turns; medians are reported."),
    FORMAT,
];
