//! What the benchmark prints: one row per configuration, as a table, CSV or JSON. MB are 10⁶ bytes.

use levada_engine::Placement;
use levada_wire::hash::Hex;
use serde::Serialize;

use crate::median::median;
use crate::micro::harness::Run;
use crate::micro::options::{Configuration, Options};
use crate::render::{self, Reported};
use crate::workload;

/// Runs further apart than this are flagged as noisy.
const SPREAD_PCT_MAX: f64 = 5.0;

/// Below this share of the rate asked for, messages piled up before the path, and their latencies say how long it went on.
const ACHIEVED_SHARE_MIN: f64 = 0.95;

/// Bytes of the digest of the work that are printed.
const WORK_BYTES: usize = 8;

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
    pub placement: String,
    pub hash: String,
    pub kernel: String,
    pub digests: usize,
    pub msgs: usize,
    pub rounds: usize,
    pub payload_profile: String,
    pub work: String,
    pub wall_ms: f64,
    pub msg_per_s: f64,
    pub rate_msg_per_s: u64,
    pub achieved_msg_per_s: f64,
    pub ns_per_msg_p50: u64,
    pub ns_per_msg_p99: u64,
    pub ns_per_msg_max: u64,
    pub decodes_per_msg: f64,
    pub hashes_per_msg: f64,
    pub ids_per_msg: f64,
    pub hashed_MB: f64,
    pub decoded_MB: f64,
    pub copies_per_msg: f64,
    pub copied_MB: f64,
    pub allocs_per_msg: f64,
    pub peak_heap_MB: f64,
    pub arena_MB: f64,
    pub huge_MB: f64,
    pub rss_MB: f64,
    pub retained_MB: f64,
    pub sha2_msg_per_s: f64,
    pub sha2_GB_per_s: f64,
    pub ratio_to_sha2: f64,
    pub disk_msg_per_s: f64,
    pub disk_MB_per_s: f64,
    pub ratio_to_disk: f64,
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
    pub(super) fn of(options: &Options, configuration: &Configuration, runs: &[Run]) -> Self {
        let per_message = |total: u64| total as f64 / options.messages as f64;
        let of_runs = |value: &dyn Fn(&Run) -> f64| median(runs.iter().map(value).collect());
        let rate = |run: &Run| messages_per_second(options.messages * run.rounds, run.measured_ns);
        let sha2_rate = |run: &Run| messages_per_second(options.messages * run.rounds, run.sha2_ns);
        let disk_rate = |run: &Run| match run.disk_ns {
            0 => 0.0,
            disk_ns => messages_per_second(options.messages * run.rounds, disk_ns),
        };
        let to_disk = |run: &Run| if run.disk_ns == 0 { 0.0 } else { rate(run) / disk_rate(run) };
        let latency = |pct: u64| of_runs(&|run| run.latencies_ns.percentile(pct) as f64) as u64;
        let rates: Vec<f64> = runs.iter().map(rate).collect();
        let (lowest, highest) =
            rates.iter().fold((f64::MAX, 0.0_f64), |(low, high), rate| (low.min(*rate), high.max(*rate)));
        let spread_pct = (highest - lowest) * 100.0 / median(rates);
        let counts = runs[0].counts;
        let asked = options.rate_msg_per_s.unwrap_or(0);
        Self {
            scenario: "micro".to_owned(),
            archive: configuration.archive.label(),
            workers: configuration.workers,
            placement: placement_label(options.placement).to_owned(),
            hash: configuration.hash.label().to_owned(),
            kernel: runs[0].kernel.name().to_owned(),
            digests: options.digests.count(),
            msgs: options.messages,
            rounds: of_runs(&|run| run.rounds as f64) as usize,
            payload_profile: workload::PROFILE_NAME.to_owned(),
            work: Hex(&runs[0].work[..WORK_BYTES]).to_string(),
            wall_ms: of_runs(&|run| run.measured_ns as f64 / run.rounds as f64 / 1e6),
            msg_per_s: of_runs(&rate),
            rate_msg_per_s: asked,
            achieved_msg_per_s: of_runs(&|run| asked as f64 * run.scheduled_ns as f64 / run.measured_ns.max(1) as f64),
            ns_per_msg_p50: latency(50),
            ns_per_msg_p99: latency(99),
            ns_per_msg_max: latency(100),
            decodes_per_msg: per_message(counts.decodes),
            hashes_per_msg: per_message(counts.hashes),
            ids_per_msg: per_message(counts.ids),
            hashed_MB: megabytes(counts.hashed_bytes),
            decoded_MB: megabytes(counts.decoded_bytes),
            copies_per_msg: per_message(counts.copies),
            copied_MB: megabytes(counts.copied_bytes),
            allocs_per_msg: of_runs(&|run| run.allocations.percentile(50) as f64 / options.messages as f64),
            peak_heap_MB: of_runs(&|run| megabytes(run.heap_bytes_max)),
            arena_MB: of_runs(&|run| megabytes(run.arena_bytes)),
            huge_MB: of_runs(&|run| megabytes(run.huge_bytes)),
            rss_MB: of_runs(&|run| megabytes(run.rss_bytes)),
            retained_MB: of_runs(&|run| megabytes(run.retained_bytes)),
            sha2_msg_per_s: of_runs(&sha2_rate),
            sha2_GB_per_s: of_runs(&|run| run.sha2_bytes as f64 / run.sha2_ns.max(1) as f64),
            ratio_to_sha2: of_runs(&|run| rate(run) / sha2_rate(run)),
            disk_msg_per_s: of_runs(&disk_rate),
            disk_MB_per_s: of_runs(&|run| run.disk_bytes as f64 * 1e3 / run.disk_ns.max(1) as f64),
            ratio_to_disk: of_runs(&to_disk),
            runs: runs.len(),
            spread_pct,
            noisy: spread_pct > SPREAD_PCT_MAX,
        }
    }
}

