//! `levada bench micro`: nwaku's micro scenario, encoded messages through decode, ordered validators, message hash,
//! trace, filter match, archive and event, in process and without a network.

mod counts;
mod error;
mod harness;
mod histogram;
mod memory;
mod options;
mod report;
mod round;
mod series;
mod topology;
mod yardstick;

pub use counts::Counts;
pub use error::BenchError;
pub use harness::Run;
pub use histogram::Histogram;
pub use options::{ArchiveChoice, Options};
pub use report::{Format, Report, Row};
pub use round::RoundError;

use series::Series;

/// Runs every configuration `options.runs` times, interleaved, and reports medians.
///
/// `progress` gets one sentence per run.
///
/// # Errors
/// [`BenchError`]: what could not be run, and what to change.
pub fn run(options: &Options, mut progress: impl FnMut(&str)) -> Result<Report, BenchError> {
    check(options)?;
    let series = Series::start(options.heap_series.as_deref())?;
    let mut runs: Vec<Vec<Run>> = options.archives.iter().map(|_| Vec::new()).collect();
    for number in 1..=options.runs {
        for (archive, runs) in options.archives.iter().zip(&mut runs) {
            let run = harness::run(options, archive, &series)?;
            if let Some(first) = runs.first().filter(|first| first.counts.path() != run.counts.path()) {
                return Err(BenchError::counters(&first.counts, &run.counts));
            }
            let rate = report::messages_per_second(options.messages * run.rounds, run.measured_ns);
            let (label, rounds) = (archive.label(), run.rounds);
            progress(&format!("run {number}/{}, archive {label}: {rate:.0} msg/s over {rounds} rounds", options.runs));
            runs.push(run);
        }
    }
    series.finish()?;
    let rows = options.archives.iter().zip(&runs).map(|(archive, runs)| Row::of(options, archive, runs)).collect();
    Ok(Report { rows })
}

fn check(options: &Options) -> Result<(), BenchError> {
    let Options { messages, window, workers, runs, .. } = *options;
    let counts = [("messages", messages), ("window", window), ("workers", workers), ("runs", runs)];
    counts.into_iter().find(|(_, count)| *count == 0).map_or(Ok(()), |(option, _)| Err(BenchError::Zero { option }))
}
