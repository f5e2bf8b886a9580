//! The rows about what light clients are served.

mod filter;
mod matching;
mod store;

use crate::Options;
use crate::row::Row;

/// Every row, in the order of the report.
pub const MEASURES: [&str; 7] = [
    "filter_match",
    "filter_encodes",
    "filter_copies",
    "filter_isolation",
    "filter_isolation_rate",
    "store_query",
    "store_query_memory",
];

/// Those that come from the same runs.
const OF_ISOLATION: [&str; 2] = ["filter_isolation", "filter_isolation_rate"];

/// Takes every row that was asked for.
pub fn run(options: &Options) -> Vec<Row> {
    let wanted = |measure: &str| options.only.is_empty() || options.only.iter().any(|only| only == measure);
    let quick = options.quick;
    let isolation = OF_ISOLATION.into_iter().any(wanted).then(|| filter::Isolation::take(quick));
    let row = |measure| match (measure, &isolation) {
        ("filter_match", _) => matching::row(measure, quick),
        ("filter_encodes", _) => filter::encodes(measure, quick),
        ("filter_copies", _) => filter::copies(measure, quick),
        ("filter_isolation", Some(isolation)) => isolation.latency(measure),
        ("filter_isolation_rate", Some(isolation)) => isolation.rate(measure),
        ("store_query", _) => store::latency(measure, quick),
        ("store_query_memory", _) => store::memory(measure, quick),
        (other, _) => unreachable!("{other} is not in the list of measures"),
    };
    MEASURES.into_iter().filter(|measure| wanted(measure)).map(row).collect()
}
