//! `levada generate`: what is made from the command line's own tables, so that it cannot fall behind them.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use clap::{Arg, Command, value_parser};
use clap_complete::Shell;

use super::error::CliError;
use super::help;

/// What to generate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Generate {
    /// Completions for a shell.
    Completions(Shell),
    /// Manual pages, as files in this folder.
    Man(PathBuf),
    /// The Grafana dashboard.
    Dashboard,
}

impl Generate {
    /// What to print.
    ///
    /// # Errors
    /// When a manual page cannot be written.
    pub fn text(&self) -> io::Result<String> {
        match self {
            Self::Completions(shell) => {
                let mut out = Vec::new();
                clap_complete::generate(*shell, &mut help::tree(), "levada", &mut out);
                String::from_utf8(out).map_err(io::Error::other)
            }
            Self::Man(folder) => manual_pages(folder),
            Self::Dashboard => Ok(serde_json::to_string_pretty(&crate::metrics::dashboard())?),
        }
    }
}

fn manual_pages(folder: &Path) -> io::Result<String> {
    let written = std::fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(help::tree(), folder));
    written.map_err(|error| {
        io::Error::other(format!("the manual pages cannot be written to {}: {error}", folder.display()))
    })?;
    Ok(format!("manual pages in {}; read one by man -l {0}/levada.1", folder.display()))
}

/// Reads the arguments after `levada generate`.
pub(super) fn read(args: impl IntoIterator<Item = OsString>) -> Result<super::Command, CliError> {
    let name = OsString::from("levada generate");
    let matches = match command().try_get_matches_from([name].into_iter().chain(args)) {
        Ok(matches) => matches,
        Err(error) if !error.use_stderr() => return Ok(super::Command::Help(error.to_string())),
        Err(error) => return Err(CliError::Generate(error.to_string().trim_end().replacen("error: ", "", 1))),
    };
    let what = match matches.subcommand() {
        Some(("completions", matches)) => Generate::Completions(*matches.get_one("shell").expect("clap demands it")),
        Some(("man", matches)) => Generate::Man(matches.get_one::<PathBuf>("folder").expect("clap demands it").clone()),
        _ => Generate::Dashboard,
    };
    Ok(super::Command::Generate(what))
}

/// `levada generate --help`.
pub(super) fn help() -> String {
    command().render_help().to_string()
}

pub(super) fn command() -> Command {
    let shell = Arg::new("shell").required(true).value_name("SHELL").value_parser(value_parser!(Shell));
    let folder = Arg::new("folder").required(true).value_name("DIR").value_parser(value_parser!(PathBuf));
    Command::new("levada generate")
        .bin_name("levada generate")
        .about("Prints what is made from the program's own tables.")
        .subcommand_required(true)
        .disable_help_subcommand(true)
        .subcommand(Command::new("completions").about("Prints completions for a shell.").arg(shell))
        .subcommand(Command::new("man").about("Writes the manual pages into a folder.").arg(folder))
        .subcommand(Command::new("dashboard").about("Prints a Grafana dashboard over the node's metrics, as JSON."))
        .after_help(
            "Examples:\n  \
             levada generate completions bash > /etc/bash_completion.d/levada\n  \
             levada generate man /usr/local/share/man/man1\n  \
             levada generate dashboard > levada.json",
        )
}
