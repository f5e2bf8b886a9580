//! What the benchmark prints: one row per configuration, as a table, CSV or JSON. MB are 10⁶ bytes.

use std::fmt::Write as _;

use levada_wire::hash::Hex;
use serde::Serialize;

use crate::micro::harness::Run;
use crate::micro::options::{ArchiveChoice, Options};
use crate::workload;

/// Runs further apart than this are flagged as noisy.
const SPREAD_PCT_MAX: f64 = 5.0;

/// Bytes of the digest of the work that are printed.
const WORK_BYTES: usize = 8;

/// How results are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// For people.
    Table,
    /// One header line, one line per configuration.
    Csv,
    /// An array of objects whose keys are the column names.
    Json,
}

/// The results of one configuration: medians over its runs. Counts and bytes are those of one round over `msgs` messages.
#[derive(Debug, Clone, Serialize)]
#[expect(
    missing_docs,
    non_snake_case,
    reason = "the fields are the columns of the report, named and described in its header"
)]
pub struct Row {
    pub scenario: String,
    pub archive: String,
    pub workers: usize,
    pub msgs: usize,
    pub rounds: usize,
    pub payload_profile: String,
    pub work: String,
    pub wall_ms: f64,
    pub msg_per_s: f64,
    pub ns_per_msg_p50: u64,
    pub ns_per_msg_p99: u64,
    pub decodes_per_msg: f64,
    pub hashes_per_msg: f64,
    pub hashed_MB: f64,
    pub decoded_MB: f64,
    pub copies_per_msg: f64,
    pub copied_MB: f64,
    pub allocs_per_msg: f64,
    pub peak_heap_MB: f64,
    pub arena_MB: f64,
    pub rss_MB: f64,
    pub retained_MB: f64,
    pub sha2_msg_per_s: f64,
    pub sha2_GB_per_s: f64,
    pub ratio_to_sha2: f64,
    pub runs: usize,
    pub spread_pct: f64,
    pub noisy: bool,
}

/// Messages per second, of `messages` in `wall_ns` nanoseconds.
pub fn messages_per_second(messages: usize, wall_ns: u64) -> f64 {
    messages as f64 * 1e9 / wall_ns.max(1) as f64
}

impl Row {
    /// The medians of `runs`, which is not empty.
    pub(super) fn of(options: &Options, archive: &ArchiveChoice, runs: &[Run]) -> Self {
        let per_message = |total: u64| total as f64 / options.messages as f64;
        let of_runs = |value: &dyn Fn(&Run) -> f64| median(runs.iter().map(value).collect());
        let rate = |run: &Run| messages_per_second(options.messages * run.rounds, run.measured_ns);
        let sha2_rate = |run: &Run| messages_per_second(options.messages * run.rounds, run.sha2_ns);
        let latency = |pct: u64| of_runs(&|run| run.latencies_ns.percentile(pct) as f64) as u64;
        let rates: Vec<f64> = runs.iter().map(rate).collect();
        let (lowest, highest) =
            rates.iter().fold((f64::MAX, 0.0_f64), |(low, high), rate| (low.min(*rate), high.max(*rate)));
        let spread_pct = (highest - lowest) * 100.0 / median(rates);
        let counts = runs[0].counts;
        Self {
            scenario: "micro".to_owned(),
            archive: archive.label(),
            workers: options.workers,
            msgs: options.messages,
            rounds: of_runs(&|run| run.rounds as f64) as usize,
            payload_profile: workload::PROFILE_NAME.to_owned(),
            work: Hex(&runs[0].work[..WORK_BYTES]).to_string(),
            wall_ms: of_runs(&|run| run.measured_ns as f64 / run.rounds as f64 / 1e6),
            msg_per_s: of_runs(&rate),
            ns_per_msg_p50: latency(50),
            ns_per_msg_p99: latency(99),
            decodes_per_msg: per_message(counts.decodes),
            hashes_per_msg: per_message(counts.hashes),
            hashed_MB: megabytes(counts.hashed_bytes),
            decoded_MB: megabytes(counts.decoded_bytes),
            copies_per_msg: per_message(counts.copies),
            copied_MB: megabytes(counts.copied_bytes),
            allocs_per_msg: of_runs(&|run| run.allocations.percentile(50) as f64 / options.messages as f64),
            peak_heap_MB: of_runs(&|run| megabytes(run.heap_bytes_max)),
            arena_MB: of_runs(&|run| megabytes(run.arena_bytes)),
            rss_MB: of_runs(&|run| megabytes(run.rss_bytes)),
            retained_MB: of_runs(&|run| megabytes(run.retained_bytes)),
            sha2_msg_per_s: of_runs(&sha2_rate),
            sha2_GB_per_s: of_runs(&|run| run.sha2_bytes as f64 / run.sha2_ns.max(1) as f64),
            ratio_to_sha2: of_runs(&|run| rate(run) / sha2_rate(run)),
            runs: runs.len(),
            spread_pct,
            noisy: spread_pct > SPREAD_PCT_MAX,
        }
    }
}

fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { f64::midpoint(values[middle - 1], values[middle]) }
}

/// All rows.
#[derive(Debug, Clone, Serialize)]
#[serde(transparent)]
pub struct Report {
    /// One per configuration, in the order asked for.
    pub rows: Vec<Row>,
}

impl Report {
    /// The report in `format`, ending in a line break.
    pub fn render(&self, format: Format) -> String {
        match format {
            Format::Table => self.table(),
            Format::Csv => self.csv(),
            Format::Json => self.json(),
        }
    }

    fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("rows are plain numbers and strings") + "\n"
    }

    /// Column names and values, as they stand in JSON.
    fn cells(&self) -> Vec<Vec<(String, String)>> {
        let cells = |row: &Row| match serde_json::to_value(row).expect("a row is plain numbers and strings") {
            serde_json::Value::Object(fields) => fields.into_iter().map(|(name, value)| (name, text(&value))).collect(),
            _ => Vec::new(),
        };
        self.rows.iter().map(cells).collect()
    }

    fn csv(&self) -> String {
        let rows = self.cells();
        let line = |cells: &[(String, String)], pick: fn(&(String, String)) -> &str| {
            cells.iter().map(|cell| quoted(pick(cell))).collect::<Vec<_>>().join(",") + "\n"
        };
        let header = rows.first().map(|row| line(row, |cell| &cell.0)).unwrap_or_default();
        rows.iter().fold(header, |text, row| text + &line(row, |cell| &cell.1))
    }

    /// A column per configuration: there are more measures than a terminal is wide.
    fn table(&self) -> String {
        let rows = self.cells();
        let mut text = String::new();
        for (line, (name, _)) in rows.first().into_iter().flatten().enumerate() {
            let _ = write!(text, "{name:<16}");
            rows.iter().for_each(|row| {
                let _ = write!(text, " {:>22}", row[line].1);
            });
            text.push('\n');
        }
        text.push_str(FOOTER);
        text
    }
}

const FOOTER: &str = "
Counts and MB (10^6 bytes) are of one round over msgs messages; ns_per_msg is from taken to done, with the window full.
ratio_to_sha2 is msg_per_s / sha2_msg_per_s, a bare loop of the sha2 crate on one core between the rounds.
allocs_per_msg is of the median round; in the first one, an archive in memory still grows.
peak_heap is the allocator's peak plus the slots in use; SQLite's own memory shows in rss_MB only, which is of the whole
process, with what earlier configurations left to the allocator.
Not in the path yet: the store-sync insert, which nwaku's scenario also times.
For comparison, published by nwaku for its micro scenario, on another machine (Apple M4), not measured here:
  1 223 msg/s with 4 decodes and 3 hashes per message; 2 274 msg/s after its own no-copy work (2 decodes, 1 hash).
";

/// A CSV field: quoted where it must be, as the path of an archive may (RFC 4180).
fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

/// A number with the digits that mean something.
fn text(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Number(number) if number.is_f64() => {
            let number = number.as_f64().unwrap_or_default();
            let digits = if number.abs() >= 1_000.0 { 0 } else { 3 };
            format!("{number:.digits$}")
        }
        other => other.to_string(),
    }
}
