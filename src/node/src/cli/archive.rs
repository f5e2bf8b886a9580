//! The options of `levada archive verify`, `stats`, `compact`, `export` and `import`, read by `clap`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgMatches, Command, value_parser};
use levada_archive::DatabaseUrl;

use super::error::CliError;
use super::help::column;

/// What `levada archive` is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchiveCommand {
    /// The file of the archive's index.
    pub path: PathBuf,
    /// What to do with it.
    pub action: ArchiveAction,
}

/// What to do with an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArchiveAction {
    /// Read every record and compare it with the index; JSON if true.
    Verify(bool),
    /// Count what it holds; JSON if true.
    Stats(bool),
    /// Write it anew without waste; JSON if true.
    Compact(bool),
    /// Write every message as a line of JSON to this file, or to standard output.
    Export(Option<PathBuf>),
    /// Take over the messages of this file: an archive of nwaku, or an export. A JSON report if true.
    Import(PathBuf, bool),
}

/// Reads the arguments after `levada archive`.
///
/// # Errors
/// [`CliError::Archive`] in the words of `clap`.
pub(super) fn read(args: impl IntoIterator<Item = OsString>) -> Result<super::Command, CliError> {
    let name = OsString::from("levada archive");
    let matches = match command().try_get_matches_from([name].into_iter().chain(args)) {
        Ok(matches) => matches,
        Err(error) if !error.use_stderr() => return Ok(super::Command::Help(error.to_string())),
        Err(error) => return Err(CliError::Archive(words(&error))),
    };
    let Some((name, matches)) = matches.subcommand() else {
        return Err(CliError::Archive(format!("levada archive needs a command: {}", ACTIONS.join(", "))));
    };
    let file = |name: &str| matches.get_one::<PathBuf>(name).cloned();
    let is_json = || matches.get_one::<String>("format").is_some_and(|format| format == "json");
    let action = match name {
        "verify" => ArchiveAction::Verify(is_json()),
        "stats" => ArchiveAction::Stats(is_json()),
        "compact" => ArchiveAction::Compact(is_json()),
        "export" => ArchiveAction::Export(file("output")),
        _ => ArchiveAction::Import(file("from").unwrap_or_default(), is_json()),
    };
    Ok(super::Command::Archive(ArchiveCommand { path: path_of(matches)?, action }))
}

/// `levada archive --help`, or that of one of its commands.
pub(super) fn help(of: Option<&str>) -> String {
    let mut command = command();
    command.build();
    let found = of.and_then(|name| command.find_subcommand_mut(name)).map(|command| command.render_help());
    found.unwrap_or_else(|| command.render_help()).to_string()
}

/// The commands, in the order of the help.
pub(super) const ACTIONS: &[&str] = &["verify", "stats", "compact", "export", "import"];

/// The error without the mark that `clap` puts in front of it.
fn words(error: &clap::Error) -> String {
    let text = error.to_string();
    text.strip_prefix("error: ").unwrap_or(&text).trim_end().to_owned()
}

fn path_of(matches: &ArgMatches) -> Result<PathBuf, CliError> {
    let url = matches.get_one::<String>(URL).map(String::as_str).unwrap_or_default();
    match url.parse() {
        Ok(DatabaseUrl::Sqlite(path)) => Ok(path),
        Ok(DatabaseUrl::Postgres(url)) => Err(CliError::Archive(format!(
            "{url} is a database, which its own tools look after; name an archive on the disk, sqlite://PATH"
        ))),
        Ok(_) => Err(CliError::Archive(format!("{url} is in memory; name an archive on the disk, sqlite://PATH"))),
        Err(error) => Err(CliError::Archive(error.to_string())),
    }
}

const URL: &str = "store-message-db-url";

