//! There and back between two cores: a batch through a ring and another through a second, against one bare cache line.
//!
//! The asking thread stamps every trip, through rings and over the bare line alike, and a sample is the median trip.
//! Two rings are two lines at least, each written by one side only, and two bare lines take twice as long as one.

use std::time::Instant;

use std::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Release},
};

use crossbeam::utils::CachePadded;
use levada_engine::ring::{CAPACITY_MIN, spsc};

use crate::engine::Effort;
use crate::pair::{Sample, two};
use crate::row::{Contest, Row};

/// Round trips in a sample.
const TRIPS: usize = 2_000;

/// `limit`: how many times the bare line a round trip may take.
pub fn row(measure: &'static str, batch: usize, limit: f64, effort: Effort) -> Row {
    let trips = TRIPS / effort.less;
    Contest::new(measure, "ns", 1.0 / limit)
        .with("levada", move || rings(batch, trips))
        .with("bare cache line", move || line(trips))
        .run(effort.rounds)
}

/// A link on which every batch is waited for is one of the least capacity: its ring is laid out for that.
fn rings(batch: usize, trips: usize) -> Sample {
    let (mut there, mut arriving) = spsc::ring(CAPACITY_MIN);
    let (mut back, mut returning) = spsc::ring(CAPACITY_MIN);
    let receive = |from: &mut spsc::Consumer, indices: &mut [u32]| {
        let mut received = 0;
        while received < indices.len() {
            received += from.pop_batch(&mut indices[received..]);
        }
    };
    let mut times_ns = vec![0; trips];
    let ask = || {
        let (sent, mut indices) = (vec![7; batch], vec![0; batch]);
        for taken_ns in &mut times_ns {
            let began = Instant::now();
            assert_eq!(there.push_batch(&sent), batch);
            receive(&mut returning, &mut indices);
            *taken_ns = began.elapsed().as_nanos() as u64;
        }
    };
    let answer = || {
        let mut indices = vec![0; batch];
        for _ in 0..trips {
            receive(&mut arriving, &mut indices);
            assert_eq!(back.push_batch(&indices), batch);
        }
    };
    let (_, switches) = two(ask, answer);
    median(times_ns, switches)
}

fn median(mut times_ns: Vec<u64>, switches: u64) -> Sample {
    times_ns.sort_unstable();
    Sample { value: times_ns[times_ns.len() / 2] as f64, switches }
}

/// The least that two cores need to answer each other: one word, written by turns.
fn line(trips: usize) -> Sample {
    let line = CachePadded::new(AtomicU64::new(0));
    let wait = |value: u64| while line.load(Acquire) != value {};
    let mut times_ns = vec![0; trips];
    let ask = || {
        for (trip, taken_ns) in (0..).zip(&mut times_ns) {
            let began = Instant::now();
            line.store(2 * trip + 1, Release);
            wait(2 * trip + 2);
            *taken_ns = began.elapsed().as_nanos() as u64;
        }
    };
    let answer = || {
        for trip in 0..trips as u64 {
            wait(2 * trip + 1);
            line.store(2 * trip + 2, Release);
        }
    };
    let (_, switches) = two(ask, answer);
    median(times_ns, switches)
}
