//! The `levada` binary: reads the command line, runs what it asks for, and says how it went by its exit code.

#![forbid(unsafe_code)]

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use levada::bench_macro::{self, Router};
use levada::cli::{self, Command};
use levada::config::{Config, EXIT_USAGE, Loaded, render_default};
use levada::{archive, bench, chunk, client, run};
use levada_engine::heap::CountingAllocator;
use levada_wire::error::KernelError;
use levada_wire::hash::{self, Kernel};
use mimalloc::MiMalloc;

#[global_allocator]
static HEAP: CountingAllocator<MiMalloc> = CountingAllocator(MiMalloc);

fn main() -> ExitCode {
    if let Err(error) = force_kernel() {
        return fail(&format!("environment variable {}: {error}", Kernel::VARIABLE), EXIT_USAGE);
    }
    match cli::parse(std::env::args_os().skip(1)) {
        Ok(Command::Run(args)) => with_config(args, |loaded| ExitCode::from(run::run(&loaded))),
        Ok(Command::PrintConfig(args)) => with_config(args, |loaded| print(&loaded.render())),
        Ok(Command::PrintDefaultConfig) => print(&render_default()),
        Ok(Command::Help(text)) => print(&text),
        Ok(Command::Version) => print(cli::VERSION),
        Ok(Command::BenchMicro(options)) => match bench::micro(&options) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => fail(&error.to_string(), 1),
        },
        Ok(Command::BenchHash(options)) => match bench::hash(&options) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => fail(&error.to_string(), 1),
        },
        Ok(Command::BenchChunk(options)) => match bench::chunk(&options) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => fail(&error.to_string(), 1),
        },
        Ok(Command::BenchMacro(options)) => match bench::across(&options) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => fail(&error.to_string(), 1),
        },
        Ok(Command::BenchMacroNode) => match bench_macro::serve_process(&[Router::OWN]) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => fail(&error.to_string(), 1),
        },
        Ok(Command::Client(command)) => ExitCode::from(client::run(&command)),
        Ok(Command::Archive(command)) => ExitCode::from(archive::run(&command)),
        Ok(Command::Generate(what)) => match what.text() {
            Ok(text) => print(&text),
            Err(error) => fail(&error.to_string(), 1),
        },
        Ok(Command::Chunk(command)) => ExitCode::from(chunk::run(&command)),
        Err(error) => fail(&error.to_string(), error.exit_code()),
    }
}

/// Uses the hash kernel that the environment names, if it names one.
fn force_kernel() -> Result<(), KernelError> {
    match std::env::var_os(Kernel::VARIABLE) {
        // A name that is no Unicode text is none of a kernel either.
        Some(name) if !name.is_empty() => hash::force_kernel(Kernel::from_name(&name.to_string_lossy())?),
        _ => Ok(()),
    }
}

fn with_config(args: Vec<OsString>, then: impl FnOnce(Loaded) -> ExitCode) -> ExitCode {
    match Config::load(args, std::env::vars_os()) {
        Ok(loaded) => then(loaded),
        Err(errors) => fail(&errors.to_string(), errors.exit_code()),
    }
}

/// Prints to standard output; a reader that went away is no failure.
fn print(text: &str) -> ExitCode {
    let line_break = if text.ends_with('\n') { "" } else { "\n" };
    let _ = write!(std::io::stdout(), "{text}{line_break}");
    ExitCode::SUCCESS
}

fn fail(text: &str, code: u8) -> ExitCode {
    let _ = text.lines().try_for_each(|line| writeln!(std::io::stderr(), "levada: {line}"));
    ExitCode::from(code)
}
