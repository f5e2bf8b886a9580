//! Reads the command line by the table of keys: `--name=value`, `--name value`, and `--name` alone for a bool.
//!
//! Help is rendered by `clap`; reading is done here, since every fault must be reported at once and every value must
//! remember that a flag gave it.

use std::ffi::OsString;

use super::error::ConfigError;
use super::key::{Key, Table, quoted};
use super::kind::Kind;
use super::source::{Given, Source};

/// What the arguments say, a repeated key merged in order; faults go to `errors`.
pub(crate) fn read(
    table: &Table,
    args: impl IntoIterator<Item = OsString>,
    errors: &mut Vec<ConfigError>,
) -> Vec<Given> {
    let mut args = args.into_iter().peekable();
    let mut given = Vec::new();
    let mut bare_bool = None;
    while let Some(arg) = args.next() {
        let previous_bool = bare_bool.take();
        let Some(text) = arg.to_str() else {
            errors.push(ConfigError::NotUtf8 { place: place_of(&arg.to_string_lossy()) });
            continue;
        };
        let Some(body) = text.strip_prefix("--").filter(|body| !body.is_empty()) else {
            errors.push(stray(text, previous_bool));
            continue;
        };
        let (name, inline) = match body.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (body, None),
        };
        let Some(key) = table.find(name) else {
            let suggestion = table.nearest(name);
            errors.push(ConfigError::UnknownFlag { name: shortened(name), suggestion });
            // What follows an unknown flag is most likely its value, and deserves no second complaint.
            if inline.is_none() {
                args.next_if(|next| !is_flag(next));
            }
            continue;
        };
        let value = match inline {
            Some(value) => value,
            None if key.kind == Kind::Bool => {
                bare_bool = Some(key);
                "true".to_owned()
            }
            None => match args.next_if(|next| !is_flag(next)).map(OsString::into_string) {
                Some(Ok(value)) => value,
                Some(Err(_)) => {
                    errors.push(ConfigError::NotUtf8 { place: format!("the value of --{name}") });
                    continue;
                }
                None => {
                    errors.push(ConfigError::MissingValue { name: key.name, expected: key.kind.expected() });
                    continue;
                }
            },
        };
        add(&mut given, key, value, errors);
    }
    given
}

fn add(given: &mut Vec<Given>, key: &'static Key, value: String, errors: &mut Vec<ConfigError>) {
    match given.iter_mut().find(|earlier| earlier.key.name == key.name) {
        Some(earlier) if key.repeatable => earlier.texts.push(value),
        Some(_) => {
            let error = ConfigError::Repeated { name: key.name };
            if !errors.contains(&error) {
                errors.push(error);
            }
        }
        None => given.push(Given { key, texts: vec![value], source: Source::Flag(key.name) }),
    }
}

fn is_flag(arg: &OsString) -> bool {
    arg.as_encoded_bytes().starts_with(b"--")
}

fn stray(text: &str, previous_bool: Option<&'static Key>) -> ConfigError {
    let advice = match previous_bool {
        Some(key) if Kind::Bool.parse(text).is_some() => format!("write --{}={text}", key.name),
        _ => "flags are written --name=value".to_owned(),
    };
    ConfigError::StrayArgument { argument: quoted(text, STRAY_CHARS_MAX), advice }
}

/// Names an argument without its value, which may be a secret.
fn place_of(text: &str) -> String {
    match text.split_once('=') {
        Some((flag, _)) => format!("the value of {}", shortened(flag)),
        None => format!("the argument {}", quoted(text, STRAY_CHARS_MAX)),
    }
}

fn shortened(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(STRAY_CHARS_MAX).collect()
}

/// A stray argument may be a misplaced secret, so less of it is shown than would give a key away.
const STRAY_CHARS_MAX: usize = 24;
