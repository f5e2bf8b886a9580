//! Every way a drawing can be wrong, and that what was pushed into it comes back.
#![cfg(not(loom))]

mod common;

use common::{Pass, arena, numbered};
use levada_engine::{
    Batch, BatchLimit, LinkConfig, Outputs, Policy, PushError, Sink, Stage, StageId, TopologyBuilder, TopologyError,
    Wait, Waker, WorkerId, usable_cores,
};

/// Two ports and a batch limit of its own.
struct Wide(usize);

impl Stage<u64> for Wide {
    fn ports(&self) -> &'static [&'static str] {
        &["left", "right"]
    }

    fn batch_limit(&self) -> BatchLimit {
        BatchLimit { envelopes: self.0, payload_bytes: usize::MAX }
    }

    fn process(&mut self, batch: &mut Batch<'_, u64>, _: &mut Outputs<'_, u64>) {
        batch.for_each(drop);
    }
}

fn builder() -> (TopologyBuilder<u64>, WorkerId) {
    let mut builder = TopologyBuilder::new(arena(8));
    let worker = builder.worker("w0");
    (builder, worker)
}

fn error(builder: TopologyBuilder<u64>) -> TopologyError {
    builder.build().err().expect("the drawing is wrong")
}

fn lossy() -> LinkConfig {
    LinkConfig { policy: Policy::DropNewest, ..LinkConfig::default() }
}

fn silent() -> Waker {
    Waker::from_callback(|| ())
}

fn sink(builder: &mut TopologyBuilder<u64>, name: &str, from: StageId) -> Sink<u64> {
    builder.sink(name, from, "out", LinkConfig::default(), silent())
}

#[test]
fn names_are_unique_among_their_kind() {
    let duplicate = |name: &str| TopologyError::DuplicateName { name: name.to_owned() };

    let (mut drawing, _) = builder();
    drawing.blocking_worker("w0");
    assert_eq!(error(drawing), duplicate("w0"));

    let (mut drawing, worker) = builder();
    drawing.stage(worker, "a", Pass);
    drawing.stage(worker, "a", Pass);
    assert_eq!(error(drawing), duplicate("a"));

    let (mut drawing, worker) = builder();
    let stage = drawing.stage(worker, "a", Pass);
    drawing.source("end", stage, 256);
    let _sink = sink(&mut drawing, "end", stage);
    assert_eq!(error(drawing), duplicate("end"));

    let (mut drawing, worker) = builder();
    let (a, b) = (drawing.stage(worker, "a", Pass), drawing.stage(worker, "b", Pass));
    drawing.source("a_b", a, 256);
    drawing.link(a, "out", b);
    drawing.discard(b, "out");
    assert_eq!(error(drawing), duplicate("a_b"));
}

#[test]
fn ports_exist_and_lead_somewhere() {
    let unknown = |port: &str| TopologyError::UnknownPort {
        stage: "wide".to_owned(),
        port: port.to_owned(),
        ports: "left, right".to_owned(),
    };
    for mistake in 0..3 {
        let (mut drawing, worker) = builder();
        let wide = drawing.stage(worker, "wide", Wide(8));
        match mistake {
            0 => drawing.link(wide, "middle", wide),
            1 => drawing.discard(wide, "middle"),
            _ => drop(drawing.sink("end", wide, "middle", LinkConfig::default(), silent())),
        }
        assert_eq!(error(drawing), unknown("middle"));
    }

    let (mut drawing, worker) = builder();
    let wide = drawing.stage(worker, "wide", Wide(8));
    drawing.source("in", wide, 256);
    drawing.discard(wide, "left");
    assert_eq!(error(drawing), TopologyError::PortWithoutConsumer { stage: "wide".to_owned(), port: "right" });
}

#[test]
fn stages_have_inputs() {
    let (mut drawing, worker) = builder();
    let pass = drawing.stage(worker, "pass", Pass);
    drawing.discard(pass, "out");
    assert_eq!(error(drawing), TopologyError::StageWithoutInput { stage: "pass".to_owned() });
}

#[test]
fn capacities_are_powers_of_two_and_hold_eight_batches() {
    for (capacity, batch, capacity_min) in [
        (0, 1, Some(256)),
        (128, 1, Some(256)),
        (300, 1, Some(256)),
        (1 << 21, 1, Some(256)),
        (usize::MAX, 1, Some(256)),
        (256, 33, Some(512)),
        (1024, 256, Some(2048)),
        (1024, usize::MAX, Some(2048)),
        (256, 32, None),
        (2048, usize::MAX, None),
        (1 << 20, 0, None),
    ] {
        let config = LinkConfig { capacity, ..LinkConfig::default() };
        for end in 0..3 {
            let (mut drawing, worker) = builder();
            let wide = drawing.stage(worker, "wide", Wide(batch));
            let pass = drawing.stage(worker, "pass", Pass);
            drawing.discard(wide, "right");
            drawing.discard(pass, "out");
            drawing.source("in", wide, if end == 0 { capacity } else { 4096 });
            drawing.link_with(
                wide,
                "left",
                pass,
                if end == 1 { config } else { LinkConfig { capacity: 4096, ..config } },
            );
            let _sink = (end == 2).then(|| drawing.sink("in2", wide, "right", config, silent()));
            let name = ["in", "wide_pass", "in2"][end].to_owned();
            let expected = capacity_min.map(|capacity_min| TopologyError::Capacity {
                link: name,
                capacity,
                capacity_min,
                capacity_max: 1 << 20,
            });
            assert_eq!(drawing.build().err(), expected, "capacity {capacity}, batch {batch}, end {end}");
        }
    }
}

