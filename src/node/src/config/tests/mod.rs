//! Whole configurations, from arguments, environment and file to typed values.

mod combinations;
mod every_key;
mod faults;
mod forms;
mod rendering;
mod sources;
mod table;

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;

use super::*;

/// What a start with these flags and variables leads to.
fn load(flags: &[&str], environment: &[(&str, &str)]) -> Result<Loaded, ConfigErrors> {
    let environment = environment.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
    Config::load(flags.iter().map(OsString::from), environment)
}

/// The configuration of a start that must succeed.
fn config(flags: &[&str]) -> Config {
    load(flags, &[]).unwrap().config
}

/// The faults of a start that must fail, as the operator reads them.
fn faults(flags: &[&str], environment: &[(&str, &str)]) -> Vec<String> {
    load(flags, environment).unwrap_err().0.iter().map(ToString::to_string).collect()
}

/// A configuration file that lives as long as the first value, and the flag that names it.
fn file(text: &str) -> (tempfile::NamedTempFile, String) {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    let flag = format!("--config-file={}", file.path().display());
    (file, flag)
}

/// What a start with this file alone leads to.
fn load_file(text: &str) -> (PathBuf, Result<Loaded, ConfigErrors>) {
    let (file, flag) = file(text);
    (file.path().to_owned(), load(&[&flag], &[]))
}

/// A private key whose digits must appear nowhere.
fn secret() -> String {
    "5ec2e7".repeat(10) + "5ec2"
}