pub(super) fn command() -> Command {
    let action = |name: &'static str, about: &'static str| {
        Command::new(name).about(about).arg(
            Arg::new(URL)
                .long(URL)
                .value_name("URL")
                .default_value("sqlite://levada.sqlite3")
                .help(column("The archive, sqlite://PATH.")),
        )
    };
    Command::new("levada archive")
        .bin_name("levada archive")
        .about("Looks after an archive on the disk. All but stats need it for themselves: stop the node first.")
        .subcommand_required(true)
        .disable_help_subcommand(true)
        .subcommand(
            action("verify", "Reads every message and compares it with the index; exits with 1 if one is damaged.")
                .arg(format()),
        )
        .subcommand(action("stats", "Counts what the archive holds, also while a node has it open.").arg(format()))
        .subcommand(
            action("compact", "Writes the archive anew without waste; the disk holds both meanwhile.").arg(format()),
        )
        .subcommand(
            action("export", "Writes every message as a line of JSON.").arg(
                Arg::new("output")
                    .long("output")
                    .value_name("PATH")
                    .value_parser(value_parser!(PathBuf))
                    .help(column("The file to write; standard output unless given.")),
            ),
        )
        .subcommand(
            action(
                "import",
                "Takes over the messages of nwaku's SQLite file, or of an export; goes on where it was interrupted.",
            )
            .arg(
                Arg::new("from")
                    .long("from")
                    .value_name("PATH")
                    .required(true)
                    .value_parser(value_parser!(PathBuf))
                    .help(column("The file to read. It is not changed, and its own node must be stopped.")),
            )
            .arg(format()),
        )
        .after_help(
            "Moving from nwaku:\n  \
             levada archive import --from=store.sqlite3 --store-message-db-url=sqlite://levada.sqlite3",
        )
}

fn format() -> Arg {
    Arg::new("format")
        .long("format")
        .value_name("WORD")
        .default_value("text")
        .value_parser(PossibleValuesParser::new(["text", "json"]))
        .help(column("The shape of the report on standard output. Progress goes to standard error."))
}

#[cfg(test)]
mod tests {
    use super::super::Command;
    use super::{ACTIONS, ArchiveAction, ArchiveCommand, CliError, help, read};

    fn command(line: &str) -> Result<ArchiveCommand, String> {
        match read(line.split_whitespace().map(Into::into)) {
            Ok(Command::Archive(command)) => Ok(command),
            Ok(other) => Err(format!("{other:?}")),
            Err(CliError::Archive(words)) => Err(words),
            Err(error) => panic!("{error:?}"),
        }
    }

    #[test]
    fn every_command_is_read_with_its_defaults() {
        let path = "levada.sqlite3".into();
        let of = |action| Ok(ArchiveCommand { path: std::path::PathBuf::clone(&path), action });
        assert_eq!(command("verify"), of(ArchiveAction::Verify(false)));
        assert_eq!(command("stats --format=json"), of(ArchiveAction::Stats(true)));
        assert_eq!(command("compact --format text"), of(ArchiveAction::Compact(false)));
        assert_eq!(command("export"), of(ArchiveAction::Export(None)));
        assert_eq!(command("export --output=a.jsonl"), of(ArchiveAction::Export(Some("a.jsonl".into()))));
        assert_eq!(command("import --from=store.sqlite3"), of(ArchiveAction::Import("store.sqlite3".into(), false)));
        let elsewhere = command("verify --store-message-db-url=sqlite:///a/b").map(|command| command.path);
        assert_eq!(elsewhere, Ok("/a/b".into()));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (line, expected) in [
            ("", "stats"),
            ("verfiy", "verify"),
            ("import", "--from"),
            ("stats --format=csv", "json"),
            ("verify --store-message-db-url=memory", "in memory"),
            ("verify --store-message-db-url=postgres://me:hush@db/waku", "postgres://me@db:5432/waku is a database"),
            ("verify --store-message-db-url=levada.sqlite3", "sqlite://"),
            ("export more", "more"),
        ] {
            let words = command(line).expect_err(line);
            assert!(words.contains(expected), "{line}: {words}");
        }
    }

    #[test]
    fn help_names_every_command() {
        let all = help(None);
        for action in ACTIONS {
            assert!(all.contains(action) && help(Some(action)).contains("--store-message-db-url"), "{action}");
        }
    }
}
