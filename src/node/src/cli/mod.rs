//! The command line of the `levada` binary: which command it asks for, and with what. Nothing is printed or started here.

mod archive;
mod bench;
mod bench_chunk;
mod bench_hash;
mod bench_keys;
mod bench_macro;
mod chunk;
mod client;
mod error;
mod generate;
mod help;
pub mod line_limit;
pub mod logging;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::fmt;

pub use archive::{ArchiveAction, ArchiveCommand};
pub use bench::{BenchArchive, BenchHash, BenchOptions, BenchPlacement};
pub use bench_chunk::{BenchForm, BenchSink, ChunkBenchOptions};
pub use bench_hash::HashBenchOptions;
pub use bench_keys::BenchFormat;
pub use bench_macro::MacroBenchOptions;
pub use chunk::{ChunkCommand, ChunkGet, ChunkPut, ChunkServe, Transfer};
pub use client::{ClientCommand, Keys, Peers, Publish, Query, Subscribe, Target};
pub use error::CliError;
pub use generate::Generate;

use crate::bench_macro::NODE_COMMAND;
use crate::config::{nearest, quoted};

/// What the operator asks for. Its `Debug` form leaves out the arguments, which may hold a secret.
#[derive(Clone, PartialEq)]
pub enum Command {
    /// Run the node with these flags, which [`crate::config::Config::load`] reads.
    Run(Vec<OsString>),
    /// Print the configuration that these flags lead to, and exit.
    PrintConfig(Vec<OsString>),
    /// Print the documented default configuration, and exit.
    PrintDefaultConfig,
    /// Run the reference workload in process.
    BenchMicro(BenchOptions),
    /// Measure the hash stage by how many messages wait.
    BenchHash(HashBenchOptions),
    /// Measure sending chunks to several recipients.
    BenchChunk(ChunkBenchOptions),
    /// Run the reference workload from node to node.
    BenchMacro(MacroBenchOptions),
    /// Be one node of that benchmark, for the process that runs it.
    BenchMacroNode,
    /// Store chunks of files, put files or get them back.
    Chunk(ChunkCommand),
    /// Ask a node, as its clients do.
    Client(ClientCommand),
    /// Look after an archive.
    Archive(ArchiveCommand),
    /// Print or write what is made from the command line and the metrics.
    Generate(Generate),
    /// Print this text on standard output, and exit with success.
    Help(String),
    /// Print [`VERSION`] on standard output, and exit with success.
    Version,
}

impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run(args) => write!(f, "Run({} arguments)", args.len()),
            Self::PrintConfig(args) => write!(f, "PrintConfig({} arguments)", args.len()),
            Self::PrintDefaultConfig => f.write_str("PrintDefaultConfig"),
            Self::BenchMicro(options) => f.debug_tuple("BenchMicro").field(options).finish(),
            Self::BenchHash(options) => f.debug_tuple("BenchHash").field(options).finish(),
            Self::BenchChunk(options) => f.debug_tuple("BenchChunk").field(options).finish(),
            Self::BenchMacro(options) => f.debug_tuple("BenchMacro").field(options).finish(),
            Self::BenchMacroNode => f.write_str("BenchMacroNode"),
            Self::Chunk(command) => f.debug_tuple("Chunk").field(command).finish(),
            Self::Client(command) => f.debug_tuple("Client").field(command).finish(),
            Self::Archive(command) => f.debug_tuple("Archive").field(command).finish(),
            Self::Generate(what) => f.debug_tuple("Generate").field(what).finish(),
            Self::Help(text) => f.debug_tuple("Help").field(text).finish(),
            Self::Version => f.write_str("Version"),
        }
    }
}

/// The line that `levada --version` prints.
pub const VERSION: &str = concat!("levada ", env!("CARGO_PKG_VERSION"));

/// Reads the arguments after the program's name. No argument, or flags alone, mean `run`.
///
/// # Errors
/// [`CliError`] for an unknown subcommand, and for every fault in the options of `bench` at once. The flags of `run` are
/// not checked here.
pub fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Command, CliError> {
    let mut args: Vec<OsString> = args.into_iter().collect();
    let is_subcommand = args.first().is_some_and(|first| !first.as_encoded_bytes().starts_with(b"-"));
    if !is_subcommand {
        return Ok(top_level(args));
    }
    let name = args.remove(0);
    match name.to_str() {
        Some("run") => Ok(run(args)),
        Some("check") => Ok(check(args)),
        Some("bench") => bench(args),
        Some("chunk") => chunk::read(args),
        Some("archive") => archive::read(args),
        Some(name) if client::CLIENTS.contains(&name) => client::read(name, args),
        Some("generate") => generate::read(args),
        Some("help") => help_on(&args),
        Some("version") if args.is_empty() => Ok(Command::Version),
        Some("version") => Err(CliError::UnexpectedArgument { after: "version", argument: shown(&args[0]) }),
        _ => Err(unknown_command("levada", &name, TOP_LEVEL)),
    }
}

/// A call without a subcommand: help is the overview, everything else means `run`.
fn top_level(args: Vec<OsString>) -> Command {
    match args.first().and_then(|first| first.to_str()) {
        Some("--help" | "-h") => Command::Help(help::overview()),
        Some("--version" | "-V") => Command::Version,
        _ => run(args),
    }
}

