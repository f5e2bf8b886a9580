//! `levada archive`: looking after an archive that no node has open.

mod lines;
mod report;

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use levada_archive::upkeep::{self, Progress};
use levada_archive::{ArchiveError, ArchiveMessage, SegmentOptions};
use levada_wire::hash::message_hash;

use crate::cli::{ArchiveAction, ArchiveCommand};

/// Done, and everything is well.
const EXIT_WELL: u8 = 0;
/// It could not be done, or damage was found.
const EXIT_FAILED: u8 = 1;
/// Time between two lines about the progress.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(2);
/// How SQLite's files begin.
const SQLITE_MAGIC: &[u8] = b"SQLite format 3\0";

/// Runs a command; returns the exit code.
pub fn run(command: &ArchiveCommand) -> u8 {
    match act(command) {
        Ok(code) => code,
        Err(error) => {
            let _ = writeln!(io::stderr(), "levada: {error}");
            EXIT_FAILED
        }
    }
}

/// Why a command was not carried out.
#[derive(Debug, thiserror::Error)]
enum Fault {
    #[error("{0}")]
    Archive(#[from] ArchiveError),
    #[error("{path}: {source}")]
    File { path: String, source: io::Error },
    #[error("line {line} of {path} is no message of an export ({reason})")]
    Line { path: String, line: u64, reason: String },
}

impl Fault {
    fn of(path: &Path) -> impl Fn(io::Error) -> Self + '_ {
        |source| Self::File { path: path.display().to_string(), source }
    }
}

fn act(command: &ArchiveCommand) -> Result<u8, Fault> {
    let path = &command.path;
    let options = SegmentOptions::default();
    match &command.action {
        ArchiveAction::Verify(json) => {
            let found = upkeep::verify(path, &mut Teller::new("verified").tell())?;
            print(&if *json { report::verify_json(&found) } else { report::verify_text(&found) });
            return Ok(if found.is_whole() { EXIT_WELL } else { EXIT_FAILED });
        }
        ArchiveAction::Stats(json) => {
            let found = upkeep::stats(path)?;
            print(&if *json { report::stats_json(&found) } else { report::stats_text(&found) });
        }
        ArchiveAction::Compact(json) => {
            let done = upkeep::compact(path, &options, &mut Teller::new("copied").tell())?;
            print(&if *json { report::compact_json(&done) } else { report::compact_text(&done) });
        }
        ArchiveAction::Export(output) => return export(path, output.as_deref()),
        ArchiveAction::Import(from, json) => {
            let mut teller = Teller::new("imported");
            let done = if is_sqlite(from).map_err(Fault::of(from))? {
                upkeep::import_nwaku(from, path, &options, &is_genuine, &mut teller.tell())?
            } else {
                lines::import(from, path, &options, &mut teller.tell())?
            };
            print(&if *json { report::import_json(&done) } else { report::import_text(&done) });
        }
    }
    Ok(EXIT_WELL)
}

/// Whether the hash of a message is its own (14/WAKU2-MESSAGE).
fn is_genuine(message: &ArchiveMessage<'_>) -> bool {
    let ArchiveMessage { pubsub_topic, content_topic, payload, meta, timestamp, .. } = *message;
    message_hash(pubsub_topic, payload, content_topic, meta, timestamp) == message.hash
}

fn is_sqlite(path: &Path) -> io::Result<bool> {
    let mut start = Vec::new();
    File::open(path)?.take(SQLITE_MAGIC.len() as u64).read_to_end(&mut start)?;
    Ok(start == SQLITE_MAGIC)
}

fn export(path: &Path, output: Option<&Path>) -> Result<u8, Fault> {
    let output: Box<dyn Write> = match output {
        Some(output) => Box::new(File::create(output).map_err(Fault::of(output))?),
        None => Box::new(io::stdout().lock()),
    };
    let mut output = BufWriter::new(output);
    let mut take = |message| lines::write(&mut output, &message);
    let (messages, damaged) = upkeep::export(path, &mut take, &mut Teller::new("exported").tell())?;
    output.flush().map_err(Fault::of(path))?;
    let _ = writeln!(io::stderr(), "levada: {messages} messages, and {damaged} damaged ones left out");
    Ok(if damaged == 0 { EXIT_WELL } else { EXIT_FAILED })
}

/// Prints to standard output; a reader that went away is no failure.
fn print(text: &str) {
    let _ = io::stdout().write_all(text.as_bytes());
}

/// Says on standard error how far a task is, every two seconds.
struct Teller {
    verb: &'static str,
    told: Instant,
}

impl Teller {
    fn new(verb: &'static str) -> Self {
        Self { verb, told: Instant::now() }
    }

    fn tell(&mut self) -> impl FnMut(Progress) + '_ {
        |Progress { done, total }| {
            if self.told.elapsed() >= PROGRESS_INTERVAL {
                self.told = Instant::now();
                let percent = done * 100 / total.max(1);
                let _ = writeln!(io::stderr(), "levada: {} {done} of {total}, {percent} %", self.verb);
            }
        }
    }
}
