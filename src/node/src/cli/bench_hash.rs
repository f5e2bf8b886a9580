//! The options of `levada bench hash`, declared in a table like the node's own and read by the same code.

use std::ffi::OsString;

use super::bench::BenchFormat;
use super::error::CliError;
use crate::config::{ConfigErrors, Group, Key, Kind, Settings, Table, flags};

/// What a benchmark of the hash stage runs and how it reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HashBenchOptions {
    /// Messages in a pass: the longest backlog at least.
    pub messages: usize,
    /// The seed of the message generator.
    pub seed: u64,
    /// Passes of each side at each backlog, at least 1.
    pub runs: usize,
    /// The shape of the results on standard output.
    pub format: BenchFormat,
}

impl HashBenchOptions {
    /// Reads the arguments after `levada bench hash`.
    ///
    /// # Errors
    /// [`CliError::Options`] with every fault at once.
    pub fn read(args: impl IntoIterator<Item = OsString>) -> Result<Self, CliError> {
        let mut errors = Vec::new();
        let given = flags::read(&BENCH_HASH, args, &mut errors);
        let settings = Settings::resolve(&BENCH_HASH, &[given], &mut errors);
        if !errors.is_empty() {
            return Err(CliError::Options(ConfigErrors(errors)));
        }
        Ok(Self {
            messages: settings.number("messages"),
            seed: settings.number("seed"),
            runs: settings.number("runs"),
            format: BenchFormat::named(settings.text("format")).expect("the table allows only these words"),
        })
    }
}

/// Every option of `levada bench hash`.
pub(super) static BENCH_HASH: Table = Table(&[OPTIONS]);

const OPTIONS: &[Key] = &[
    Key::new(
        "messages",
        Kind::Number { min: 64, max: 10_000 },
        "512",
        Group::Workload,
        "How many messages one pass has, all in memory.",
    ),
    Key::new(
        "seed",
        Kind::Number { min: 0, max: u64::MAX },
        "42",
        Group::Workload,
        "The seed of the message generator; one seed gives the same payloads in the same order on every machine.",
    ),
    Key::new(
        "runs",
        Kind::Number { min: 1, max: 1_000 },
        "21",
        Group::Workload,
        "How many passes each side makes at each backlog, in turns; medians are reported.",
    ),
    Key::new(
        "format",
        Kind::Choice(BenchFormat::NAMES),
        "table",
        Group::Report,
        "The shape of the results on standard output: table, csv or json.",
    ),
];
