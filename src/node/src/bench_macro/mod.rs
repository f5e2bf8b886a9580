//! `levada bench macro`: messages published at one node, over loopback TCP, until another node's archive has them.
//!
//! ```text
//! publisher ──→ (relay ──→) receiver, one or several ──→ handler
//!     ↑ feedback: how many were handled                     │
//!     └─────────────────────────────────────────────────────┘
//! ```
//! Every node is one thread on a core of its own, as far as there are cores: a runtime for the network, and on the same thread the
//! path of [`crate::topology`], which is turned whenever the network brings something. So each counter of a thread is that of a node.
//! With network workers a node has threads beside, on the same core, and must be a process, whose counters are then those of the node.

mod bound;
mod error;
mod handler;
mod host;
mod machine;
mod node;
mod orders;
mod publisher;
mod report;
mod router;

use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use levada_net::TransportKind;

pub use error::MacroError;
pub use report::{NodeColumns, Report, Row};
pub use router::{Router, Start};

use bound::Bound;
use report::Run;

/// Arguments that make this program one node of a benchmark, which is told what to do over its standard input.
pub const NODE_COMMAND: [&str; 2] = ["bench", "macro-node"];

/// One macro benchmark.
#[derive(Debug, Clone)]
pub struct Options {
    /// Messages measured.
    pub messages: usize,
    /// Messages before them.
    pub warmup: usize,
    /// Seed of the workload.
    pub seed: u64,
    /// Most messages that are published and not yet handled by every receiver.
    pub window: usize,
    /// Receivers.
    pub peers: usize,
    /// 1: the publisher is connected to the receivers. 2: a relay node stands between them.
    pub hops: usize,
    /// 1: the nodes are threads of this process. 2: each is a process.
    pub processes: usize,
    /// Threads of each node that connections are spread over, with two processes only. 0: the node's own thread has all of them.
    pub net_workers: usize,
    /// Runs of each configuration.
    pub runs: usize,
    /// Routers and transports, each pair a configuration.
    pub configurations: Vec<Configuration>,
    /// Bytes that the calling thread has copied so far, in a program that counts its calls of `memcpy`; [`nothing_counted`] in others.
    /// With one process only.
    pub moved_bytes: fn() -> u64,
}

/// What a row of the report is about.
#[derive(Debug, Clone, Copy)]
pub struct Configuration {
    /// The relay router that all nodes have.
    pub router: Router,
    /// Whose transport.
    pub transport: TransportKind,
}

impl Options {
    /// Which node gets which core, and what is connected, follow from these bounds.
    fn check(&self) -> Result<(), MacroError> {
        let bounds = [
            ("messages", self.messages, 1, usize::MAX),
            ("window", self.window, 1, WINDOW_MAX),
            ("runs", self.runs, 1, usize::MAX),
            ("peers", self.peers, 1, PEERS_MAX),
            ("hops", self.hops, 1, 2),
            // Threads are told apart by the process whose they are.
            ("processes", self.processes, if self.net_workers > 0 { 2 } else { 1 }, 2),
            ("net-workers", self.net_workers, 0, NET_WORKERS_MAX),
        ];
        let wrong = bounds.into_iter().find(|(_, given, min, max)| !(min..=max).contains(&given));
        wrong.map_or(Ok(()), |(option, given, min, max)| Err(MacroError::Option { option, given, min, max }))
    }
}

/// For programs that do not count their calls of `memcpy`.
pub fn nothing_counted() -> u64 {
    0
}

/// Threads that connections of one node are spread over.
pub const NET_WORKERS_MAX: usize = 64;

/// Receivers that a node keeps in its mesh. Beyond gossipsub's D of six, D is their number.
pub const PEERS_MAX: usize = 8;

/// So many of the largest messages find room in the queue to one peer, whichever router has it.
pub const WINDOW_MAX: usize = 48;

/// Runs every configuration `options.runs` times, in turns with the bound, and reports medians.
///
/// `progress` gets one sentence per run.
///
/// # Errors
/// [`MacroError`]: what could not be run, and what to change.
pub fn run(options: &Options, mut progress: impl FnMut(&str)) -> Result<Report, MacroError> {
    options.check()?;
    let mut runs: Vec<Vec<Run>> = options.configurations.iter().map(|_| Vec::new()).collect();
    for number in 1..=options.runs {
        for (configuration, runs) in options.configurations.iter().zip(&mut runs) {
            let nodes = host::run(options, *configuration)?;
            let run = Run { nodes, bound: Bound::measure(options)? };
            let (rate, of, Configuration { router, transport }) = (run.msg_per_s(options), options.runs, configuration);
            progress(&format!(
                "run {number}/{of}, router {}, transport {transport}: {rate:.0} msg/s, bound {:.0}",
                router.name,
                run.bound.msg_per_s(options)
            ));
            runs.push(run);
        }
    }
    let rows = options.configurations.iter().zip(&runs);
    Ok(Report { rows: rows.map(|(configuration, runs)| Row::of(options, *configuration, runs)).collect() })
}

/// Is one node of a benchmark that another process runs: orders come over standard input, which is a socket; standard output is the
/// way of the feedback.
///
/// `routers` are those that the benchmark may name.
///
/// # Errors
/// [`MacroError::Node`] if these are not what they should be.
pub fn serve_process(routers: &[Router]) -> Result<(), MacroError> {
    let orphan = |source: std::io::Error| MacroError::Node(format!("no benchmark has started this process: {source}"));
    let control = std::io::stdin().as_fd().try_clone_to_owned().map_err(orphan)?;
    let feedback = std::io::stdout().as_fd().try_clone_to_owned().map_err(orphan)?;
    node::serve(UnixStream::from(control), feedback, routers, nothing_counted).map_err(orphan)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_out_of_bounds_are_refused_before_anything_starts() {
        let right = || Options {
            messages: 1,
            warmup: 0,
            seed: 42,
            window: 1,
            peers: 1,
            hops: 1,
            processes: 1,
            net_workers: 0,
            runs: 1,
            configurations: Vec::new(),
            moved_bytes: nothing_counted,
        };
        assert!(run(&right(), |_| ()).is_ok_and(|report| report.rows.is_empty()));
        for (wrong, option) in [
            (Options { messages: 0, ..right() }, "messages"),
            (Options { window: WINDOW_MAX + 1, ..right() }, "window"),
            (Options { runs: 0, ..right() }, "runs"),
            (Options { peers: PEERS_MAX + 1, ..right() }, "peers"),
            (Options { hops: 3, ..right() }, "hops"),
            (Options { processes: 0, ..right() }, "processes"),
            (Options { net_workers: 1, ..right() }, "processes"),
        ] {
            let error = run(&wrong, |_| ()).expect_err(option).to_string();
            assert!(error.starts_with(&format!("--{option}=")), "{error}");
        }
    }
}
