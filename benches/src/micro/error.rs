//! Why a benchmark gave no figures.

use levada_archive::ArchiveError;
use levada_engine::{ArenaError, TopologyError};

use crate::micro::counts::Counts;
use crate::micro::round::RoundError;

/// A benchmark that could not be run, or whose figures would be void.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BenchError {
    /// The arena for the workload could not be made.
    #[error("cannot hold the workload in memory: {0}")]
    Arena(#[from] ArenaError),
    /// The path could not be started.
    #[error("cannot start the measured path: {0}")]
    Topology(#[from] TopologyError),
    /// The archive could not be opened or emptied.
    #[error("cannot use the archive of the benchmark: {}", with_flag_of_bench(.0))]
    Archive(#[from] ArchiveError),
    /// A round failed.
    #[error(transparent)]
    Round(#[from] RoundError),
    /// The archive did not take every message.
    #[error(
        "the archive took {stored} of {messages} messages, and the measurement is void; if a round takes longer than the 20 s for which \
         a message may be archived, use fewer --messages"
    )]
    NotArchived {
        /// Stored.
        stored: u64,
        /// Of so many.
        messages: u64,
    },
    /// The index of store-sync did not take every message.
    #[error("the sync index took {synced} of {messages} messages, and the measurement is void")]
    NotSynced {
        /// In the index.
        synced: u64,
        /// Of so many.
        messages: u64,
    },
    /// The open loop's round would outlast the time for which a message may be archived.
    #[error(
        "at --rate={rate_msg_per_s} a round of {messages} messages takes {seconds} s, and a message may be archived for 20 s only; use a \
         higher --rate, fewer --messages or --archive=none"
    )]
    SlowRate {
        /// The rate.
        rate_msg_per_s: u64,
        /// Messages in a round.
        messages: usize,
        /// How long a round would take.
        seconds: u64,
    },
    /// An archive that holds messages already would be emptied by the benchmark.
    #[error(
        "the archive {location} holds {messages} messages, which the benchmark would delete; name an empty one with --archive"
    )]
    ArchiveInUse {
        /// The archive.
        location: String,
        /// Messages in it.
        messages: u64,
    },
    /// The path did not end.
    #[error("the path did not drain within {seconds} s; the measurement is void")]
    NotDrained {
        /// How long it was given.
        seconds: u64,
    },
    /// An option that must not be zero is.
    #[error("there is nothing to measure with --{option}=0; use 1 or more")]
    Zero {
        /// The option.
        option: &'static str,
    },
    /// Too few messages to fill the longest backlog.
    #[error("{messages} messages do not make the longest backlog; use --messages={messages_min} or more")]
    FewMessages {
        /// How many.
        messages: usize,
        /// At least.
        messages_min: usize,
    },
    /// Two ways to hash gave different digests.
    #[error(
        "the digests at backlog {backlog} are not those of the sha2 crate; kernel {kernel} cannot be trusted on this machine"
    )]
    Digests {
        /// The backlog.
        backlog: String,
        /// The kernel.
        kernel: &'static str,
    },
    /// A path that its caller turns has no threads to measure.
    #[error("the benchmark measures worker threads; place the stages per core or dedicated")]
    Invoker,
    /// The counters of two rounds differ.
    #[error(
        "two rounds of the same messages were counted differently ({first} and {other}); the counters cannot be trusted"
    )]
    Counters {
        /// One round.
        first: String,
        /// Another.
        other: String,
    },
    /// A file of results could not be written.
    #[error("cannot write {path}: {source}; choose another folder")]
    Output {
        /// The file.
        path: String,
        /// The system's reason.
        source: std::io::Error,
    },
}

/// The sentence of an archive, which names the flag of a node.
fn with_flag_of_bench(error: &ArchiveError) -> String {
    error.to_string().replace("--store-message-db-url", "--archive")
}

impl BenchError {
    pub(super) fn counters(first: &Counts, other: &Counts) -> Self {
        Self::Counters { first: format!("{first:?}"), other: format!("{other:?}") }
    }
}
