//! What can go wrong before a rule is even tried.

use std::io;
use std::path::PathBuf;

/// Why the check could not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TidyError {
    /// An argument that the program does not know.
    #[error("unknown argument {0}; see --help")]
    UnknownArgument(String),
    /// `--root` stood last.
    #[error("--root needs a folder after it")]
    MissingValue,
    /// Git would not list the files.
    #[error("git could not list the files of {}: {reason}; is it a git work tree and is git installed?", root.display())]
    Git {
        /// The folder git was asked about.
        root: PathBuf,
        /// Git's own words, or why it did not start.
        reason: String,
    },
    /// A listed file could not be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The operating system's answer.
        source: io::Error,
    },
    /// Standard output was closed early.
    #[error("cannot write the report: {0}")]
    Output(io::Error),
}
