//! What an archive that stands still costs the relay in front of it.

use std::path::Path;
use std::time::Duration;

use levada::bench_service::stall::latency_p99_us;
use levada_benches::machine::{Disturbance, Watch};
use rusqlite::Connection;

use super::Effort;
use super::workload::folder;
use crate::row::{Row, contested};

/// The undisturbed 99th percentile over that beside an archive that stands still: at most 1.5 times as long.
const LATENCY_BAR: f64 = 1.0 / 1.5;
const SECONDS: u64 = 10;
const ROUNDS: usize = 5;
/// The archive may be in the middle of a batch.
const PATIENCE: Duration = Duration::from_secs(10);

/// Runs in which another program holds the index for as long as messages come, and runs in which nobody does, in turns. A run in which a
/// message is lost, on its way to the peer or to the archive, does not end well.
pub fn latency(measure: &'static str, effort: Effort) -> Row {
    let (rounds, seconds) = (ROUNDS.min(effort.rounds), (SECONDS / effort.less).max(1));
    let watch = Watch::begin();
    let (mut stalled, mut undisturbed) = (Vec::new(), Vec::new());
    for round in 1..=rounds {
        eprintln!("{measure}, round {round} of {rounds} ..");
        stalled.push(latency_p99_us(folder().path(), seconds, hold));
        undisturbed.push(latency_p99_us(folder().path(), seconds, |_| ()));
    }
    let machine = Disturbance { kept: rounds, ..watch.end() };
    let samples = vec![("stalled".to_owned(), stalled), ("undisturbed".to_owned(), undisturbed)];
    contested(measure, "us, p99", LATENCY_BAR, samples, machine)
}

/// Keeps every other program from changing the index, until the connection is dropped.
fn hold(index: &Path) -> Connection {
    let conn = Connection::open(index).expect("the node has made it");
    conn.busy_timeout(PATIENCE).expect("a setting");
    conn.execute_batch("BEGIN IMMEDIATE").expect("the archive lets go of it between two batches");
    conn
}
