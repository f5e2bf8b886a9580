//! Everything that can be wrong with a configuration. All faults of one start are reported together.

use std::fmt;
use std::path::PathBuf;

use super::source::Source;
use super::suggest::hint;

/// The exit code for a wrong command line (`EX_USAGE` of sysexits).
pub const EXIT_USAGE: u8 = 64;

/// The exit code for a wrong configuration (`EX_CONFIG` of sysexits).
pub const EXIT_CONFIG: u8 = 78;

/// One fault, as a sentence that says what, where, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A flag that does not exist.
    #[error("unknown flag --{name}{}", hint(suggestion.map(|name| format!("--{name}")).as_deref(), "--help lists all"))]
    UnknownFlag {
        /// What was typed, without dashes and value.
        name: String,
        /// The nearest flag.
        suggestion: Option<&'static str>,
    },
    /// A TOML key that does not exist.
    #[error("{}:{line}: unknown key {name}{}", path.display(), hint(*suggestion, "levada run --print-default-config lists all"))]
    UnknownFileKey {
        /// The configuration file.
        path: PathBuf,
        /// The line of the key, counted from 1.
        line: usize,
        /// The key.
        name: String,
        /// The nearest key.
        suggestion: Option<&'static str>,
    },
    /// An argument that is neither a flag nor a flag's value.
    #[error("unexpected argument {argument}; {advice}")]
    StrayArgument {
        /// The argument, quoted and cut.
        argument: String,
        /// What was probably meant.
        advice: String,
    },
    /// Bytes that are not UTF-8.
    #[error("{place} is not valid UTF-8; give it as plain text")]
    NotUtf8 {
        /// Which argument or variable.
        place: String,
    },
    /// A flag without the value it needs.
    #[error("--{name} needs a value; expected {expected}, as in --{name}=VALUE")]
    MissingValue {
        /// The flag.
        name: &'static str,
        /// What it takes.
        expected: String,
    },
    /// A flag given twice that can have one value only.
    #[error("--{name} is given more than once; keep one of them")]
    Repeated {
        /// The flag.
        name: &'static str,
    },
    /// A value that its key does not take.
    #[error("{key}: {given} ({place}) is not valid; expected {expected}")]
    WrongValue {
        /// The key.
        key: &'static str,
        /// The value, quoted and cut, or replaced if secret.
        given: String,
        /// Who gave it.
        place: Source,
        /// What the key takes.
        expected: String,
    },
    /// A TOML value of a type that the key does not take.
    #[error("{key} ({place}) is {found}; expected {expected}")]
    WrongType {
        /// The key.
        key: String,
        /// Where.
        place: Source,
        /// What was found there.
        found: String,
        /// What the key takes.
        expected: String,
    },
    /// Too many values for a repeatable key.
    #[error("{key} ({place}) has {count} values; at most {max} are allowed")]
    TooManyValues {
        /// The key.
        key: &'static str,
        /// Who gave them.
        place: Source,
        /// How many there are.
        count: usize,
        /// How many may be.
        max: usize,
    },
    /// A configuration file that cannot be read.
    #[error("the configuration file {} ({place}) cannot be read: {reason}", path.display())]
    FileUnreadable {
        /// The file.
        path: PathBuf,
        /// Who named it.
        place: Source,
        /// The operating system's reason.
        reason: String,
    },
    /// A configuration file that is not TOML.
    #[error("{}:{line}:{column}: not valid TOML: {reason}", path.display())]
    FileSyntax {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// The column, counted from 1.
        column: usize,
        /// The parser's reason.
        reason: String,
    },
    /// A port that the shift pushes out of range.
    #[error("{key} = {port} plus ports-shift = {shift} is above 65535; lower one of them")]
    PortShift {
        /// The port's key.
        key: &'static str,
        /// The port before the shift.
        port: u16,
        /// The shift.
        shift: u16,
    },
    /// Two listeners on one port.
    #[error(
        "{first} ({first_place}) and {second} ({second_place}) are both port {port}; give one of them another port"
    )]
    PortConflict {
        /// The first port's key.
        first: &'static str,
        /// Who set it.
        first_place: Source,
        /// The second port's key.
        second: &'static str,
        /// Who set it.
        second_place: Source,
        /// The port, after the shift.
        port: u16,
    },
    /// A shard that the network does not have.
    #[error("shard {shard} ({place}) does not exist when num-shards-in-network is {count}; expected 0 to {}", count - 1)]
    ShardOutsideNetwork {
        /// The shard.
        shard: u16,
        /// Who gave it.
        place: Source,
        /// How many shards the network has.
        count: u16,
    },
    /// What this version does not do, and what would be believed in wrongly if it were left out in silence.
    #[error("{key} ({place}) is refused: {reason}")]
    Refused {
        /// The key.
        key: &'static str,
        /// Who gave it.
        place: Source,
        /// Why, and what to do.
        reason: String,
    },
    /// A key that does nothing without another one.
    #[error("{key} ({place}) needs {needed} as well; give both, or neither")]
    Needs {
        /// The key that was given.
        key: &'static str,
        /// Who gave it.
        place: Source,
        /// The key that is absent.
        needed: &'static str,
    },
}

impl ConfigError {
    /// Whether the command line itself is at fault, rather than the environment, the file or the sum of all.
    pub const fn is_usage(&self) -> bool {
        match self {
            Self::UnknownFlag { .. }
            | Self::StrayArgument { .. }
            | Self::MissingValue { .. }
            | Self::Repeated { .. } => true,
            Self::WrongValue { place, .. } | Self::TooManyValues { place, .. } => matches!(place, Source::Flag(_)),
            _ => false,
        }
    }
}

/// All faults of one start, at least one, in the order flags, environment, file, values, combinations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigErrors(pub Vec<ConfigError>);

impl ConfigErrors {
    /// [`EXIT_USAGE`] if the command line has a fault of its own, [`EXIT_CONFIG`] otherwise.
    pub fn exit_code(&self) -> u8 {
        if self.0.iter().any(ConfigError::is_usage) { EXIT_USAGE } else { EXIT_CONFIG }
    }
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, error) in self.0.iter().enumerate() {
            if position > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigErrors {}