impl Row {
    /// The path took messages in as fast as they arrived, or there was no rate to keep up with.
    pub fn kept_up(&self) -> bool {
        self.achieved_msg_per_s >= self.rate_msg_per_s as f64 * ACHIEVED_SHARE_MIN
    }
}

const fn placement_label(placement: Placement) -> &'static str {
    match placement {
        Placement::PerCore => "per-core",
        Placement::Dedicated => "dedicated",
        Placement::Invoker => "invoker",
    }
}

fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

/// One row per configuration, in the order asked for.
pub type Report = render::Report<Row>;

impl Reported for Row {
    const FOOTER: &'static str = FOOTER;
}

const FOOTER: &str = "
Counts and MB (10^6 bytes) are of one round over msgs messages; ns_per_msg is from taken to done, with the window full.
With a rate (open loop) it is from when a message was due, on a seeded Poisson schedule, to done; achieved_msg_per_s below
rate_msg_per_s means that the path did not keep up, and then latencies grow with the length of a round.
kernel is the one that the batches of most messages were begun with; fewer lanes follow when few messages are left.
hashes_per_msg are message hashes; the second of two digests, the message id, shows in ids_per_msg and in hashed_MB.
ratio_to_sha2 is msg_per_s / sha2_msg_per_s, a bare loop of the sha2 crate on one core between the rounds.
ratio_to_disk is msg_per_s / disk_msg_per_s: the same slots written between the rounds to the archive's disk as the archive
writes them, with as many syncs, and nothing else; 0 where no archive is on a disk.
allocs_per_msg is of the median round; in the first one, an archive in memory still grows.
huge_MB of the arena lie in huge pages.
peak_heap is the allocator's peak plus the slots in use; SQLite's own memory shows in rss_MB only, which is of the whole
process, with what earlier configurations left to the allocator.
The index of store-sync, in which each message is entered, is part of the path, as in nwaku's scenario.
For comparison, published by nwaku for its micro scenario, on another machine (Apple M4), not measured here:
  1 223 msg/s with 4 decodes and 3 hashes per message; 2 274 msg/s after its own no-copy work (2 decodes, 1 hash).
";
