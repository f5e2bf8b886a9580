//! The rows about what an operator asks of a node: REST, its start, its metrics.

mod http;
mod publish;
mod ready;
mod scrape;

pub use ready::{NODE_COMMAND, node};

use crate::Options;
use crate::row::Row;

/// Every row, in the order of the report.
pub const MEASURES: [&str; 3] = ["rest_publish", "start_ready", "metrics_scrape"];

/// Takes every row that was asked for.
pub fn run(options: &Options) -> Vec<Row> {
    let wanted = |measure: &&str| options.only.is_empty() || options.only.iter().any(|only| only == *measure);
    let row = |measure| {
        eprintln!("{measure} ..");
        match measure {
            "rest_publish" => publish::row(measure, options.quick),
            "start_ready" => ready::row(measure, options.quick),
            "metrics_scrape" => scrape::row(measure, options.quick),
            other => unreachable!("{other} is not in the list of measures"),
        }
    };
    MEASURES.into_iter().filter(wanted).map(row).collect()
}
