//! One drawing, run in every way by a single line.
#![cfg(not(loom))]

mod common;

use std::sync::Arc;
use std::time::{Duration, Instant};

use common::{Pass, arena, numbered};
use levada_engine::{
    Arena, Drained, LinkConfig, Placement, PushError, Regime, Sink, Source, Started, TopologyBuilder, Wait, Waker,
};

/// Far beyond what any of this takes: reaching it is a failure, never a measurement.
const LONG: Duration = Duration::from_secs(60);

const ALL: [Placement; 3] = [Placement::PerCore, Placement::Dedicated, Placement::Invoker];
const LANES: usize = 2;
const EACH: u64 = 3_000;

type Lanes = (Vec<Source<u64>>, TopologyBuilder<u64>, Vec<Sink<u64>>);

/// Two lanes of source -> "decode" -> "hash" -> "store" -> sink. Nothing here knows the placement.
fn draw(arena: &Arc<Arena<u64>>, placement: Placement) -> Lanes {
    let mut drawing = TopologyBuilder::placed(arena.clone(), placement);
    let (mut sources, mut sinks) = (Vec::new(), Vec::new());
    for lane in 0..LANES {
        let stages = ["decode", "hash", "store"].map(|name| drawing.place(lane, name, Pass));
        stages.windows(2).for_each(|pair| drawing.link(pair[0], "out", pair[1]));
        sources.push(drawing.source(&format!("in:{lane}"), stages[0], 256));
        let (name, config) = (format!("end:{lane}"), LinkConfig::default());
        sinks.push(drawing.sink(&name, stages[2], "out", config, Waker::from_callback(|| ())));
    }
    (sources, drawing, sinks)
}

#[test]
fn workers_follow_from_the_placement() {
    let expected = [
        vec!["lane:0", "lane:1"],
        vec!["decode:0", "hash:0", "store:0", "decode:1", "hash:1", "store:1"],
        vec!["invoker"],
    ];
    for (placement, expected) in ALL.into_iter().zip(expected) {
        let (_sources, drawing, _sinks) = draw(&arena(16), placement);
        let stats = drawing.build().unwrap().stats();
        let names: Vec<&str> = stats.workers.iter().map(|worker| worker.name.as_str()).collect();
        assert_eq!(names, expected);
        let stages: Vec<&str> = stats.stages.iter().map(|stage| stage.name.as_str()).collect();
        assert_eq!(stages.len(), 3 * LANES);
        assert!(stages.contains(&"hash:1"));
        assert!(stats.links.iter().any(|link| link.name == "decode:1_hash:1"));
    }
}

/// Pushes into every lane and takes what comes out, on this thread, until `until` are out; how many are not.
fn pass(arena: &Arc<Arena<u64>>, lanes: &mut (Vec<Source<u64>>, Started<u64>, Vec<Sink<u64>>), until: u64) -> u64 {
    let (sources, started, sinks) = lanes;
    let (mut pushed, mut popped) = ([0; LANES], [0; LANES]);
    let start = Instant::now();
    while popped.iter().sum::<u64>() < until {
        assert!(start.elapsed() < LONG, "the lanes stand still");
        for lane in 0..LANES {
            while pushed[lane] < EACH && pushed[lane] - popped[lane] < 400 {
                match sources[lane].push(numbered(arena, pushed[lane])) {
                    Ok(()) => pushed[lane] += 1,
                    Err(PushError::Full(_)) => break,
                    Err(PushError::Closed(_)) => panic!("the topology is open"),
                }
            }
            while let Some(held) = sinks[lane].pop() {
                assert_eq!(held.record(), popped[lane], "in order");
                popped[lane] += 1;
            }
        }
        started.turn();
    }
    pushed.iter().sum::<u64>() - popped.iter().sum::<u64>()
}

