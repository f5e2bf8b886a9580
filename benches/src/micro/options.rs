//! What the micro scenario is asked to do.

use std::fmt;
use std::path::PathBuf;

use levada_archive::DatabaseUrl;
use levada_engine::Placement;
use levada_wire::hash::{Kernel, Scratch};

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

/// How the stages hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HashChoice {
    /// One message after another, by the `sha2` crate.
    Sha2,
    /// What waits side by side, in the lanes of the kernel that suits the number: what a node does.
    Multi,
}

impl HashChoice {
    /// As it stands in the table.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Sha2 => "sha2",
            Self::Multi => "multi",
        }
    }

    /// What a hash stage needs to hash like this.
    pub fn scratch(self) -> Scratch {
        match self {
            Self::Sha2 => Scratch::with_kernel(Kernel::Sha2).expect("every CPU runs the crate"),
            Self::Multi => Scratch::new(),
        }
    }
}

/// Which digests the path computes of each message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Digests {
    /// The message hash: nwaku's micro scenario.
    Hash,
    /// The message id over the encoded message, before it is decoded, and the message hash: what a receiver computes.
    IdAndHash,
}

impl Digests {
    /// How many there are.
    pub const fn count(self) -> usize {
        match self {
            Self::Hash => 1,
            Self::IdAndHash => 2,
        }
    }
}

/// How the path of one run is laid out.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    /// Lanes of the path.
    pub workers: usize,
    /// A worker for each lane, or for each stage.
    pub placement: Placement,
    /// What is hashed.
    pub digests: Digests,
    /// And how.
    pub hash: HashChoice,
}

/// One row of the report.
#[derive(Debug, Clone)]
pub struct Configuration {
    /// Where messages are archived.
    pub archive: ArchiveChoice,
    /// Lanes of the path; with [`Placement::PerCore`], as many workers.
    pub workers: usize,
    /// How they are hashed.
    pub hash: HashChoice,
}

/// As progress and warnings name it.
impl fmt::Display for Configuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { archive, workers, hash } = self;
        let plural = if *workers == 1 { "" } else { "s" };
        write!(f, "archive {}, {workers} worker{plural}, hash {}", archive.label(), hash.label())
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
    /// Lanes of the path: a configuration for each number, with each archive and each way to hash.
    pub workers: Vec<usize>,
    /// [`Placement::PerCore`] or [`Placement::Dedicated`].
    pub placement: Placement,
    /// Digests of each message.
    pub digests: Digests,
    /// Messages that arrive per second, whether or not the path keeps up; none: the next one when the window allows it.
    pub rate_msg_per_s: Option<u64>,
    /// Where messages are archived.
    pub archives: Vec<ArchiveChoice>,
    /// Ways to hash.
    pub hashes: Vec<HashChoice>,
    /// Runs per configuration, interleaved.
    pub runs: usize,
    /// A run repeats its round until this much time was measured, in nanoseconds.
    pub measured_ns_min: u64,
    /// Where to write heap and slots in use over time, as CSV.
    pub heap_series: Option<PathBuf>,
}

impl Options {
    /// Every configuration, in the order of the report.
    pub fn configurations(&self) -> Vec<Configuration> {
        let mut all = Vec::with_capacity(self.archives.len() * self.workers.len() * self.hashes.len());
        for archive in &self.archives {
            for workers in self.workers.iter().copied() {
                let of_hash = |hash: &HashChoice| Configuration { archive: archive.clone(), workers, hash: *hash };
                all.extend(self.hashes.iter().map(of_hash));
            }
        }
        all
    }

    /// The path of one configuration.
    pub fn layout(&self, configuration: &Configuration) -> Layout {
        let Configuration { workers, hash, .. } = *configuration;
        Layout { workers, placement: self.placement, digests: self.digests, hash }
    }
}

impl Default for Options {
    /// The reference workload on one worker, without an archive, five runs of two seconds. The window is what two workers hash side
    /// by side at most, 64 messages each: with less in flight, two workers against one would say how the hash kernel fares with half
    /// as many, and not what a second worker brings.
    fn default() -> Self {
        Self {
            messages: 1_000,
            warmup: 100,
            seed: 42,
            window: 128,
            workers: vec![1],
            placement: Placement::PerCore,
            digests: Digests::Hash,
            rate_msg_per_s: None,
            archives: vec![ArchiveChoice::None],
            hashes: vec![HashChoice::Multi],
            runs: 5,
            measured_ns_min: 2_000_000_000,
            heap_series: None,
        }
    }
}
