//! The hash stage at several backlogs, beside the same stage that hashes one message after another by the `sha2` crate.

use levada_benches::hash::{Backlog, Options, Row as Stage, run};

use crate::engine::Effort;
use crate::hash::bar;
use crate::machine::{Disturbance, Watch};
use crate::row::{Row, contested};

/// Messages in a pass.
const MESSAGES: usize = 512;

/// The rows of `measures`, from the same passes.
pub fn rows(measures: &[&'static str], effort: Effort) -> Vec<Row> {
    if measures.is_empty() {
        return Vec::new();
    }
    eprintln!("{} ..", measures.join(" "));
    let (watch, options) = (Watch::begin(), Options { messages: MESSAGES / effort.less, runs: 1, seed: 42 });
    let reports: Vec<_> = (0..effort.rounds).map(|_| run(&options).expect("the stage runs")).collect();
    let machine = Disturbance { kept: effort.rounds, ..watch.end() };
    let row = |&measure: &&'static str| {
        let (backlog, bar) = asked_of(measure);
        let of_rounds = |of: fn(&Stage) -> f64| {
            let rows = reports.iter().flat_map(|report| &report.rows).filter(|row| row.backlog == backlog);
            rows.map(|row| 1e6 / of(row)).collect::<Vec<f64>>()
        };
        let kernel = reports[0].rows.iter().find(|row| row.backlog == backlog).map_or("", |row| row.kernel);
        let samples = vec![
            ("levada".to_owned(), of_rounds(|row| row.msg_per_s)),
            ("sha2".to_owned(), of_rounds(|row| row.sha2_msg_per_s)),
        ];
        Row { unit: format!("us/msg {kernel}"), ..contested(measure, "us/msg", bar, samples, machine) }
    };
    measures.iter().map(row).collect()
}

/// The backlog of a row, and its bar. A lone message goes to the crate on either side.
fn asked_of(measure: &str) -> (Backlog, f64) {
    match measure {
        "hash_1" => (Backlog::Messages(1), 0.98),
        "hash_32" => (Backlog::Messages(32), bar(1.6)),
        "hash_64" => (Backlog::Messages(64), bar(1.9)),
        _ => (Backlog::Endless, bar(1.9)),
    }
}
