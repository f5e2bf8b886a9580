//! The rows about whole nodes: messages over loopback TCP from one into the archive of another.

use std::collections::BTreeMap;
use std::process::{Command, ExitCode};

use futures::FutureExt;
use levada::bench_macro::{self, Configuration, Report, Router, nothing_counted, serve_process};
use levada_benches::machine::{Disturbance, Watch};
use levada_net::TransportKind;

use crate::Options;
use crate::row::{Row, absolute, contested};

/// Every row of this build, in the order of the report. What stands for our transport depends on its cipher.
#[cfg(not(feature = "openssl"))]
pub const MEASURES: [&str; 10] = [
    "macro_router",
    "macro_transport",
    "bound_router",
    "bound_transport",
    "copies_rx_stock",
    "copies_tx_stock",
    "copies_rx",
    "copies_tx",
    "relay_8",
    "rss_long",
];

/// Every row of this build: those that the cipher of OpenSSL has a bar of its own in.
#[cfg(feature = "openssl")]
pub const MEASURES: [&str; 4] = ["macro_openssl", "bound_openssl", "copies_rx_openssl", "copies_tx_openssl"];

/// Those that come from the samples of one series.
const OF_SERIES: [&str; 6] =
    ["macro_router", "macro_transport", "macro_openssl", "bound_router", "bound_transport", "bound_openssl"];

/// rust-libp2p's router, as a node has it.
const STOCK_ROUTER: Router =
    Router { name: "stock", start: |config, inbound| levada_stock::start(config, inbound).boxed() };

const ROUTERS: [Router; 2] = [STOCK_ROUTER, Router::OWN];

const STOCK: Configuration = Configuration { router: STOCK_ROUTER, transport: TransportKind::Stock };
const OUR_ROUTER: Configuration = Configuration { router: Router::OWN, transport: TransportKind::Stock };
const OURS: Configuration = Configuration { router: Router::OWN, transport: TransportKind::Levada };

/// Payload copies of a message that may be made on either side, on rust-libp2p's transport and on ours; sealing by OpenSSL goes from one
/// buffer into another, so nothing is left to copy before it.
const COPIES_STOCK_MAX: f64 = 4.0;
const COPIES_MAX: f64 = 1.0;
const COPIES_TX_OPENSSL_MAX: f64 = 0.0;

/// Messages until archive, message cache and allocator have all the memory that they come to have: after 1 000 there are still a dozen
/// faults to come, of 2 MiB each.
const WARMUP_MESSAGES: usize = 2_500;

/// Takes every row that was asked for.
pub fn run(options: &Options) -> Vec<Row> {
    let wanted = |measure: &str| options.only.is_empty() || options.only.iter().any(|only| only == measure);
    let has_series = OF_SERIES.into_iter().any(|measure| MEASURES.contains(&measure) && wanted(measure));
    let series = has_series.then(|| Series::take(options.quick));
    let quick = options.quick;
    let row = |measure| match (measure, &series) {
        ("macro_router", Some(series)) => series.row(measure, 1.8, "our router", "stock"),
        ("macro_transport", Some(series)) => series.row(measure, 2.2, "ours", "stock"),
        ("macro_openssl", Some(series)) => series.row(measure, 2.5, "ours", "stock"),
        ("bound_router", Some(series)) => series.row(measure, 0.6, "our router", "bound"),
        ("bound_transport", Some(series)) => series.row(measure, 0.8, "ours", "bound"),
        ("bound_openssl", Some(series)) => series.row(measure, 1.0, "ours", "bound"),
        ("copies_rx_stock", _) => copies(measure, COPIES_STOCK_MAX, quick, ["rx", "stock"]),
        ("copies_tx_stock", _) => copies(measure, COPIES_STOCK_MAX, quick, ["tx", "stock"]),
        ("copies_rx" | "copies_rx_openssl", _) => copies(measure, COPIES_MAX, quick, ["rx", "levada"]),
        ("copies_tx", _) => copies(measure, COPIES_MAX, quick, ["tx", "levada"]),
        ("copies_tx_openssl", _) => copies(measure, COPIES_TX_OPENSSL_MAX, quick, ["tx", "levada"]),
        ("relay_8", _) => relay_8(measure, quick),
        ("rss_long", _) => rss_long(measure, quick),
        (other, _) => unreachable!("{other} is not in the list of measures"),
    };
    MEASURES.into_iter().filter(|measure| wanted(measure)).map(row).collect()
}

