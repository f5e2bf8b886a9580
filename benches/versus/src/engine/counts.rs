//! What a message costs in allocations and payload copies once a topology runs: nothing, by the counters.

use std::time::Duration;

use levada_engine::heap::allocations_total;
use levada_engine::{
    Arena, ArenaConfig, ClassConfig, Drained, LinkConfig, PAYLOAD_COPIES, Sink, Source, TopologyBuilder, Waker,
};

use crate::engine::Effort;
use crate::engine::pass::Pass;
use crate::row::{Row, absolute};

const MESSAGES: u64 = 100_000;
const WARM_UP: u64 = 2_000;
const WINDOW: u64 = 128;

pub fn allocations(measure: &'static str, effort: Effort) -> Row {
    row(measure, effort, allocations_total)
}

pub fn copies(measure: &'static str, effort: Effort) -> Row {
    row(measure, effort, || PAYLOAD_COPIES.value())
}

/// Three stages on two workers; the counter's growth per message, once warm.
fn row(measure: &'static str, effort: Effort, counter: impl Fn() -> u64) -> Row {
    let messages = MESSAGES / effort.less as u64;
    let classes = vec![ClassConfig { payload_bytes: 256, slots: 1_024 }];
    let arena = Arena::new(&ArenaConfig { classes, huge_pages: false, prefault: false }).expect("a small arena");
    let mut drawing = TopologyBuilder::new(arena);
    let workers = ["near", "far"].map(|name| drawing.worker(name));
    let stages = [(0, "a"), (1, "b"), (0, "c")].map(|(worker, name)| drawing.stage(workers[worker], name, Pass));
    drawing.link(stages[0], "out", stages[1]);
    drawing.link(stages[1], "out", stages[2]);
    let source = drawing.source("in", stages[0], 256);
    let mut sink = drawing.sink("end", stages[2], "out", LinkConfig::default(), Waker::from_callback(|| ()));
    let running = drawing.build().expect("the drawing is valid").run().expect("threads start");
    pass(&source, &mut sink, WARM_UP);
    let row = absolute(measure, "per message", 0.0, 3, || {
        let before = counter();
        pass(&source, &mut sink, messages);
        (counter() - before) as f64 / messages as f64
    });
    assert_eq!(running.drain(Duration::from_secs(10)), Drained::Complete);
    row
}

fn pass(source: &Source<u64>, sink: &mut Sink<u64>, messages: u64) {
    let (mut pushed, mut popped) = (0, 0);
    while popped < messages {
        while pushed < messages && pushed - popped < WINDOW {
            let slot = source.arena().claim(8).expect("more slots than messages under way");
            source.push(slot.share()).expect("an open topology with room");
            pushed += 1;
        }
        std::thread::yield_now();
        while sink.pop().is_some() {
            popped += 1;
        }
    }
}
