//! `levada bench micro`: nwaku's micro scenario, encoded messages through decode, ordered validators, message hash,
//! trace, filter match, archive and event, in process and without a network.

mod arrivals;
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

pub use crate::render::Format;
pub use counts::Counts;
pub use error::BenchError;
pub use harness::Run;
pub use histogram::Histogram;
pub use options::{ArchiveChoice, Configuration, Digests, HashChoice, Layout, Options};
pub use report::{Report, Row};
pub use round::RoundError;

use levada_archive::TIMESTAMP_DISTANCE_NS_MAX;
use levada_engine::Placement;
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
    let configurations = options.configurations();
    let mut runs: Vec<Vec<Run>> = configurations.iter().map(|_| Vec::new()).collect();
    for number in 1..=options.runs {
        for (configuration, runs) in configurations.iter().zip(&mut runs) {
            let run = harness::run(options, configuration, &series)?;
            if let Some(first) = runs.first().filter(|first| first.counts.path() != run.counts.path()) {
                return Err(BenchError::counters(&first.counts, &run.counts));
            }
            let rate = report::messages_per_second(options.messages * run.rounds, run.measured_ns);
            let (of, rounds) = (options.runs, run.rounds);
            let plural = if rounds == 1 { "" } else { "s" };
            progress(&format!("run {number}/{of}, {configuration}: {rate:.0} msg/s over {rounds} round{plural}"));
            runs.push(run);
        }
    }
    series.finish()?;
    let rows = configurations.iter().zip(&runs).map(|(configuration, runs)| Row::of(options, configuration, runs));
    let rows = rows.collect();
    Ok(Report { rows })
}

fn check(options: &Options) -> Result<(), BenchError> {
    let Options { messages, window, runs, .. } = *options;
    let workers = options.workers.iter().copied().min().unwrap_or_default();
    let rate = options.rate_msg_per_s.unwrap_or(1) as usize;
    let counts = [("messages", messages), ("window", window), ("workers", workers), ("runs", runs), ("rate", rate)];
    if let Some((option, _)) = counts.into_iter().find(|(_, count)| *count == 0) {
        return Err(BenchError::Zero { option });
    }
    if options.placement == Placement::Invoker {
        return Err(BenchError::Invoker);
    }
    check_rate(options)
}

/// A round in which the archive refuses what comes last is void; better said before it has run.
fn check_rate(options: &Options) -> Result<(), BenchError> {
    let Some(rate_msg_per_s) = options.rate_msg_per_s else { return Ok(()) };
    let (messages, seconds_max) = (options.messages, TIMESTAMP_DISTANCE_NS_MAX / 1_000_000_000);
    let seconds = messages as u64 / rate_msg_per_s;
    let is_archived = options.archives.iter().any(|archive| *archive != ArchiveChoice::None);
    if is_archived && seconds >= seconds_max {
        return Err(BenchError::SlowRate { rate_msg_per_s, messages, seconds });
    }
    Ok(())
}
