//! The rows about whole nodes: messages over loopback TCP from one into the archive of another.

use std::collections::BTreeMap;
use std::process::{Command, ExitCode};

use levada::bench_macro::{self, Configuration, Report, nothing_counted, serve_process};
use levada_net::{RouterKind, TransportKind};

use crate::Options;
use crate::machine::{Disturbance, Watch};
use crate::row::{Row, absolute, contested};

/// Every row, in the order of the report.
pub const MEASURES: [&str; 7] =
    ["macro_router", "macro_transport", "bound_router", "bound_transport", "copies_rx", "copies_tx", "rss_long"];

/// Those that come from the samples of one series.
const OF_SERIES: [&str; 4] = ["macro_router", "macro_transport", "bound_router", "bound_transport"];

const STOCK: Configuration = Configuration { router: RouterKind::Stock, transport: TransportKind::Stock };
const OUR_ROUTER: Configuration = Configuration { router: RouterKind::Levada, transport: TransportKind::Stock };
const OURS: Configuration = Configuration { router: RouterKind::Levada, transport: TransportKind::Levada };

/// Payload copies of a message that may be made on either side.
const COPIES_MAX: f64 = 1.0;

/// Takes every row that was asked for.
pub fn run(options: &Options) -> Vec<Row> {
    let wanted = |measure: &str| options.only.is_empty() || options.only.iter().any(|only| only == measure);
    let series = OF_SERIES.into_iter().any(wanted).then(|| Series::take(options.quick));
    let row = |measure| match (measure, &series) {
        ("macro_router", Some(series)) => series.row(measure, 1.8, "our router", "stock"),
        ("macro_transport", Some(series)) => series.row(measure, 2.2, "ours", "stock"),
        ("bound_router", Some(series)) => series.row(measure, 0.6, "our router", "bound"),
        ("bound_transport", Some(series)) => series.row(measure, 0.8, "ours", "bound"),
        ("copies_rx", _) => copies(measure, options.quick, "rx"),
        ("copies_tx", _) => copies(measure, options.quick, "tx"),
        ("rss_long", _) => rss_long(measure, options.quick),
        (other, _) => unreachable!("{other} is not in the list of measures"),
    };
    MEASURES.into_iter().filter(|measure| wanted(measure)).map(row).collect()
}

/// One node of `rss_long`, whose nodes are processes.
pub fn node() -> ExitCode {
    match serve_process() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// The reference workload once.
fn once(messages: usize, processes: usize, configurations: Vec<Configuration>) -> Report {
    let options = bench_macro::Options {
        messages,
        warmup: messages.min(1_000),
        seed: 42,
        window: 32,
        peers: 1,
        hops: 1,
        processes,
        runs: 1,
        configurations,
        moved_bytes: nothing_counted,
    };
    bench_macro::run(&options, |line| eprintln!("  {line}")).expect("the nodes run")
}

/// Microseconds per message of all contestants, who take turns.
struct Series {
    samples: BTreeMap<&'static str, Vec<f64>>,
    machine: Disturbance,
}

impl Series {
    fn take(quick: bool) -> Self {
        let (rounds, messages) = if quick { (2, 100) } else { (11, 1_000) };
        let watch = Watch::begin();
        let mut samples: BTreeMap<&'static str, Vec<f64>> = BTreeMap::new();
        for round in 1..=rounds {
            eprintln!("macro, round {round} of {rounds} ..");
            let report = once(messages, 1, vec![STOCK, OUR_ROUTER, OURS]);
            for (name, row) in ["stock", "our router", "ours"].into_iter().zip(&report.rows) {
                samples.entry(name).or_default().push(1e6 / row.msg_per_s);
                samples.entry("bound").or_default().push(1e6 / row.bound_msg_per_s);
            }
        }
        Self { samples, machine: Disturbance { kept: rounds, ..watch.end() } }
    }

    fn row(&self, measure: &'static str, bar: f64, ours: &'static str, rival: &'static str) -> Row {
        let samples = [ours, rival].map(|name| (name.to_owned(), self.samples[name].clone()));
        contested(measure, "us/message", bar, samples.into(), self.machine)
    }
}

/// Payload copies per message that one side makes with our router and transport, by what `memcpy` moves.
fn copies(measure: &'static str, quick: bool, side: &str) -> Row {
    eprintln!("{measure} ..");
    let program = std::env::current_exe().expect("this program has a path").with_file_name("versus-copies");
    absolute(measure, "per message", COPIES_MAX, if quick { 1 } else { 3 }, || {
        let ended = Command::new(&program).arg(side).output().expect("versus-copies was built beside this program");
        let text = String::from_utf8_lossy(&ended.stdout);
        let copies = text.trim().parse().ok();
        copies.unwrap_or_else(|| panic!("versus-copies failed: {}", String::from_utf8_lossy(&ended.stderr)))
    })
}

/// Most resident memory of both nodes, each a process, over many messages.
fn rss_long(measure: &'static str, quick: bool) -> Row {
    eprintln!("{measure} ..");
    let (rounds, messages) = if quick { (1, 500) } else { (3, 30_000) };
    let watch = Watch::begin();
    let mut samples = [("ours", Vec::new()), ("stock", Vec::new())];
    for _ in 0..rounds {
        let report = once(messages, 2, vec![OURS, STOCK]);
        for ((_, samples), row) in samples.iter_mut().zip(&report.rows) {
            samples.push(row.rss_peak_MB);
        }
    }
    let machine = Disturbance { kept: rounds, ..watch.end() };
    contested(measure, "MB", 4.0, samples.map(|(name, samples)| (name.to_owned(), samples)).into(), machine)
}
