//! Reads the TOML configuration file: a flat list of keys named as the flags are.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::ConfigError;
use super::key::{Key, Table};
use super::source::{Given, Source};

/// Reads the file at `path`, which `named_by` named; faults go to `errors`.
pub(crate) fn read(table: &Table, path: &Path, named_by: &Source, errors: &mut Vec<ConfigError>) -> Vec<Given> {
    match load(path) {
        Ok(text) => parse(table, path, &text, errors),
        Err(reason) => {
            errors.push(ConfigError::FileUnreadable { path: path.to_owned(), place: named_by.clone(), reason });
            Vec::new()
        }
    }
}

fn load(path: &Path) -> Result<String, String> {
    let mut text = String::new();
    let file = File::open(path).map_err(|error| error.to_string())?;
    file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text).map_err(|error| error.to_string())?;
    if text.len() as u64 > FILE_BYTES_MAX {
        return Err(format!("it is larger than {FILE_BYTES_MAX} bytes; check that it is the right file"));
    }
    Ok(text)
}

/// Reads TOML text; `path` is only named in messages.
pub(crate) fn parse(table: &Table, path: &Path, text: &str, errors: &mut Vec<ConfigError>) -> Vec<Given> {
    let document = match DeTable::parse(text) {
        Ok(document) => document,
        Err(error) => {
            let (line, column) = position(text, error.span().map_or(0, |span| span.start));
            let reason = error.message().replace('\n', ", ");
            errors.push(ConfigError::FileSyntax { path: path.to_owned(), line, column, reason });
            return Vec::new();
        }
    };
    let mut entries: Vec<_> = document.get_ref().iter().collect();
    // The table is sorted by name; faults are reported in the order of the file.
    entries.sort_by_key(|(name, _)| name.span().start);
    let mut given = Vec::new();
    for (name, value) in entries {
        let (line, _) = position(text, name.span().start);
        let name = name.get_ref().as_ref();
        let source = Source::File { path: path.to_owned(), line };
        match table.find(name) {
            Some(key) => match read_entry(key, value, source) {
                Ok(entry) => given.push(entry),
                Err(error) => errors.push(error),
            },
            None => {
                let name: String = name.chars().filter(|c| !c.is_control()).collect();
                errors.push(ConfigError::UnknownFileKey {
                    path: path.to_owned(),
                    line,
                    suggestion: table.nearest(&name),
                    name,
                });
            }
        }
    }
    given
}

fn read_entry(key: &'static Key, value: &Spanned<DeValue<'_>>, source: Source) -> Result<Given, ConfigError> {
    let wrong_type = |found: &str, source: &Source| ConfigError::WrongType {
        key: key.name.to_owned(),
        place: source.clone(),
        found: found.to_owned(),
        expected: if key.repeatable { format!("a list, each {}", key.kind.expected()) } else { key.kind.expected() },
    };
    if key.name == "config-file" {
        return Err(ConfigError::WrongType {
            key: key.name.to_owned(),
            place: source,
            found: "inside a configuration file".to_owned(),
            expected: "a flag or an environment variable, since one file cannot name another".to_owned(),
        });
    }
    let texts = match value.get_ref() {
        DeValue::Array(elements) if key.repeatable => elements
            .iter()
            .map(|element| {
                scalar(element.get_ref()).map_err(|found| wrong_type(&format!("a list of {found}"), &source))
            })
            .collect::<Result<_, _>>()?,
        other => vec![scalar(other).map_err(|found| wrong_type(found, &source))?],
    };
    Ok(Given { key, texts, source })
}

/// The text of a scalar, or what it is instead.
fn scalar(value: &DeValue<'_>) -> Result<String, &'static str> {
    match value {
        DeValue::String(text) => Ok(text.as_ref().to_owned()),
        DeValue::Boolean(flag) => Ok(flag.to_string()),
        DeValue::Integer(number) if number.radix() == 10 => Ok(number.as_str().to_owned()),
        DeValue::Integer(number) => u64::from_str_radix(number.as_str(), number.radix())
            .map(|number| number.to_string())
            .map_err(|_| "an integer out of range"),
        DeValue::Float(number) => Ok(number.as_str().to_owned()),
        DeValue::Datetime(_) => Err("a date"),
        DeValue::Array(_) => Err("a list"),
        DeValue::Table(_) => Err("a table"),
    }
}

/// Line and column of a byte offset, both counted from 1.
fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

/// A hundred times what a full configuration takes; what is larger is some other file.
const FILE_BYTES_MAX: u64 = 1 << 20;
