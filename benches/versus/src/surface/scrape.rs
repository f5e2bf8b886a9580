//! A scrape of the metrics of a node with many peers.

use std::time::Instant;

use levada::bench_surface::with_node;

use super::http::Connection;
use crate::row::{Row, absolute};

const PEERS: [usize; 2] = [150, 5];
/// Of a node's places only some are for relay peers that connect by themselves.
const PLACES: &str = "--max-connections=1000";
const SCRAPE_MS_MAX: f64 = 20.0;

/// The median over kept connections.
pub fn row(measure: &'static str, quick: bool) -> Row {
    let peers = PEERS[usize::from(quick)];
    with_node(&["--store=false", PLACES], peers, move |servers| {
        let mut connection = Connection::open(servers.metrics);
        absolute(measure, "ms", SCRAPE_MS_MAX, if quick { 3 } else { 100 }, || {
            let began = Instant::now();
            let text = connection.ask(b"GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n");
            assert!(text.starts_with(b"# "), "no metrics");
            began.elapsed().as_secs_f64() * 1e3
        })
    })
}