#[test]
fn reliable_circles_are_refused_and_lossy_ones_are_not() {
    for (back, refused) in [(LinkConfig::default(), true), (lossy(), false)] {
        let (mut drawing, worker) = builder();
        let [a, b, c] = ["a", "b", "c"].map(|name| drawing.stage(worker, name, Pass));
        drawing.source("in", a, 256);
        drawing.link(a, "out", b);
        drawing.link(b, "out", c);
        drawing.link_with(c, "out", b, back);
        let error = drawing.build().err();
        let cycle = TopologyError::ReliableCycle { path: "b -> c -> b".to_owned() };
        assert_eq!(error, refused.then_some(cycle));
    }

    let (mut drawing, worker) = builder();
    let a = drawing.stage(worker, "a", Pass);
    drawing.link(a, "out", a);
    assert_eq!(error(drawing), TopologyError::ReliableCycle { path: "a -> a".to_owned() });
}

#[test]
fn spinning_needs_a_core_for_each_worker() {
    let mut drawing = TopologyBuilder::new(arena(1));
    let cores = usable_cores();
    for worker in 0..=cores {
        drawing.worker(&format!("w{worker}"));
    }
    drawing.default_wait(Wait::Spin);
    let refused = error(drawing);
    assert_eq!(refused, TopologyError::SpinWithoutCores { workers: cores + 1, cores });
    assert!(refused.to_string().contains("wait balanced, or use fewer workers"));
}

#[test]
fn a_declared_link_has_one_producer() {
    let declared = |producers: &[&str]| {
        let (mut drawing, worker) = builder();
        let [a, b, end] = ["a", "b", "end"].map(|name| drawing.stage(worker, name, Pass));
        drawing.source("in:a", a, 256);
        drawing.source("in:b", b, 256);
        drawing.discard(end, "out");
        let link = drawing.spsc_link("joint", end, LinkConfig::default());
        for (name, stage) in [("a", a), ("b", b)] {
            match producers.contains(&name) {
                true => drawing.produce(link, stage, "out"),
                false => drawing.discard(stage, "out"),
            }
        }
        drawing
    };
    let two = error(declared(&["a", "b"]));
    let [link, first, second, consumer] = ["joint", "a.out", "b.out", "end"].map(str::to_owned);
    assert_eq!(two, TopologyError::TwoProducers { link, first, second, consumer });
    assert!(two.to_string().contains("give each a link of its own to \"end\""), "{two}");
    assert_eq!(error(declared(&[])), TopologyError::LinkWithoutProducer { link: "joint".to_owned() });

    let stats = declared(&["b"]).build().unwrap().stats();
    assert!(stats.links.iter().any(|link| link.name == "joint"), "it is called as it was declared");

    // It is checked as any other: a port that does not exist, a circle, a capacity.
    let (mut drawing, worker) = builder();
    let pass = drawing.stage(worker, "pass", Pass);
    let link = drawing.spsc_link("round", pass, LinkConfig::default());
    drawing.produce(link, pass, "out");
    assert_eq!(error(drawing), TopologyError::ReliableCycle { path: "pass -> pass".to_owned() });
    let (mut drawing, worker) = builder();
    let pass = drawing.stage(worker, "pass", Pass);
    let link = drawing.spsc_link("round", pass, LinkConfig { capacity: 300, ..lossy() });
    drawing.produce(link, pass, "out");
    assert!(matches!(error(drawing), TopologyError::Capacity { capacity: 300, .. }));
}

#[test]
fn what_a_refused_drawing_was_given_comes_back() {
    for built in [true, false] {
        let arena = arena(8);
        let mut drawing = TopologyBuilder::new(arena.clone());
        let worker = drawing.worker("w0");
        let pass = drawing.stage(worker, "pass", Pass);
        let source = drawing.source("in", pass, 256);
        source.push(numbered(&arena, 1)).unwrap();
        assert_eq!(arena.slots_in_use(), 1);
        if built {
            error(drawing);
        } else {
            drop(drawing);
        }
        assert_eq!(arena.slots_in_use(), 0);
        let Err(PushError::Closed(envelope)) = source.push(numbered(&arena, 2)) else { panic!("nobody will take it") };
        assert_eq!(*envelope.record(), 2);
    }
}

#[test]
fn a_worker_is_named_as_a_thread_can_be() {
    let (mut drawing, _) = builder();
    drawing.worker("w\0x");
    let refused = error(drawing);
    assert_eq!(refused, TopologyError::WorkerName { name: "w\0x".to_owned() });
    assert!(refused.to_string().contains(r#""w\0x""#), "{refused}");
}

#[test]
fn links_by_several_ports_to_the_same_stage_are_told_apart() {
    let (mut drawing, worker) = builder();
    let (wide, pass) = (drawing.stage(worker, "wide", Wide(8)), drawing.stage(worker, "pass", Pass));
    drawing.source("in", wide, 256);
    drawing.link(wide, "left", pass);
    drawing.link(wide, "right", pass);
    drawing.discard(pass, "out");
    let stats = drawing.build().unwrap().stats();
    let names: Vec<&str> = stats.links.iter().map(|link| link.name.as_str()).collect();
    assert_eq!(names, ["in", "wide.left_pass", "wide.right_pass"]);

    // The same port twice is one too many.
    let (mut drawing, worker) = builder();
    let (first, pass) = (drawing.stage(worker, "first", Pass), drawing.stage(worker, "pass", Pass));
    drawing.source("in", first, 256);
    drawing.link(first, "out", pass);
    drawing.link(first, "out", pass);
    drawing.discard(pass, "out");
    assert_eq!(error(drawing), TopologyError::DuplicateName { name: "first.out_pass".to_owned() });
}
