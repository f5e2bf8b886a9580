//! The micro scenario: its path beside a bare loop of the `sha2` crate over the same slots, two workers beside one, and what it counts.

use levada_benches::micro::{ArchiveChoice, Digests, HashChoice, Options, Row as Micro, run};

use crate::engine::Effort;
use crate::hash::{bar, is_wide, kernel};
use crate::machine::{Disturbance, Watch};
use crate::row::{Row, absolute, contested};

/// The bar on one worker is for a window of 64 and more.
const WINDOW_OF_ONE: usize = 64;

fn options(effort: Effort) -> Options {
    let messages = 1_000 / effort.less;
    let measured_ns_min = 400_000_000 / effort.less as u64;
    Options { messages, warmup: messages / 10, runs: 1, measured_ns_min, ..Options::default() }
}

fn once(options: &Options) -> Vec<Micro> {
    run(options, |_| ()).expect("the scenario runs").rows
}

/// Rounds of `options`, each of which gives a figure of ours and one of the rival's.
fn row(
    measure: &'static str,
    (rival, bar): (&str, f64),
    options: &Options,
    effort: Effort,
    figures: impl Fn(&[Micro]) -> (f64, f64),
) -> Row {
    let watch = Watch::begin();
    let (ours, theirs): (Vec<f64>, Vec<f64>) = (0..effort.rounds).map(|_| figures(&once(options))).unzip();
    let machine = Disturbance { kept: effort.rounds, ..watch.end() };
    let samples = vec![("levada".to_owned(), ours), (rival.to_owned(), theirs)];
    Row { unit: format!("us/msg {}", kernel()), ..contested(measure, "us/msg", bar, samples, machine) }
}

/// Path and yardstick of a configuration, in microseconds per message.
fn beside_yardstick(row: &Micro) -> (f64, f64) {
    (1e6 / row.msg_per_s, 1e6 / row.sha2_msg_per_s)
}

/// One worker, 64 in flight.
pub fn one_worker(measure: &'static str, effort: Effort) -> Row {
    let options = Options { window: WINDOW_OF_ONE, ..options(effort) };
    row(measure, ("sha2", bar(1.4)), &options, effort, |rows| beside_yardstick(&rows[0]))
}

/// Two workers beside one, with the scenario's own window.
pub fn two_workers(measure: &'static str, effort: Effort) -> Row {
    let options = Options { workers: vec![2, 1], ..options(effort) };
    row(measure, ("one worker", 1.85), &options, effort, |rows| (1e6 / rows[0].msg_per_s, 1e6 / rows[1].msg_per_s))
}

/// Two workers and an archive in memory.
pub fn memory(measure: &'static str, effort: Effort) -> Row {
    let options = Options { workers: vec![2], archives: vec![in_memory()], ..options(effort) };
    row(measure, ("sha2", 1.4), &options, effort, |rows| beside_yardstick(&rows[0]))
}

fn in_memory() -> ArchiveChoice {
    ArchiveChoice::Database("memory".parse().expect("a URL of an archive"))
}

/// Both digests of a message beside one of the crate where AVX-512 is present, else beside two of the crate's.
pub fn two_digests(measure: &'static str, effort: Effort) -> Row {
    let options = Options { window: WINDOW_OF_ONE, digests: Digests::IdAndHash, ..options(effort) };
    let (rival, bar, digests) =
        if is_wide() { ("one sha2 digest", 1.0 / 1.1, 1.0) } else { ("two sha2 digests", bar(1.0), 2.0) };
    row(measure, (rival, bar), &options, effort, |rows| {
        let (ours, yardstick) = beside_yardstick(&rows[0]);
        (ours, digests * yardstick)
    })
}

/// The 99th percentile in the open loop, at half of the rate that hashing one after another can keep up with: at most 1.2 times its.
pub fn latency(measure: &'static str, effort: Effort) -> Row {
    let alone = Options { hashes: vec![HashChoice::Sha2], ..options(effort) };
    let rate = once(&alone)[0].msg_per_s / 2.0;
    let both = Options {
        hashes: vec![HashChoice::Multi, HashChoice::Sha2],
        rate_msg_per_s: Some(rate as u64),
        ..options(effort)
    };
    row(measure, ("sha2", 1.0 / 1.2), &both, effort, |rows| {
        let p99_us = |row: &Micro| row.ns_per_msg_p99 as f64 / 1e3;
        (p99_us(&rows[0]), p99_us(&rows[1]))
    })
}

/// What the path counts per message.
pub fn counted(measure: &'static str, limit: f64, effort: Effort, count: impl Fn(&Micro) -> f64) -> Row {
    counts(measure, limit, &options(effort), count)
}

/// The same with an archive in memory.
pub fn counted_in_memory(measure: &'static str, limit: f64, effort: Effort, count: impl Fn(&Micro) -> f64) -> Row {
    counts(measure, limit, &Options { archives: vec![in_memory()], ..options(effort) }, count)
}

fn counts(measure: &'static str, limit: f64, options: &Options, count: impl Fn(&Micro) -> f64) -> Row {
    absolute(measure, "per message", limit, 1, || count(&once(options)[0]))
}
