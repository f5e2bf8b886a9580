//! More workers than cores: four on one core still get on, and end.
#![cfg(not(loom))]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::time::Duration;

use common::{Pass, arena, numbered};
use levada_engine::{
    Affinity, Cores, Drained, LinkConfig, Placement, PushError, Regime, TopologyBuilder, TopologyError, Wait, Waker,
};

/// Far beyond what any of this takes: reaching it is a failure, never a measurement.
const LONG: Duration = Duration::from_secs(60);

const ENVELOPES: u64 = 20_000;

fn four_on_one_core() -> (TopologyBuilder<u64>, levada_engine::Source<u64>, levada_engine::Sink<u64>) {
    let core = Cores::of_process().allowed[0];
    let mut drawing = TopologyBuilder::placed(arena(1024), Placement::Dedicated);
    drawing.affinity(Affinity::parse(&format!("{core},{core},{core},{core}")).unwrap());
    let stages = ["a", "b", "c", "d"].map(|name| drawing.place(0, name, Pass));
    stages.windows(2).for_each(|pair| drawing.link(pair[0], "out", pair[1]));
    let source = drawing.source("in", stages[0], 256);
    let config = LinkConfig { capacity: 256, ..LinkConfig::default() };
    let sink = drawing.sink("end", stages[3], "out", config, Waker::from_callback(|| ()));
    (drawing, source, sink)
}

#[test]
fn four_workers_on_one_core_make_progress_and_shut_down() {
    for wait in [Wait::Balanced, Wait::Eco] {
        let (mut drawing, source, mut sink) = four_on_one_core();
        drawing.default_wait(wait);
        let running = drawing.build().unwrap().run().unwrap();
        assert!(running.stats().workers.iter().all(|worker| worker.is_pinned()));
        let arena = source.arena().clone();
        let (mut pushed, mut popped) = (0, 0);
        while popped < ENVELOPES {
            while pushed < ENVELOPES && pushed - popped < 512 {
                match source.push(numbered(&arena, pushed)) {
                    Ok(()) => pushed += 1,
                    Err(PushError::Full(_)) => break,
                    Err(PushError::Closed(_)) => panic!("the topology is open"),
                }
            }
            match sink.pop() {
                Some(held) => {
                    assert_eq!(held.record(), popped);
                    popped += 1;
                }
                None => std::thread::yield_now(),
            }
        }
        let stats = running.stats();
        assert_eq!(running.drain(LONG), Drained::Complete);
        assert_eq!(arena.slots_in_use(), 0);
        for worker in &stats.workers {
            let split = worker.time_split();
            assert!(split.ns(Regime::Work) > 0);
            assert_eq!(split.regimes_ns.iter().sum::<u64>(), split.total_ns);
        }
    }
}

#[test]
fn spinning_on_the_same_core_is_refused() {
    let (mut drawing, _source, _sink) = four_on_one_core();
    drawing.default_wait(Wait::Spin);
    let refused = drawing.build().err().expect("they would starve each other");
    let expected = match Cores::of_process().count() {
        cores @ ..4 => TopologyError::SpinWithoutCores { workers: 4, cores },
        _ => TopologyError::SpinOnSharedCore {
            worker: "a:0".to_owned(),
            core: Cores::of_process().allowed[0],
            other: "b:0".to_owned(),
        },
    };
    assert_eq!(refused, expected);
}
