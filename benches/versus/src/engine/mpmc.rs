//! Many producers and many consumers, more threads than cores: nanoseconds per index, and what the placement does to
//! it.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use crossbeam::queue::ArrayQueue;
use levada_engine::ring::mpmc::Ring;

use crate::engine::Effort;
use crate::engine::rivals::{Mpmc, Pop, Push};
use crate::pair::{Sample, SpinThenYield, together};
use crate::row::{Contest, Row};

const CAPACITY: usize = 1_024;

/// Indices in a sample, of each placement.
const INDICES: usize = 1 << 16;

/// Where the threads run; producers come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Placement {
    /// Wherever the system puts them.
    Unbound,
    /// As many producers as consumers on each core.
    Mixed,
    /// All producers on one core, all consumers on the other.
    Apart,
}

const PLACEMENTS: [Placement; 3] = [Placement::Unbound, Placement::Mixed, Placement::Apart];

impl Placement {
    fn cores(self, each: usize) -> Vec<Option<usize>> {
        let core = |thread: usize| match self {
            Self::Unbound => None,
            Self::Mixed => Some(thread % 2),
            Self::Apart => Some(thread / each),
        };
        (0..2 * each).map(core).collect()
    }
}

/// The median over a contest is of the three placements together.
pub fn row(measure: &'static str, each: usize, batch: usize, bar: f64, effort: Effort) -> Row {
    let count = INDICES / effort.less;
    Contest::new(measure, "ns/index", bar)
        .tolerate_switches()
        .with("levada", move || all(|placement| ours(placement, each, batch, count)))
        .with("crossbeam ArrayQueue", move || all(|placement| array_queue(placement, each, batch, count)))
        .run(effort.rounds)
}

/// The slowest placement against the fastest, batch 32, two by two and four by four.
pub fn collapse(measure: &'static str, effort: Effort) -> Row {
    let count = INDICES / effort.less;
    let mut worst: Option<Row> = None;
    for each in [2, 4] {
        let of = |placement| move || ours(placement, each, 32, count);
        let name = |placement| format!("levada {each}x{each} {placement:?}");
        let contest = PLACEMENTS
            .into_iter()
            .fold(Contest::new(measure, "ns/index", 0.25).tolerate_switches(), |contest, placement| {
                contest.with(&name(placement), of(placement))
            });
        let row = slowest_first(contest.run(effort.rounds));
        if worst.as_ref().is_none_or(|worst| row.ratio < worst.ratio) {
            worst = Some(row);
        }
    }
    worst.expect("two contests were held")
}

/// Ours is the slowest placement, the rival the fastest.
fn slowest_first(mut row: Row) -> Row {
    let by_time = |a: &&(String, f64), b: &&(String, f64)| a.1.total_cmp(&b.1);
    let fastest = row.all.iter().min_by(by_time).cloned().expect("there are placements");
    let slowest = row.all.iter().max_by(by_time).cloned().expect("there are placements");
    let ratio = fastest.1 / slowest.1;
    (row.ours, row.rival, row.rival_name) = (slowest.1, Some(fastest.1), Some(fastest.0));
    (row.ratio, row.holds) = (Some(ratio), ratio >= row.bar);
    row
}

fn all(mut sample: impl FnMut(Placement) -> Sample) -> Sample {
    let samples = PLACEMENTS.map(&mut sample);
    let mean = samples.iter().map(|sample| sample.value).sum::<f64>() / samples.len() as f64;
    Sample { value: mean, switches: samples.iter().map(|sample| sample.switches).sum() }
}

fn ours(placement: Placement, each: usize, batch: usize, count: usize) -> Sample {
    let ring = Ring::new(CAPACITY);
    run(placement, each, batch, count, || Mpmc(&ring), || Mpmc(&ring))
}

fn array_queue(placement: Placement, each: usize, batch: usize, count: usize) -> Sample {
    let queue = ArrayQueue::new(CAPACITY);
    run(placement, each, batch, count, || &queue, || &queue)
}

fn run<U: Push, O: Pop>(
    placement: Placement,
    each: usize,
    batch: usize,
    count: usize,
    push: impl Fn() -> U + Sync,
    pop: impl Fn() -> O + Sync,
) -> Sample {
    let (popped, sum) = (AtomicUsize::new(0), AtomicU64::new(0));
    let share = count / each;
    let (elapsed, switches) = together(&placement.cores(each), |thread| {
        if thread < each {
            produce(push(), thread * share..(thread + 1) * share, batch);
        } else {
            sum.fetch_add(consume(pop(), &popped, share * each, batch), Relaxed);
        }
    });
    assert_eq!(sum.into_inner(), (0..(share * each) as u64).sum::<u64>(), "every index comes through once");
    Sample::per(share * each, elapsed, switches)
}

fn produce(mut push: impl Push, numbers: std::ops::Range<usize>, batch: usize) {
    let numbers: Vec<u32> = numbers.map(|number| number as u32).collect();
    let mut waiting = SpinThenYield::default();
    for mut left in numbers.chunks(batch) {
        while !left.is_empty() {
            let pushed = push.push(left);
            left = &left[pushed..];
            if pushed == 0 { waiting.wait() } else { waiting.reset() }
        }
    }
}

/// Pops until all consumers together have `count`; returns the sum of its own.
fn consume(mut pop: impl Pop, popped: &AtomicUsize, count: usize, batch: usize) -> u64 {
    let (mut indices, mut waiting, mut sum, mut unreported) = (vec![0; batch], SpinThenYield::default(), 0, 0);
    loop {
        let some = pop.pop(&mut indices);
        sum += indices[..some].iter().map(|index| u64::from(*index)).sum::<u64>();
        unreported += some;
        if some > 0 {
            waiting.reset();
            continue;
        }
        // Told to the others only now, so that counting costs the contest nothing.
        if unreported > 0 {
            popped.fetch_add(std::mem::take(&mut unreported), Relaxed);
        }
        if popped.load(Relaxed) >= count {
            return sum;
        }
        waiting.wait();
    }
}
