//! The project's style rules as a program: reads every source file git knows of and reports each breach as `path:line: rule: message`.

mod error;
mod file;
mod finding;
mod rules;
mod scan;
mod tree;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use error::TidyError;
use finding::Finding;

const HELP: &str = "\
levada-tidy: checks the style rules of this project

usage: levada-tidy [--root DIR] [--help]

  --root DIR   a folder inside the work tree to check (default: the current folder)
  --help       this text

Checked are the files that git tracks, and new ones that it does not ignore.
Each breach is one line on stdout: path:line: rule: message

rules:
";

/// What the command line asked for.
enum Command {
    Check(PathBuf),
    Help,
}

fn main() -> ExitCode {
    match run(std::env::args().skip(1), &mut io::stdout().lock()) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            // Nothing is left to do when stderr itself is closed.
            let _ = writeln!(io::stderr(), "levada-tidy: {error}");
            ExitCode::from(2)
        }
    }
}

/// Runs the command and returns the number of findings it printed.
fn run(arguments: impl Iterator<Item = String>, out: &mut impl Write) -> Result<usize, TidyError> {
    let root = match parse(arguments)? {
        Command::Help => {
            write_help(out).map_err(TidyError::Output)?;
            return Ok(0);
        }
        Command::Check(root) => root,
    };
    let (files, mut findings) = tree::read(&root)?;
    for file in &files {
        rules::check(file, &mut findings);
    }
    findings.sort();
    write_report(out, files.len(), &findings).map_err(TidyError::Output)?;
    Ok(findings.len())
}

fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Command, TidyError> {
    let mut root = PathBuf::from(".");
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--help" | "-h" => return Ok(Command::Help),
            "--root" => root = arguments.next().ok_or(TidyError::MissingValue)?.into(),
            _ => return Err(TidyError::UnknownArgument(argument)),
        }
    }
    Ok(Command::Check(root))
}

fn write_help(out: &mut impl Write) -> io::Result<()> {
    write!(out, "{HELP}")?;
    for rule in rules::ALL {
        writeln!(out, "  {:<18} {}", rule.name, rule.about)?;
    }
    Ok(())
}

fn write_report(out: &mut impl Write, files: usize, findings: &[Finding]) -> io::Result<()> {
    for finding in findings {
        writeln!(out, "{finding}")?;
    }
    writeln!(out, "tidy: {files} files, {} findings", findings.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(list: &[&str]) -> impl Iterator<Item = String> {
        list.iter().map(ToString::to_string).collect::<Vec<_>>().into_iter()
    }

    #[test]
    fn help_lists_every_rule() {
        let mut out = Vec::new();
        assert_eq!(run(arguments(&["--help"]), &mut out).unwrap(), 0);
        let text = String::from_utf8(out).unwrap();
        for rule in rules::ALL {
            assert!(text.contains(rule.name), "{} is missing", rule.name);
        }
    }

    #[test]
    fn wrong_arguments_are_named() {
        let error = run(arguments(&["--rot"]), &mut Vec::new()).unwrap_err();
        assert!(error.to_string().contains("--rot"));
        assert!(matches!(run(arguments(&["--root"]), &mut Vec::new()), Err(TidyError::MissingValue)));
    }

    #[test]
    fn a_folder_outside_any_work_tree_is_an_error() {
        let error = run(arguments(&["--root", "/nonexistent-folder"]), &mut Vec::new()).unwrap_err();
        assert!(matches!(error, TidyError::Git { .. }), "{error}");
    }

    #[test]
    fn the_report_has_one_line_per_finding_and_a_summary() {
        let mut out = Vec::new();
        write_report(&mut out, 2, &[Finding::new("a.rs", 3, "tabs", "a tab")]).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "a.rs:3: tabs: a tab\ntidy: 2 files, 1 findings\n");
    }
}
