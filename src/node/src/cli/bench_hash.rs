//! The options of `levada bench hash`, declared in a table like the node's own and read by the same code.

use std::ffi::OsString;

use super::bench_keys::{BenchFormat, FORMAT, SEED, read, runs};
use super::error::CliError;
use crate::config::{Group, Key, Kind, Table};

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
        let settings = read(&BENCH_HASH, args)?;
        Ok(Self {
            messages: settings.number("messages"),
            seed: settings.number("seed"),
            runs: settings.number("runs"),
            format: BenchFormat::of(&settings),
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
    SEED,
    runs("21", "How many passes each side makes at each backlog, in turns; medians are reported."),
    FORMAT,
];
