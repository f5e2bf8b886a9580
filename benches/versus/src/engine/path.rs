//! The reference path without an archive: two workers against one.

use levada_benches::micro::{ArchiveChoice, Options, run};

use crate::engine::Effort;
use crate::machine::involuntary_switches_of_all;
use crate::pair::Sample;
use crate::row::{Contest, Row};

/// Rounds are whole runs of the micro scenario: few of them.
const ROUNDS_MAX: usize = 7;

/// At least 1.85 times the messages per second.
pub fn row(measure: &'static str, effort: Effort) -> Row {
    Contest::new(measure, "us/message", 1.85)
        .tolerate_switches()
        .with("two workers", move || sample(2, effort))
        .with("one worker", move || sample(1, effort))
        .run(effort.rounds.min(ROUNDS_MAX))
}

fn sample(workers: usize, effort: Effort) -> Sample {
    let messages = 1_000 / effort.less;
    let options = Options {
        messages,
        warmup: messages / 10,
        seed: 42,
        workers: vec![workers],
        archives: vec![ArchiveChoice::None],
        runs: 1,
        measured_ns_min: 400_000_000 / effort.less as u64,
        ..Options::default()
    };
    let before = involuntary_switches_of_all();
    let report = run(&options, |_| ()).expect("the scenario runs");
    Sample { value: 1e6 / report.rows[0].msg_per_s, switches: involuntary_switches_of_all() - before }
}
