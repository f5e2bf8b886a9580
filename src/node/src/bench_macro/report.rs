//! What the benchmark prints: one row per configuration, as a table, CSV or JSON. MB are 10⁶ bytes.

use levada_benches::median::median;
use levada_benches::micro::Counts;
use levada_benches::render::{self, Reported};
use levada_benches::workload;
use serde::Serialize;

use super::bound::Bound;
use super::host::Nodes;
use super::orders::Measured;
use super::{Configuration, Options};

/// Runs further apart than this are flagged as noisy.
const SPREAD_PCT_MAX: f64 = 5.0;

/// One run of a configuration, and the bound right after it.
pub(super) struct Run {
    pub nodes: Nodes,
    pub bound: Bound,
}

impl Run {
    /// Messages per second until every receiver has handled the last.
    pub fn msg_per_s(&self, options: &Options) -> f64 {
        options.messages as f64 * 1e9 / self.nodes.wall_ns.max(1) as f64
    }

    /// The sum of a figure over the receivers, per message.
    fn rx(&self, options: &Options, figure: fn(&Measured) -> u64) -> f64 {
        let sum: u64 = self.nodes.receivers.iter().map(figure).sum();
        sum as f64 / (options.messages * options.peers) as f64
    }

    fn tx(&self, options: &Options, figure: fn(&Measured) -> u64) -> f64 {
        figure(&self.nodes.publisher) as f64 / options.messages as f64
    }

    /// The relay's; nothing without one.
    fn relay(&self, options: &Options, figure: fn(&Measured) -> u64) -> f64 {
        self.nodes.relay.as_ref().map_or(0, figure) as f64 / options.messages as f64
    }

    /// A latency or pause, the longest of all receivers.
    fn slowest(&self, figure: impl Fn(&Measured) -> u64) -> f64 {
        self.nodes.receivers.iter().map(figure).max().unwrap_or_default() as f64
    }
}

/// The results of one configuration: medians over its runs.
#[derive(Debug, Clone, Serialize)]
#[expect(
    missing_docs,
    non_snake_case,
    reason = "the fields are the columns of the report, named and described in its footer"
)]
pub struct Row {
    pub scenario: String,
    pub archive: String,
    pub workers: usize,
    pub placement: String,
    pub hash: String,
    pub digests: usize,
    pub router: String,
    pub transport: String,
    pub peers: usize,
    pub hops: usize,
    pub processes: usize,
    pub net_workers: usize,
    pub window: usize,
    pub msgs: usize,
    pub payload_profile: String,
    pub work: String,
    pub wall_ms: f64,
    pub msg_per_s: f64,
    pub bound_msg_per_s: f64,
    pub ratio_to_bound: f64,
    pub sha2_msg_per_s: f64,
    pub ratio_to_sha2: f64,
    pub ns_per_msg_p50: u64,
    pub ns_per_msg_p99: u64,
    pub ns_per_msg_max: u64,
    pub interarrival_ns_p50: u64,
    pub interarrival_ns_p99: u64,
    #[serde(flatten)]
    pub nodes: NodeColumns,
    pub rss_peak_MB: f64,
    pub arena_MB: f64,
    pub runs: usize,
    pub spread_pct: f64,
    pub noisy: bool,
}

