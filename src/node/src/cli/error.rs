//! What can be wrong with a command line before any configuration is read.

use crate::config::{ConfigErrors, EXIT_USAGE};

/// A command line that asks for nothing the binary can do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CliError {
    /// A subcommand that does not exist.
    #[error("unknown command {name}{}", advice(parent, *suggestion))]
    UnknownCommand {
        /// The command under which it was looked for.
        parent: &'static str,
        /// What was typed, quoted and cut.
        name: String,
        /// The nearest command.
        suggestion: Option<&'static str>,
    },
    /// `levada bench` without the name of a benchmark.
    #[error(
        "levada bench needs the name of a benchmark: levada bench micro, levada bench macro, levada bench hash or levada bench chunk"
    )]
    MissingBench,
    /// Something after a command that takes nothing more.
    #[error("unexpected argument {argument} after levada {after}; leave it out")]
    UnexpectedArgument {
        /// The command.
        after: &'static str,
        /// What was typed, quoted and cut.
        argument: String,
    },
    /// Wrong arguments of `levada chunk`, in the words of `clap`.
    #[error("{0}")]
    Chunk(String),
    /// Wrong arguments of `levada archive`.
    #[error("{0}")]
    Archive(String),
    /// Wrong arguments of a client's command.
    #[error("{0}")]
    Client(String),
    /// Wrong arguments of `levada generate`.
    #[error("{0}")]
    Generate(String),
    /// Wrong options of a benchmark, all of them.
    #[error("{0}")]
    Options(ConfigErrors),
}

impl CliError {
    /// [`EXIT_USAGE`]: whatever is wrong here is the command line's.
    pub const fn exit_code(&self) -> u8 {
        EXIT_USAGE
    }
}

fn advice(parent: &str, suggestion: Option<&str>) -> String {
    match suggestion {
        Some(name) => format!("; did you mean {parent} {name}?"),
        None => format!("; {parent} --help lists all"),
    }
}
