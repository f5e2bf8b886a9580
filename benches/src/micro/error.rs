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
    #[error("cannot use the archive of the benchmark: {0}")]
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

impl BenchError {
    pub(super) fn counters(first: &Counts, other: &Counts) -> Self {
        Self::Counters { first: format!("{first:?}"), other: format!("{other:?}") }
    }
}