fn run(mut args: Vec<OsString>) -> Command {
    // A value never begins with two dashes unless an equals sign joins it to its flag, so these are never values.
    let asks_for = |args: &[OsString], words: &[&str]| args.iter().any(|arg| words.iter().any(|word| arg == word));
    if asks_for(&args, &["--help", "-h"]) {
        return Command::Help(help::run());
    }
    if asks_for(&args, &["--version", "-V"]) {
        return Command::Version;
    }
    if asks_for(&args, &["--print-default-config"]) {
        return Command::PrintDefaultConfig;
    }
    if asks_for(&args, &["--print-config"]) {
        args.retain(|arg| arg != "--print-config");
        return Command::PrintConfig(args);
    }
    Command::Run(args)
}

/// What `run --print-config` does, under the name by which one looks for it.
fn check(args: Vec<OsString>) -> Command {
    if args.iter().any(|arg| arg == "--help" || arg == "-h") {
        return Command::Help(help::check());
    }
    Command::PrintConfig(args)
}

fn bench(mut args: Vec<OsString>) -> Result<Command, CliError> {
    if args.is_empty() {
        return Err(CliError::MissingBench);
    }
    let name = args.remove(0);
    let is_help = |arg: &OsString| arg == "--help" || arg == "-h";
    let wants_help = args.iter().any(is_help);
    match name.to_str() {
        Some("micro") if wants_help => Ok(Command::Help(help::bench_micro())),
        Some("macro") if wants_help => Ok(Command::Help(help::bench_macro())),
        Some("hash") if wants_help => Ok(Command::Help(help::bench_hash())),
        Some("chunk") if wants_help => Ok(Command::Help(help::bench_chunk())),
        Some("chunk") => ChunkBenchOptions::read(args).map(Command::BenchChunk),
        Some("micro") => BenchOptions::read(args).map(Command::BenchMicro),
        Some("macro") => MacroBenchOptions::read(args).map(Command::BenchMacro),
        Some("hash") => HashBenchOptions::read(args).map(Command::BenchHash),
        Some(name) if name == NODE_COMMAND[1] && args.is_empty() => Ok(Command::BenchMacroNode),
        _ if is_help(&name) => Ok(Command::Help(help::bench())),
        _ => Err(unknown_command("levada bench", &name, BENCHES)),
    }
}

fn help_on(args: &[OsString]) -> Result<Command, CliError> {
    let words: Vec<_> = args.iter().map(|arg| arg.to_string_lossy()).collect();
    let words: Vec<&str> = words.iter().map(|word| word.as_ref()).collect();
    match words.as_slice() {
        [] | ["help" | "version"] => Ok(Command::Help(help::overview())),
        ["run"] => Ok(Command::Help(help::run())),
        ["check"] => Ok(Command::Help(help::check())),
        ["generate", ..] => Ok(Command::Help(generate::help())),
        ["bench"] => Ok(Command::Help(help::bench())),
        ["bench", "macro"] => Ok(Command::Help(help::bench_macro())),
        ["bench", "micro"] => Ok(Command::Help(help::bench_micro())),
        ["bench", "hash"] => Ok(Command::Help(help::bench_hash())),
        ["bench", "chunk"] => Ok(Command::Help(help::bench_chunk())),
        ["chunk"] => Ok(Command::Help(chunk::help(None))),
        [name] if client::CLIENTS.contains(name) => Ok(Command::Help(client::help(name))),
        ["archive"] => Ok(Command::Help(archive::help(None))),
        ["archive", name] if archive::ACTIONS.contains(name) => Ok(Command::Help(archive::help(Some(name)))),
        ["archive", ..] => Err(unknown_command("levada archive", &args[1], archive::ACTIONS)),
        ["chunk", name @ ("serve" | "put" | "get")] => Ok(Command::Help(chunk::help(Some(name)))),
        ["run" | "check" | "help" | "version", ..] => {
            Err(CliError::UnexpectedArgument { after: "help", argument: shown(&args[1]) })
        }
        ["bench", ..] => Err(unknown_command("levada bench", &args[1], BENCHES)),
        ["chunk", ..] => Err(unknown_command("levada chunk", &args[1], CHUNKS)),
        _ => Err(unknown_command("levada", &args[0], TOP_LEVEL)),
    }
}

fn unknown_command(parent: &'static str, name: &OsString, known: &[&'static str]) -> CliError {
    let text = name.to_string_lossy();
    let suggestion =
        nearest(&text, known.iter().copied()).and_then(|near| known.iter().find(|name| **name == near).copied());
    CliError::UnknownCommand { parent, name: shown(name), suggestion }
}

fn shown(arg: &OsString) -> String {
    quoted(&arg.to_string_lossy(), SHOWN_CHARS_MAX)
}

const TOP_LEVEL: &[&str] = &[
    "run",
    "check",
    "keys",
    "peers",
    "query",
    "publish",
    "subscribe",
    "archive",
    "bench",
    "chunk",
    "generate",
    "help",
    "version",
];

const CHUNKS: &[&str] = &["serve", "put", "get"];

const BENCHES: &[&str] = &["micro", "macro", "hash", "chunk"];

/// A stray argument may be a misplaced secret, so less of it is shown than would give a key away.
const SHOWN_CHARS_MAX: usize = 24;