impl Row {
    /// The medians of `runs`, which is not empty.
    pub(super) fn of(options: &Options, configuration: Configuration, runs: &[Run]) -> Self {
        let of_runs = |value: &dyn Fn(&Run) -> f64| median(runs.iter().map(value).collect());
        let (rate, bound) = (|run: &Run| run.msg_per_s(options), |run: &Run| run.bound.msg_per_s(options));
        let sha2 = |run: &Run| run.bound.sha2_msg_per_s(options);
        let latency = |rank: usize| of_runs(&|run| run.slowest(|node| node.handled.latency_ns[rank])) as u64;
        let pause = |rank: usize| of_runs(&|run| run.slowest(|node| node.handled.interarrival_ns[rank])) as u64;
        let spread_pct = spread_pct(runs.iter().map(rate).collect());
        Self {
            scenario: "macro".to_owned(),
            archive: "memory".to_owned(),
            workers: 1,
            placement: "invoker".to_owned(),
            hash: "multi".to_owned(),
            digests: 2,
            router: configuration.router.name.to_owned(),
            transport: configuration.transport.to_string(),
            peers: options.peers,
            hops: options.hops,
            processes: options.processes,
            net_workers: options.net_workers,
            window: options.window,
            msgs: options.messages,
            payload_profile: workload::PROFILE_NAME.to_owned(),
            work: format!("{:016x}", runs[0].nodes.receivers[0].handled.work),
            wall_ms: of_runs(&|run| run.nodes.wall_ns as f64 / 1e6),
            msg_per_s: of_runs(&rate),
            bound_msg_per_s: of_runs(&bound),
            ratio_to_bound: of_runs(&|run| rate(run) / bound(run)),
            sha2_msg_per_s: of_runs(&sha2),
            ratio_to_sha2: of_runs(&|run| rate(run) / sha2(run)),
            ns_per_msg_p50: latency(0),
            ns_per_msg_p99: latency(1),
            ns_per_msg_max: latency(2),
            interarrival_ns_p50: pause(0),
            interarrival_ns_p99: pause(1),
            nodes: NodeColumns::of(options, runs),
            rss_peak_MB: of_runs(&|run| run.nodes.rss_bytes_max as f64 / 1e6),
            arena_MB: of_runs(&|run| run.nodes.publisher.arena_bytes as f64 / 1e6),
            runs: runs.len(),
            spread_pct,
            noisy: spread_pct > SPREAD_PCT_MAX,
        }
    }
}

/// What was counted at the nodes, each for itself: a receiver, the mean of several, the publisher, the relay node.
#[derive(Debug, Clone, Serialize)]
#[expect(
    missing_docs,
    non_snake_case,
    reason = "the fields are the columns of the report, named and described in its footer"
)]
pub struct NodeColumns {
    pub rx_decodes_per_msg: f64,
    pub tx_decodes_per_msg: f64,
    pub rx_hashes_per_msg: f64,
    pub tx_hashes_per_msg: f64,
    pub rx_id_hashes_per_msg: f64,
    pub tx_id_hashes_per_msg: f64,
    pub rx_hashed_MB: f64,
    pub tx_hashed_MB: f64,
    pub rx_decoded_MB: f64,
    pub tx_decoded_MB: f64,
    pub rx_copies_per_msg: f64,
    pub rx_archive_copies_per_msg: f64,
    pub tx_copies_per_msg: f64,
    pub rx_copied_MB: f64,
    pub tx_copied_MB: f64,
    pub rx_allocs_per_msg: f64,
    pub tx_allocs_per_msg: f64,
    pub relay_allocs_per_msg: f64,
    pub rx_wakes_per_msg: f64,
    pub tx_wakes_per_msg: f64,
    pub relay_wakes_per_msg: f64,
    pub rx_cpu_ns_per_msg: f64,
    pub tx_cpu_ns_per_msg: f64,
    pub relay_cpu_ns_per_msg: f64,
    /// What `memcpy` moved, where the program counts it; no column, because it is a fact about the program.
    #[serde(skip)]
    pub rx_moved_MB: f64,
    #[serde(skip)]
    pub tx_moved_MB: f64,
}

