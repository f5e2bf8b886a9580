//! What the benchmark of chunks prints: one row per configuration, as a table, CSV or JSON. MB are 10⁶ bytes.

use serde::Serialize;

use crate::render::{self, Reported};

/// All rows.
pub type Report = render::Report<Row>;

/// One configuration. The field names are the column names.
#[derive(Debug, Clone, Serialize)]
#[expect(non_snake_case, reason = "the columns carry their units as physicists write them")]
#[expect(missing_docs, reason = "the columns are explained in benches/README.md")]
pub struct Row {
    pub form: &'static str,
    pub sink: &'static str,
    pub recipients: usize,
    pub in_flight: usize,
    pub chunks: u64,
    pub peak_heap_MB: f64,
    pub arena_MB: f64,
    pub rss_MB: f64,
    pub allocated_MB: f64,
    pub cpu_s: f64,
    pub wall_ms: f64,
    pub copies_per_chunk: f64,
    pub runs: usize,
}

impl Reported for Row {
    const FOOTER: &'static str = "peak_heap_MB: the allocator's peak plus that of slots lent out; \
        rss_MB: most resident of the process so far; cpu_s: all threads, recipients' too\n";
}
