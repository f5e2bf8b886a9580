//! The affinity language, and what a build makes of it on this machine.
#![cfg(not(loom))]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{Pass, arena, numbered};
use levada_engine::{Affinity, AffinityError, Cores, Drained, Place, TopologyBuilder, TopologyError, Wait};

fn places(text: &str) -> Vec<Place> {
    match Affinity::parse(text) {
        Ok(Affinity::Places(places)) => places,
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn the_language_is_understood() {
    let cores = |cores: &[usize]| cores.iter().copied().map(Place::Core).collect::<Vec<_>>();
    assert_eq!(Affinity::parse(" auto "), Ok(Affinity::Auto));
    assert_eq!("auto".parse(), Ok(Affinity::Auto));
    for (text, expected) in [
        ("0", &[0][..]),
        ("007", &[7]),
        ("0-3", &[0, 1, 2, 3]),
        ("5-5", &[5]),
        ("0-10/2", &[0, 2, 4, 6, 8, 10]),
        ("0-10/3", &[0, 3, 6, 9]),
        ("4-5/100", &[4]),
        (" 3 , 1-2,1 ", &[3, 1, 2, 1]),
        ("18446744073709551614-18446744073709551615", &[usize::MAX - 1, usize::MAX]),
    ] {
        assert_eq!(places(text), cores(expected), "{text}");
    }
    assert_eq!(places("f2"), [Place::Floating; 2]);
    assert_eq!(places("0,f1,2"), [Place::Core(0), Place::Floating, Place::Core(2)]);
    assert_eq!(places("0-1023").len(), 1024);
}

#[test]
fn what_is_not_in_the_language_is_named() {
    assert_eq!(Affinity::parse("  "), Err(AffinityError::Empty));
    for item in [
        "x",
        "-",
        "-1",
        "1-",
        "+1",
        "1-2-3",
        "3-1",
        "0-4/0",
        "0-4/",
        "0-4/x",
        "2/2",
        "f",
        "f0",
        "f-1",
        "F1",
        "auto1",
        "0x1",
        "1 2",
        "18446744073709551616",
        "٣",
    ] {
        assert_eq!(Affinity::parse(item), Err(AffinityError::Item { item: item.to_owned() }), "{item}");
        let among = format!("0,{item},1");
        assert_eq!(Affinity::parse(&among), Err(AffinityError::Item { item: item.to_owned() }), "{among}");
    }
    assert_eq!(Affinity::parse("0,,1"), Err(AffinityError::Item { item: String::new() }));
    assert_eq!(Affinity::parse("0,auto"), Err(AffinityError::Item { item: "auto".to_owned() }));
    // Neither takes memory for what it asks.
    for text in ["0-18446744073709551615", "f18446744073709551615", "f1024,0", "0-1024", "0-2048/2"] {
        assert_eq!(Affinity::parse(text), Err(AffinityError::TooMany { places_max: 1024 }), "{text}");
    }
    assert!(AffinityError::Empty.to_string().contains("\"auto\""));
}

/// A pinned worker per name, with a stage each.
fn drawing(names: &[&str], affinity: &str) -> TopologyBuilder<u64> {
    let mut drawing = TopologyBuilder::new(arena(4));
    for name in names {
        let worker = drawing.worker(name);
        let pass = drawing.stage(worker, name, Pass);
        let source = drawing.source(&format!("in of {name}"), pass, 256);
        source.push(numbered(source.arena(), 0)).unwrap();
        drawing.discard(pass, "out");
    }
    drawing.affinity(Affinity::parse(affinity).unwrap());
    drawing
}

#[test]
fn the_build_checks_cores_against_this_process() {
    let cores = Cores::of_process();
    let own = cores.allowed[0];
    let allowed = cores.allowed.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
    let absent = TopologyError::CoreNotAllowed { worker: "b".to_owned(), core: 1 << 20, allowed };
    let text = absent.to_string();
    assert!(text.contains("affinity mask") && text.contains(&own.to_string()) && text.contains("\"auto\""), "{text}");
    assert_eq!(drawing(&["a", "b"], &format!("{own},1048576")).build().err(), Some(absent));

    let short = TopologyError::AffinityTooShort { workers: 2, places: 1 };
    assert_eq!(drawing(&["a", "b"], &own.to_string()).build().err(), Some(short));

    // A worker for stages that block takes no place.
    let mut with_blocking = drawing(&["a"], &own.to_string());
    with_blocking.blocking_worker("b");
    with_blocking.default_wait(Wait::Eco);
    let running = with_blocking.build().unwrap().run().unwrap();
    let pinned: Vec<bool> = running.stats().workers.iter().map(|worker| worker.is_pinned()).collect();
    assert_eq!(pinned, [true, false]);
    assert_eq!(running.drain(std::time::Duration::MAX), Drained::Complete);
}

#[test]
fn a_spinning_worker_shares_its_core_with_nobody() {
    let cores = Cores::of_process();
    let own = cores.allowed[0];
    if cores.count() < 2 {
        // Two workers are more than one core: the other refusal comes first.
        return;
    }
    let mut shared = drawing(&["a", "b"], &format!("{own},{own}"));
    let worker = shared.worker("c");
    shared.affinity(Affinity::parse(&format!("{own},{own},f1")).unwrap());
    shared.wait(worker, Wait::Eco);
    let refused = |worker: &str, other: &str| TopologyError::SpinOnSharedCore {
        worker: worker.to_owned(),
        core: own,
        other: other.to_owned(),
    };
    // By the topology's way to wait.
    let mut both = drawing(&["a", "b"], &format!("{own},{own}"));
    both.default_wait(Wait::Spin);
    assert_eq!(both.build().err(), Some(refused("a", "b")));
    // By a worker's own.
    let mut asked = TopologyBuilder::new(arena(1));
    let [_, spins] = ["a", "b"].map(|name| asked.worker(name));
    asked.affinity(Affinity::parse(&format!("{own},{own}")).unwrap());
    asked.wait(spins, Wait::Spin);
    assert_eq!(asked.build().err(), Some(refused("b", "a")));
}

#[test]
fn a_worker_of_its_own_way_to_wait_counts_against_the_cores() {
    let cores = Cores::of_process().count();
    for (spins, refused) in [(true, true), (false, false)] {
        let mut asked = TopologyBuilder::new(arena(1));
        let first = asked.worker("w0");
        (1..=cores).for_each(|number| _ = asked.worker(&format!("w{number}")));
        asked.wait(first, if spins { Wait::Spin } else { Wait::Eco });
        let error = TopologyError::SpinWithoutCores { workers: cores + 1, cores };
        assert_eq!(asked.build().err(), refused.then_some(error));
    }
    // The rest may spin while one of as many workers as cores does not.
    let mut asked = TopologyBuilder::new(arena(1));
    let first = asked.worker("w0");
    asked.wait(first, Wait::Eco);
    asked.default_wait(Wait::Spin);
    assert_eq!(asked.build().unwrap().run().unwrap().drain(std::time::Duration::MAX), Drained::Complete);
}
