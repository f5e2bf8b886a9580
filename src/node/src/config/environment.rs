//! Reads the environment twins of keys: `LEVADA_TCP_PORT`, else `WAKUNODE2_TCP_PORT`.
//!
//! An empty variable counts as not set, since Docker Compose passes those that nobody filled in. Lists are comma separated,
//! or a JSON array as nwaku writes them.

use std::collections::BTreeMap;
use std::ffi::OsString;

use super::error::ConfigError;
use levada_wire::hash::Kernel;

use super::key::Table;
use super::source::{Given, Source};
use super::suggest::{hint, nearest};

/// What the environment says; faults go to `errors`, unknown `LEVADA_` variables to `warnings`.
pub(crate) fn read(
    table: &Table,
    environment: impl IntoIterator<Item = (OsString, OsString)>,
    warnings: &mut Vec<String>,
    errors: &mut Vec<ConfigError>,
) -> Vec<Given> {
    let mut variables = relevant(environment);
    let mut given = Vec::new();
    for key in table.keys() {
        let name = key.environment_name();
        let found = PREFIXES.iter().filter_map(|prefix| variables.remove_entry(&format!("{prefix}{name}"))).next();
        let Some((variable, value)) = found else { continue };
        let Ok(text) = value.into_string() else {
            errors.push(ConfigError::NotUtf8 { place: format!("environment variable {variable}") });
            continue;
        };
        let texts = if key.repeatable { split_list(&text) } else { vec![text] };
        given.push(Given { key, texts, source: Source::Environment(variable) });
    }
    let mut names: Vec<String> = table.keys().map(|key| format!("{LEVADA}{}", key.environment_name())).collect();
    // Read by the binary itself: which kernel hashes is no setting of the node.
    names.push(Kernel::VARIABLE.to_owned());
    for variable in variables.keys().filter(|variable| variable.starts_with(LEVADA) && !names.contains(variable)) {
        // Names are compared as flags, so that the prefix they all share does not make all of them look alike.
        let suggestion = nearest(&variable[LEVADA.len()..], table.keys().map(|key| key.name))
            .map(|name| format!("{LEVADA}{}", name.replace('-', "_").to_ascii_uppercase()));
        let hint = hint(suggestion.as_deref(), "its name must be LEVADA_ and that of a flag, with _ for -");
        warnings.push(format!("environment variable {variable} is unknown and ignored{hint}"));
    }
    given
}

/// The non-empty variables with one of our prefixes.
fn relevant(environment: impl IntoIterator<Item = (OsString, OsString)>) -> BTreeMap<String, OsString> {
    let text_names = environment.into_iter().filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
    text_names
        .filter(|(name, value)| !value.is_empty() && PREFIXES.iter().any(|prefix| name.starts_with(prefix)))
        .collect()
}

fn split_list(text: &str) -> Vec<String> {
    if let Ok(serde_json::Value::Array(elements)) = serde_json::from_str(text) {
        return elements
            .iter()
            .map(|element| element.as_str().map_or_else(|| element.to_string(), str::to_owned))
            .collect();
    }
    text.split(',').map(str::trim).filter(|element| !element.is_empty()).map(str::to_owned).collect()
}

const LEVADA: &str = "LEVADA_";

/// In the order of precedence.
const PREFIXES: [&str; 2] = [LEVADA, "WAKUNODE2_"];
