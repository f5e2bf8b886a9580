//! What the command lines of all benchmarks have in common.

use std::ffi::OsString;

use super::error::CliError;
use crate::config::{ConfigErrors, Group, Key, Kind, Settings, Table, choice, flags};

choice! {
    /// How the results are printed.
    BenchFormat {
        /// Columns for a reader.
        Table = "table",
        /// One line per configuration, after a line of column names.
        Csv = "csv",
        /// One array of objects with the column names as keys.
        Json = "json",
    }
}

impl BenchFormat {
    /// The one asked for by [`FORMAT`].
    pub(super) fn of(settings: &Settings) -> Self {
        Self::named(settings.text(FORMAT.name)).expect("the table allows only these words")
    }
}

/// Reads arguments by `table`.
///
/// # Errors
/// [`CliError::Options`] with every fault at once.
pub(super) fn read(table: &'static Table, args: impl IntoIterator<Item = OsString>) -> Result<Settings, CliError> {
    let mut errors = Vec::new();
    let given = flags::read(table, args, &mut errors);
    let settings = Settings::resolve(table, &[given], &mut errors);
    if errors.is_empty() { Ok(settings) } else { Err(CliError::Options(ConfigErrors(errors))) }
}

/// The seed of the workload.
pub(super) const SEED: Key = Key::new(
    "seed",
    Kind::Number { min: 0, max: u64::MAX },
    "42",
    Group::Workload,
    "The seed of the message generator; one seed gives the same messages in the same order on every machine.",
);

/// How often something is measured.
pub(super) const fn runs(default: &'static str, help: &'static str) -> Key {
    Key::new("runs", Kind::Number { min: 1, max: 1_000 }, default, Group::Workload, help)
}

/// The shape of the results.
pub(super) const FORMAT: Key = Key::new(
    "format",
    Kind::Choice(BenchFormat::NAMES),
    "table",
    Group::Report,
    "The shape of the results on standard output: table, csv or json. Progress goes to standard error.",
);
