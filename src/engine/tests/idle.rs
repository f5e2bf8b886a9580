//! An idle topology costs next to no processor time. Alone in its process, because it measures the process.
#![cfg(all(target_os = "linux", not(loom)))]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::time::Duration;

use common::{Pass, arena, numbered};
use levada_engine::{Drained, LinkConfig, Sink, Source, TopologyBuilder, Waker};

/// Kernel clock ticks (10 ms) this process has used, from the 14th and 15th fields of its `stat` line.
fn ticks_used() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let after_name = &stat[stat.rfind(')').unwrap() + 2..];
    let ticks = |field: usize| after_name.split(' ').nth(field - 3).unwrap().parse::<u64>().unwrap();
    ticks(14) + ticks(15)
}

fn pass_one(source: &Source<u64>, sink: &mut Sink<u64>) {
    source.push(numbered(source.arena(), 1)).unwrap();
    while sink.pop().is_none() {
        std::thread::yield_now();
    }
}

#[test]
fn an_idle_topology_leaves_the_cores_alone() {
    let arena = arena(64);
    let mut drawing = TopologyBuilder::new(arena);
    let stages = [0, 1, 2, 3].map(|number| {
        let worker = drawing.worker(&format!("w{number}"));
        drawing.stage(worker, &format!("s{number}"), Pass)
    });
    stages.windows(2).for_each(|pair| drawing.link(pair[0], "out", pair[1]));
    let source = drawing.source("in", stages[0], 256);
    let mut sink = drawing.sink("end", stages[3], "out", LinkConfig::default(), Waker::from_callback(|| ()));
    let running = drawing.build().unwrap().run().unwrap();
    let used = (0..3).map(|_| {
        // Idle after work, not idle since ever.
        pass_one(&source, &mut sink);
        let before = ticks_used();
        std::thread::sleep(Duration::from_secs(1));
        ticks_used() - before
    });
    let least = used.min().unwrap();
    assert!(least < 10, "four idle workers used {least} % of a core");
    pass_one(&source, &mut sink);
    assert_eq!(running.drain(Duration::from_secs(60)), Drained::Complete);
}
