//! Processor time of a started topology that has nothing to do, after it had something to do.

use std::time::{Duration, Instant};

use levada_engine::{Arena, ArenaConfig, ClassConfig, Drained, LinkConfig, TopologyBuilder, Wait, Waker};

use crate::engine::Effort;
use crate::engine::pass::Pass;
use crate::machine::processor_ns;
use crate::row::{Row, absolute};

/// A hundredth of a core.
const LIMIT_PCT: f64 = 1.0;

/// Samples, of a second each.
const ROUNDS_MAX: usize = 5;

/// Two workers, as many as the machine of the record has cores.
pub fn row(measure: &'static str, wait: Wait, effort: Effort) -> Row {
    let classes = vec![ClassConfig { payload_bytes: 256, slots: 64 }];
    let arena = Arena::new(&ArenaConfig { classes, huge_pages: false, prefault: false }).expect("a small arena");
    let mut drawing = TopologyBuilder::new(arena.clone());
    let stages = ["a", "b"].map(|name| {
        let worker = drawing.worker(name);
        drawing.stage(worker, name, Pass)
    });
    drawing.link(stages[0], "out", stages[1]);
    let source = drawing.source("in", stages[0], 256);
    let mut sink = drawing.sink("end", stages[1], "out", LinkConfig::default(), Waker::from_callback(|| ()));
    drawing.default_wait(wait);
    let running = drawing.build().expect("the drawing is valid").run().expect("threads start");
    let idle = Duration::from_millis(1_000 / effort.less.min(4) as u64);
    let row = absolute(measure, "% of a core", LIMIT_PCT, effort.rounds.min(ROUNDS_MAX), || {
        source.push(arena.claim(8).expect("a free slot").share()).expect("an open topology with room");
        while sink.pop().is_none() {
            std::thread::yield_now();
        }
        let (before, began) = (processor_ns(), Instant::now());
        std::thread::sleep(idle);
        (processor_ns() - before) as f64 * 100.0 / began.elapsed().as_nanos() as f64
    });
    assert_eq!(running.drain(Duration::from_secs(10)), Drained::Complete);
    row
}
