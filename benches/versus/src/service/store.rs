//! Store queries over a large archive: how long a page takes, and what pages that nobody reads hold.

use levada::bench_service::store::{held_mb, query_ms_p50};

use crate::row::{Row, absolute};

/// Messages stored; `--quick` makes do with the second.
const STORED: [u64; 2] = [1_000_000, 10_000];
/// The median of a warm query, as the client sees it.
const QUERY_MS_MAX: f64 = 2.0;
const WARMUP: usize = 200;
const QUERIES: [usize; 2] = [2_000, 50];
/// Queries at once, whose answers are not read.
const AT_ONCE: usize = 100;
/// What they may hold: the node's room for pages, 96 MiB, and what streams and requests take.
const HELD_MB_MAX: f64 = 128.0;

/// The 50th percentile of queries for pages from anywhere in the archive.
pub fn latency(measure: &'static str, quick: bool) -> Row {
    eprintln!("{measure} ..");
    let (stored, queries) = (STORED[usize::from(quick)], QUERIES[usize::from(quick)]);
    absolute(measure, "ms, p50", QUERY_MS_MAX, 1, || query_ms_p50(stored, WARMUP, queries))
}

/// What a hundred answers hold while they wait for clients that do not read them.
pub fn memory(measure: &'static str, quick: bool) -> Row {
    eprintln!("{measure} ..");
    absolute(measure, "MB", HELD_MB_MAX, 1, || held_mb(STORED[usize::from(quick)], AT_ONCE))
}
