//! The rows about levada-archive, on the disk of the folder that this is started in.

mod ingest;
mod inline;
mod postgres;
mod query;
mod retention;
#[expect(clippy::unwrap_used, dead_code, reason = "a server of the tests, of which the rows use less")]
#[path = "../../../../src/archive/tests/postgres/server.rs"]
mod server;
#[cfg(feature = "macro")]
mod stall;
mod workload;

use crate::Options;
use crate::row::Row;

/// Every row, in the order of the report.
pub const MEASURES: [&str; 15] = [
    "ingest",
    "ingest_pwritev",
    "ingest_1kb",
    "write_amplification",
    "write_amplification_1kb",
    "ingest_cpu",
    "ingest_retention",
    "retention_drop",
    "retention_freed",
    "query_warm",
    "query_cold",
    "query_warm_1kb",
    "query_cold_1kb",
    "stall_p99",
    "postgres_copy",
];

/// How long and how often samples are taken.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// Samples of each contestant.
    pub rounds: usize,
    /// Messages in a sample, and in an archive that is asked, are divided by this.
    pub less: u64,
}

/// Takes every row that was asked for.
pub fn run(options: &Options) -> Vec<Row> {
    let effort = if options.quick { Effort { rounds: 1, less: 16 } } else { Effort { rounds: 7, less: 1 } };
    let possible = |measure: &str| match measure {
        "postgres_copy" => server::is_installed(),
        "stall_p99" => cfg!(feature = "macro"),
        _ => true,
    };
    let wanted = |measure: &str| options.only.is_empty() || options.only.iter().any(|only| only == measure);
    MEASURES
        .into_iter()
        .filter(|measure| wanted(measure) && possible(measure))
        .map(|measure| row(measure, effort))
        .collect()
}

fn row(measure: &'static str, effort: Effort) -> Row {
    eprintln!("{measure} ..");
    match measure {
        "ingest" => ingest::rate(measure, ingest::MIX, "auto", 4.0, effort),
        "ingest_pwritev" => ingest::rate(measure, ingest::MIX, "pwritev", 3.0, effort),
        "ingest_1kb" => ingest::rate(measure, ingest::SMALL, "auto", 1.0, effort),
        "write_amplification" => ingest::written(measure, effort),
        "write_amplification_1kb" => ingest::written_small(measure, effort),
        "ingest_cpu" => ingest::processor_time(measure, effort),
        "ingest_retention" => retention::rate(measure, effort),
        "retention_drop" => retention::drop_half(measure, effort),
        "retention_freed" => retention::freed(measure, effort),
        "query_warm" => query::row(measure, query::MEDIUM, false, 1.0, effort),
        "query_cold" => query::row(measure, query::MEDIUM, true, 10.0, effort),
        "query_warm_1kb" => query::row(measure, query::SMALL, false, 1.0, effort),
        "query_cold_1kb" => query::row(measure, query::SMALL, true, 10.0, effort),
        #[cfg(feature = "macro")]
        "stall_p99" => stall::latency(measure, effort),
        "postgres_copy" => postgres::rate(measure, effort),
        other => unreachable!("{other} is not in the list of measures"),
    }
}
