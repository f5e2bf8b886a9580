//! From the start of the process to its line that says it is ready, over a large archive.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Instant;

use levada::bench_service::store::fill;
use levada::bench_surface::QUIET;
use levada::config::Config;

use crate::row::{Row, absolute};

/// What this program is called with to be that node.
pub const NODE_COMMAND: &str = "surface-node";

const STORED: [u64; 2] = [1_000_000, 10_000];
const READY_MS_MAX: f64 = 1_000.0;

/// `levada run` with the flags that follow.
pub fn node(flags: impl Iterator<Item = OsString>) -> ExitCode {
    match Config::load(flags, []) {
        Ok(loaded) => ExitCode::from(levada::run::run(&loaded)),
        Err(errors) => {
            eprintln!("{errors}");
            ExitCode::FAILURE
        }
    }
}

/// The archive is in the page cache, as after a restart of the node alone.
pub fn row(measure: &'static str, quick: bool) -> Row {
    let folder = tempfile::tempdir().expect("a folder for the archive");
    let path = folder.path().join("store.sqlite3");
    fill(&path, STORED[usize::from(quick)]);
    absolute(measure, "ms", READY_MS_MAX, if quick { 1 } else { 7 }, || ready_ms(&path))
}

fn ready_ms(archive: &Path) -> f64 {
    let began = Instant::now();
    let mut command = Command::new(std::env::current_exe().expect("this program has a file"));
    command.arg(NODE_COMMAND).args(QUIET).arg(format!("--store-message-db-url=sqlite://{}", archive.display()));
    command.arg("--store-message-retention-policy=none");
    let mut child = command.stdout(Stdio::piped()).spawn().expect("this program can be started again");
    let lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    let ready = lines.map_while(Result::ok).any(|line| line.starts_with("ready"));
    let elapsed = began.elapsed();
    stop(&mut child);
    assert!(ready, "the node did not become ready");
    elapsed.as_secs_f64() * 1e3
}

/// In order, so that the next start has nothing to recover.
fn stop(child: &mut Child) {
    let kill = Command::new("sh").args(["-c", &format!("kill -s TERM {}", child.id())]).status();
    assert!(kill.expect("there is a shell").success(), "the node has ended by itself");
    child.wait().expect("a child can be waited for");
}