/// One node of a row whose nodes are processes.
pub fn node() -> ExitCode {
    match serve_process(&ROUTERS) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// The reference workload from one node to another, each a thread.
fn reference(messages: usize, configurations: Vec<Configuration>) -> bench_macro::Options {
    bench_macro::Options {
        messages,
        warmup: messages.min(1_000),
        seed: 42,
        window: 32,
        peers: 1,
        hops: 1,
        processes: 1,
        net_workers: 0,
        runs: 1,
        configurations,
        moved_bytes: nothing_counted,
    }
}

fn once(options: &bench_macro::Options) -> Report {
    bench_macro::run(options, |line| eprintln!("  {line}")).expect("the nodes run")
}

/// Microseconds per message of all contestants, who take turns.
struct Series {
    samples: BTreeMap<&'static str, Vec<f64>>,
    machine: Disturbance,
}

impl Series {
    fn take(quick: bool) -> Self {
        let (rounds, messages, warmup) = if quick { (2, 100, 100) } else { (11, 1_000, WARMUP_MESSAGES) };
        let watch = Watch::begin();
        let mut samples: BTreeMap<&'static str, Vec<f64>> = BTreeMap::new();
        for round in 1..=rounds {
            eprintln!("macro, round {round} of {rounds} ..");
            let configurations = vec![STOCK, OUR_ROUTER, OURS];
            let report = once(&bench_macro::Options { warmup, ..reference(messages, configurations) });
            for (name, row) in ["stock", "our router", "ours"].into_iter().zip(&report.rows) {
                samples.entry(name).or_default().push(1e6 / row.msg_per_s);
            }
            // The bound runs after each of them, and counts once for a round.
            let bound = report.rows.iter().map(|row| 1e6 / row.bound_msg_per_s).sum::<f64>() / report.rows.len() as f64;
            samples.entry("bound").or_default().push(bound);
        }
        Self { samples, machine: Disturbance { kept: rounds, ..watch.end() } }
    }

    fn row(&self, measure: &'static str, bar: f64, ours: &'static str, rival: &'static str) -> Row {
        let samples = [ours, rival].map(|name| (name.to_owned(), self.samples[name].clone()));
        contested(measure, "us/message", bar, samples.into(), self.machine)
    }
}

/// Payload copies per message that one side makes with our router and a transport, by what `memcpy` moves.
fn copies(measure: &'static str, limit: f64, quick: bool, arguments: [&str; 2]) -> Row {
    eprintln!("{measure} ..");
    let program = std::env::current_exe().expect("this program has a path").with_file_name("versus-copies");
    absolute(measure, "per message", limit, if quick { 1 } else { 3 }, || {
        let ended =
            Command::new(&program).args(arguments).output().expect("versus-copies was built beside this program");
        let text = String::from_utf8_lossy(&ended.stdout);
        let copies = text.trim().parse().ok();
        copies.unwrap_or_else(|| panic!("versus-copies failed: {}", String::from_utf8_lossy(&ended.stderr)))
    })
}

/// Processor time of a relay node per message that it sends on to eight peers, which listen on an address each and are dialled by it.
fn relay_8(measure: &'static str, quick: bool) -> Row {
    eprintln!("{measure} ..");
    let (rounds, messages) = if quick { (1, 50) } else { (7, 500) };
    let options = bench_macro::Options { peers: 8, hops: 2, ..reference(messages, vec![OURS, STOCK]) };
    per_round(measure, "us/message", 1.6, rounds, &options, |row| row.nodes.relay_cpu_ns_per_msg / 1e3)
}

/// Most resident memory of both nodes, each a process, over many messages.
fn rss_long(measure: &'static str, quick: bool) -> Row {
    eprintln!("{measure} ..");
    let (rounds, messages) = if quick { (1, 500) } else { (3, 30_000) };
    let options = bench_macro::Options { processes: 2, ..reference(messages, vec![OURS, STOCK]) };
    per_round(measure, "MB", 4.0, rounds, &options, |row| row.rss_peak_MB)
}

/// A figure of ours and of stock, which take turns.
fn per_round(
    measure: &'static str,
    unit: &'static str,
    bar: f64,
    rounds: usize,
    options: &bench_macro::Options,
    figure: impl Fn(&bench_macro::Row) -> f64,
) -> Row {
    let watch = Watch::begin();
    let mut samples = [("ours", Vec::new()), ("stock", Vec::new())];
    for _ in 0..rounds {
        for ((_, samples), row) in samples.iter_mut().zip(&once(options).rows) {
            samples.push(figure(row));
        }
    }
    let machine = Disturbance { kept: rounds, ..watch.end() };
    contested(measure, unit, bar, samples.map(|(name, samples)| (name.to_owned(), samples)).into(), machine)
}