impl NodeColumns {
    /// The medians of `runs`.
    fn of(options: &Options, runs: &[Run]) -> Self {
        let of_runs = |value: &dyn Fn(&Run) -> f64| median(runs.iter().map(value).collect());
        let rx = |figure: fn(&Measured) -> u64| of_runs(&|run| run.rx(options, figure));
        let tx = |figure: fn(&Measured) -> u64| of_runs(&|run| run.tx(options, figure));
        let relay = |figure: fn(&Measured) -> u64| of_runs(&|run| run.relay(options, figure));
        let megabytes = |per_message: f64| per_message * options.messages as f64 / 1e6;
        Self {
            rx_decodes_per_msg: rx(|node| node.counts.decodes),
            tx_decodes_per_msg: tx(|node| node.counts.decodes),
            rx_hashes_per_msg: rx(|node| node.counts.hashes),
            tx_hashes_per_msg: tx(|node| node.counts.hashes),
            rx_id_hashes_per_msg: rx(|node| node.counts.ids),
            tx_id_hashes_per_msg: tx(|node| node.counts.ids),
            rx_hashed_MB: megabytes(rx(|node| node.counts.hashed_bytes)),
            tx_hashed_MB: megabytes(tx(|node| node.counts.hashed_bytes)),
            rx_decoded_MB: megabytes(rx(|node| node.counts.decoded_bytes)),
            tx_decoded_MB: megabytes(tx(|node| node.counts.decoded_bytes)),
            rx_copies_per_msg: rx(|node| path_copies(&node.counts)),
            rx_archive_copies_per_msg: rx(|node| node.counts.archive_copies),
            tx_copies_per_msg: tx(|node| path_copies(&node.counts)),
            rx_copied_MB: megabytes(rx(|node| node.counts.copied_bytes)),
            tx_copied_MB: megabytes(tx(|node| node.counts.copied_bytes)),
            rx_allocs_per_msg: rx(|node| node.counts.allocations),
            tx_allocs_per_msg: tx(|node| node.counts.allocations),
            relay_allocs_per_msg: relay(|node| node.counts.allocations),
            rx_wakes_per_msg: rx(|node| node.wakes),
            tx_wakes_per_msg: tx(|node| node.wakes),
            relay_wakes_per_msg: relay(|node| node.wakes),
            rx_cpu_ns_per_msg: rx(|node| node.cpu_ns),
            tx_cpu_ns_per_msg: tx(|node| node.cpu_ns),
            relay_cpu_ns_per_msg: relay(|node| node.cpu_ns),
            rx_moved_MB: megabytes(rx(|node| node.moved_bytes)),
            tx_moved_MB: megabytes(tx(|node| node.moved_bytes)),
        }
    }
}

/// All but the one into the archive.
fn path_copies(counts: &Counts) -> u64 {
    counts.copies - counts.archive_copies
}

/// How far the highest is from the lowest, in per cent of the median.
fn spread_pct(rates: Vec<f64>) -> f64 {
    let highest = rates.iter().copied().fold(0.0, f64::max);
    let lowest = rates.iter().copied().fold(f64::MAX, f64::min);
    (highest - lowest) * 100.0 / median(rates)
}

/// One row per configuration, in the order asked for.
pub type Report = render::Report<Row>;

impl Reported for Row {
    const FOOTER: &'static str = FOOTER;
}

const FOOTER: &str = "
Medians over the runs. Counts and MB (10^6 bytes) are of msgs messages: rx_ of a receiver (the mean of several), tx_ of the publisher,
relay_ of the node between them (two hops). ns_per_msg is from the publication to the handler, behind the archive, with the window full;
interarrival_ns is between two messages at the handler; with several receivers both are those of the slowest.
placement invoker: the node's one thread turns the path itself, whenever the network brings something.
rx_copies_per_msg are payload copies by our own code up to the archive, which makes rx_archive_copies_per_msg; those that libp2p makes
inside are in no counter. wakes: a thread of the node woke another one, for a connection or the path. cpu_ns is processor time of a node's
threads, system calls included.
bound_msg_per_s: a bare TCP sender with a length prefix, ChaCha20-Poly1305 in place and one SHA-256, right after each run, on the
same cores; ratio_to_bound is the median of msg_per_s / bound_msg_per_s of neighbours. sha2: a bare loop of that crate over the messages.
rss_peak is of all nodes together: of the process they share (with one process, what earlier runs left is in it), or of two and more.
";
