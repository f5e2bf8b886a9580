//! Faults in random topologies, turned by hand beside an oracle that counts exactly: no slot is lost, no envelope on a reliable
//! link but those that a fault took, and every counter is right.
//!
//! From a seed follow a drawing (`draw`), what each of its stages does wrong and when (`script`), and what is done to it from
//! outside (`drive`). `faulty` plays the script in the engine, `oracle` beside it; `laws` are what must hold without an oracle.
#![cfg(not(loom))]

#[path = "../common/mod.rs"]
mod common;
mod dice;
mod draw;
mod drive;
mod faulty;
mod laws;
mod oracle;
mod script;

use std::panic::{AssertUnwindSafe, catch_unwind};

use drive::run;
use faulty::{Betrayal, silence};
use oracle::Tally;

/// Runs the topology of one seed; an error says how to run it again.
fn run_seed(seed: u64) -> Result<Tally, String> {
    let outcome = catch_unwind(AssertUnwindSafe(|| run(seed, None).0));
    let outcome = outcome.unwrap_or_else(|_| Err("the panic above".to_owned()));
    outcome.map_err(|text| {
        format!(
            "seed {seed}: {text}\nonce more: \
             LEVADA_SEED={seed} cargo test -p levada-engine --test random_topologies -- one_seed --exact"
        )
    })
}

fn expect_agreement(seed: u64) -> Tally {
    run_seed(seed).unwrap_or_else(|text| panic!("{text}"))
}

/// The seed in `LEVADA_SEED`, which a failure names.
#[test]
fn one_seed() {
    silence();
    let seed = std::env::var("LEVADA_SEED").map_or(0, |seed| seed.parse().expect("LEVADA_SEED is a number"));
    expect_agreement(seed);
}

/// 10⁵ faults, 10⁶ with `LEVADA_DEEP=1`.
#[test]
fn faults_in_random_topologies_lose_nothing_and_are_counted() {
    silence();
    let faults_min = if std::env::var_os("LEVADA_DEEP").is_some_and(|deep| deep == "1") { 1_000_000 } else { 100_000 };
    let mut tally = Tally::default();
    for seed in 0.. {
        tally.add(expect_agreement(seed));
        if tally.total() >= faults_min {
            break;
        }
    }
    let kinds = [tally.panics, tally.restarts, tally.stalls, tally.drops, tally.abandonments];
    assert!(kinds.iter().all(|kind| kind * 500 > tally.total()), "some kind of fault is rare: {tally:?}");
}

/// An oracle that a wrong topology can satisfy proves nothing.
#[test]
fn a_stage_that_does_not_do_as_it_should_is_found_out() {
    const FOUND_MIN: u64 = 25;
    silence();
    for betrayal in [Betrayal::Swallow, Betrayal::Double, Betrayal::Leak, Betrayal::Trip] {
        let mut found = 0;
        for seed in 0.. {
            let (outcome, betrayed) = run(seed, Some((betrayal, seed % 20)));
            assert_eq!(outcome.is_err(), betrayed, "seed {seed}, {betrayal:?}: {outcome:?}");
            found += u64::from(betrayed);
            if found == FOUND_MIN {
                break;
            }
        }
    }
}
