//! What the micro scenario is asked to do.

use std::path::PathBuf;

use levada_archive::DatabaseUrl;

/// Where the messages of a run are archived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArchiveChoice {
    /// Nowhere.
    None,
    /// An archive of `levada-archive`.
    Database(DatabaseUrl),
}

impl ArchiveChoice {
    /// As it stands in the table.
    pub fn label(&self) -> String {
        match self {
            Self::None => "none".to_owned(),
            Self::Database(url) => url.to_string(),
        }
    }
}

/// One micro benchmark.
#[derive(Debug, Clone)]
pub struct Options {
    /// Messages in a round.
    pub messages: usize,
    /// Messages before the first round, not measured.
    pub warmup: usize,
    /// Seed of the workload.
    pub seed: u64,
    /// Most messages in flight.
    pub window: usize,
    /// Workers that run the path.
    pub workers: usize,
    /// One configuration per archive.
    pub archives: Vec<ArchiveChoice>,
    /// Runs per configuration, interleaved.
    pub runs: usize,
    /// A run repeats its round until this much time was measured, in nanoseconds.
    pub measured_ns_min: u64,
    /// Where to write heap and slots in use over time, as CSV.
    pub heap_series: Option<PathBuf>,
}
