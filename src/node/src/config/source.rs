//! Where a value came from, for messages and printed configurations.

use std::fmt;
use std::path::PathBuf;

use super::key::Key;

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// Nobody gave one.
    Default,
    /// The named network (`--preset`).
    Preset(&'static str),
    /// A line of the configuration file, counted from 1.
    File {
        /// The file as the operator named it.
        path: PathBuf,
        /// The line of the key.
        line: usize,
    },
    /// The environment variable of this name.
    Environment(String),
    /// The flag of this name, without its dashes.
    Flag(&'static str),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::Preset(name) => write!(f, "preset {name}"),
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Environment(variable) => write!(f, "environment variable {variable}"),
            Self::Flag(name) => write!(f, "flag --{name}"),
        }
    }
}

/// What one source said about one key, not yet checked. It may hold a secret, hence has no `Debug` form.
#[derive(Clone)]
pub(crate) struct Given {
    /// The key.
    pub key: &'static Key,
    /// The texts: exactly one unless the key is repeatable.
    pub texts: Vec<String>,
    /// Who said so.
    pub source: Source,
}
