//! The command line.

use std::path::PathBuf;

use clap::Parser;

/// Puts two nodes under load for a while, restarts one of them half way, and checks that nothing is lost and that memory stays flat.
/// Exits with 0 if all holds, with 1 if something does not, with 2 if it could not be run.
#[derive(Parser, Debug)]
#[command(name = "levada-load", version)]
pub struct Options {
    /// The binary of the nodes.
    #[arg(long, default_value = "target/release/levada")]
    pub levada: PathBuf,
    /// How long messages are sent, in seconds.
    #[arg(long, default_value_t = 120)]
    pub seconds: u64,
    /// Messages per second of all relay peers together.
    #[arg(long, default_value_t = 500)]
    pub rate: u64,
    /// Relay peers that publish; each is connected to both nodes.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=100))]
    pub relay_peers: u64,
    /// Filter subscribers; each is subscribed at both nodes, to one content topic.
    #[arg(long, default_value_t = 100)]
    pub subscribers: usize,
    /// Content topics; message N is on topic N modulo this.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    pub content_topics: u64,
    /// Payload of a message, in bytes.
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(16..=100_000))]
    pub payload_bytes: u64,
    /// Messages per second by lightpush, besides those of the relay peers.
    #[arg(long, default_value_t = 5)]
    pub lightpush_rate: u64,
    /// Store queries per second.
    #[arg(long, default_value_t = 5)]
    pub query_rate: u64,
    /// How much the memory of a node may grow, in per cent: the median of its last quarter against that of its second quarter.
    #[arg(long, default_value_t = 10)]
    pub growth_pct_max: u64,
    /// Where the plot goes.
    #[arg(long, default_value = "target/load.svg")]
    pub plot: PathBuf,
}
