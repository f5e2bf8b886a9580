//! What is said between the benchmark and its nodes: one line of JSON each.

use std::io;

use levada_benches::micro::Counts;
use levada_benches::workload;
use serde::{Deserialize, Serialize};

/// What a node is there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    /// Publishes.
    Publisher,
    /// Stands in the middle.
    Relay,
    /// Handles messages; the number says in the feedback which receiver it is.
    Receiver(u32),
}

/// The first line a node reads.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Setup {
    /// What it is there for.
    pub role: Role,
    /// Which of the cores it binds itself to, counted round.
    pub core: usize,
    /// Its router, by its name.
    pub router: String,
    /// Its transport, by its name.
    pub transport: String,
    /// Addresses it connects to.
    pub dial: Vec<String>,
    /// The messages.
    pub work: Workload,
    /// Most messages in flight.
    pub window: usize,
    /// How many receivers give feedback.
    pub receivers: usize,
    /// Threads of the node that connections are spread over; with none, they are on the node's own.
    pub net_workers: usize,
}

/// The messages of a run: those measured are numbered from 0, those of the warm-up come behind them.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Workload {
    /// The seed.
    pub seed: u64,
    /// Messages measured.
    pub messages: usize,
    /// Messages of the warm-up.
    pub warmup: usize,
}

impl Workload {
    /// Payload sizes of the messages measured.
    pub fn measured(&self) -> Vec<usize> {
        workload::payload_sizes(self.seed, self.messages)
    }

    /// Payload sizes of the warm-up.
    pub fn warm_up(&self) -> Vec<usize> {
        workload::payload_sizes(self.seed.wrapping_add(1), self.warmup)
    }

    /// The sum over all messages measured, in whatever order.
    pub fn sum(&self) -> u64 {
        let sizes = self.measured();
        sizes.iter().enumerate().fold(0, |sum, (number, bytes)| sum ^ work_of(number as u64, *bytes))
    }
}

/// What one message adds, by exclusive or, to the sum of the work: its number and the length of its payload, mixed.
pub fn work_of(number: u64, payload_bytes: usize) -> u64 {
    workload::SplitMix64::new(number ^ (payload_bytes as u64).rotate_left(32)).next_u64()
}

/// What a node is told after its set-up. The end of the stream ends the node.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub enum Order {
    /// Wait until so many peers are in the mesh.
    Mesh {
        /// How many.
        peers: usize,
    },
    /// Publish the warm-up or the messages measured, and wait until every receiver has handled them.
    Publish {
        /// The warm-up.
        warm_up: bool,
    },
    /// Counters and clocks begin here.
    Begin,
    /// And end here.
    End,
}

/// What a node says.
#[derive(Debug, Serialize, Deserialize)]
pub enum Answer {
    /// It is set up, and listens here.
    Listening {
        /// The address, with the peer id.
        address: String,
    },
    /// The order was followed.
    Done,
    /// All messages were published and handled.
    Published {
        /// From the first publication to the last feedback, in nanoseconds.
        wall_ns: u64,
    },
    /// What was counted between begin and end.
    Measured(Box<Measured>),
    /// It cannot go on.
    Failed {
        /// Why.
        reason: String,
    },
}

/// What a node has counted.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct Measured {
    /// The counters of production, those of the node's threads.
    pub counts: Counts,
    /// Times that a thread of the node has woken another one for a connection or for the path.
    pub wakes: u64,
    /// Processor time of the node's threads, in nanoseconds.
    pub cpu_ns: u64,
    /// Bytes moved by the thread's calls of `memcpy`, where the program counts them.
    pub moved_bytes: u64,
    /// Most resident memory of the node's process so far, in bytes.
    pub rss_bytes_max: u64,
    /// Payload memory of the node's arena, touched or not, in bytes.
    pub arena_bytes: u64,
    /// What its handler saw.
    pub handled: Handled,
}

/// What a handler has seen.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct Handled {
    /// Messages.
    pub messages: u64,
    /// The sum over them, see [`work_of`].
    pub work: u64,
    /// From the publication to the handler, in nanoseconds: the median, the 99th percentile and the longest.
    pub latency_ns: [u64; 3],
    /// Between one message and the next, in nanoseconds: the median and the 99th percentile.
    pub interarrival_ns: [u64; 2],
}

/// A line, with its end.
pub fn line_of(said: &impl Serialize) -> String {
    serde_json::to_string(said).expect("what is said is plain numbers and strings") + "\n"
}

/// What a line says.
pub fn said<'a, T: Deserialize<'a>>(line: &'a str) -> io::Result<T> {
    serde_json::from_str(line).map_err(io::Error::from)
}
