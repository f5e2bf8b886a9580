//! `versus-copies rx|tx levada|stock`: payload copies per message that the receiver or the publisher of the macro scenario makes with our
//! router and one of the transports: what `memcpy` and `memmove` move in calls of a kilobyte and more, less what is no part of the way.

#[expect(dead_code, reason = "other programs count all threads together")]
#[path = "../../../../src/engine/tests/support/memcpy.rs"]
mod memcpy;

use std::process::ExitCode;

use levada::bench_macro::{self, Configuration, Router, Row};

const MESSAGES: usize = 400;

/// The workload's mean is 65 kB: 10, 50, 50 and 150.
const PAYLOAD_MB: f64 = MESSAGES as f64 * 0.065;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [side, transport] = arguments.as_slice() else { return usage() };
    let Ok(transport) = transport.parse() else { return usage() };
    let options = bench_macro::Options {
        messages: MESSAGES,
        warmup: MESSAGES / 4,
        seed: 42,
        window: 32,
        peers: 1,
        hops: 1,
        processes: 1,
        net_workers: 0,
        runs: 1,
        configurations: vec![Configuration { router: Router::OWN, transport }],
        moved_bytes: memcpy::copied_bytes_of_thread,
    };
    let figure: fn(&Row) -> f64 = match side.as_str() {
        // The archive's copy is storage; the publisher makes the message by one.
        "rx" => |row| row.nodes.rx_moved_MB / PAYLOAD_MB - row.nodes.rx_archive_copies_per_msg,
        "tx" => |row| row.nodes.tx_moved_MB / PAYLOAD_MB - 1.0,
        _ => return usage(),
    };
    match bench_macro::run(&options, |_| ()) {
        // To one digit: the rest are headers and control messages.
        Ok(report) => println!("{:.1}", figure(&report.rows[0])),
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn usage() -> ExitCode {
    eprintln!("usage: versus-copies rx|tx levada|stock");
    ExitCode::from(64)
}