#[test]
fn every_placement_delivers_everything_in_order() {
    for placement in ALL {
        let arena = arena(1024);
        let (sources, drawing, sinks) = draw(&arena, placement);
        let started = drawing.build().unwrap().start().unwrap();
        assert_eq!(matches!(started, Started::Invoker(_)), placement == Placement::Invoker);
        let mut lanes = (sources, started, sinks);
        assert_eq!(pass(&arena, &mut lanes, LANES as u64 * EACH), 0);
        let (_sources, started, sinks) = lanes;
        let stats = started.stats();
        assert!(!started.has_failed());
        assert_eq!(started.drain(LONG), Drained::Complete);
        assert!(sinks.iter().all(Sink::is_finished));
        assert_eq!(arena.slots_in_use(), 0);
        assert!(stats.stages.iter().all(|stage| stage.envelopes_total() == EACH));
        for link in &stats.links {
            assert_eq!((link.passed_total(), link.dropped_total(), link.depth()), (EACH, 0, 0));
            assert!(link.fill() == 0.0);
        }
        for worker in &stats.workers {
            let split = worker.time_split();
            assert_eq!(split.regimes_ns.iter().sum::<u64>(), split.total_ns);
            assert!(split.ns(Regime::Work) > 0 && split.total_ns > 0);
        }
    }
}

#[test]
fn a_drain_begun_is_emptied_by_the_same_thread() {
    for placement in ALL {
        let arena = arena(1024);
        let (sources, drawing, sinks) = draw(&arena, placement);
        let started = drawing.build().unwrap().start().unwrap();
        let mut lanes = (sources, started, sinks);
        let mut inside = pass(&arena, &mut lanes, 100);
        let (sources, mut started, mut sinks) = lanes;
        // The drain must have something to lose.
        inside += (0..50).filter(|number| sources[0].push(numbered(&arena, *number)).is_ok()).count() as u64;
        started.begin_drain();
        assert!(matches!(sources[0].push(numbered(&arena, 0)), Err(PushError::Closed(_))));
        while !sinks.iter().all(Sink::is_finished) {
            started.turn();
            inside -= sinks.iter_mut().map(|sink| std::iter::from_fn(|| sink.pop()).count() as u64).sum::<u64>();
        }
        assert_eq!((inside, arena.slots_in_use()), (0, 0));
        assert_eq!(started.drain(LONG), Drained::Complete);
    }
}

#[test]
fn a_drain_that_a_full_sink_holds_up_ends_at_its_limit() {
    for placement in [Placement::PerCore, Placement::Invoker] {
        let arena = arena(2048);
        let mut drawing = TopologyBuilder::placed(arena.clone(), placement);
        let pass = drawing.place(0, "pass", Pass);
        let source = drawing.source("in", pass, 1024);
        let config = LinkConfig { capacity: 256, ..LinkConfig::default() };
        let sink = drawing.sink("end", pass, "out", config, Waker::from_callback(|| ()));
        (0..1000).for_each(|number| source.push(numbered(&arena, number)).unwrap());
        let started = drawing.build().unwrap().start().unwrap();
        assert_eq!(started.drain(Duration::from_millis(5)), Drained::TimedOut);
        let start = Instant::now();
        while arena.slots_in_use() > 256 {
            assert!(start.elapsed() < LONG, "what is inside does not come back");
            std::thread::yield_now();
        }
        drop(sink);
        assert_eq!(arena.slots_in_use(), 0);
    }
}

#[test]
fn workers_of_ones_own_stand_beside_those_of_the_placement() {
    let arena = arena(16);
    let mut drawing = TopologyBuilder::placed(arena.clone(), Placement::PerCore);
    let first = drawing.place(0, "first", Pass);
    let disk = drawing.blocking_worker("disk");
    let store = drawing.stage(disk, "store", Pass);
    drawing.link(first, "out", store);
    drawing.discard(store, "out");
    drawing.source("in", first, 256);
    assert_eq!(drawing.worker_of(store), disk);
    assert_ne!(drawing.worker_of(first), disk);
    drawing.wait(disk, Wait::Eco);
    let started = drawing.build().unwrap().start().unwrap();
    let pinned: Vec<bool> = started.stats().workers.iter().map(|worker| worker.is_pinned()).collect();
    assert_eq!(pinned, [true, false]);
    assert_eq!(started.drain(LONG), Drained::Complete);
}
