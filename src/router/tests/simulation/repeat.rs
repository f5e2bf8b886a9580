//! A seed is the whole run.

use std::hash::Hasher;
use std::time::Duration;

use crate::delivery::{publish_some, settled};
use crate::run::{Scale, with_seeds};

fn fingerprint(seed: u64, scale: Scale) -> (u64, usize) {
    let mut network = settled(seed, scale, |_, _| ());
    network.loss = 0.1;
    publish_some(&mut network, 30);
    network.run_for(Duration::from_secs(5));
    (network.trace.finish(), network.messages.len())
}

#[test]
fn a_seed_repeats_its_run() {
    with_seeds("a_seed_repeats_its_run", |seed, scale| {
        let scale = Scale { nodes: 24, ..scale };
        assert_eq!(fingerprint(seed, scale), fingerprint(seed, scale));
        assert_ne!(fingerprint(seed, scale), fingerprint(seed + 1_000, scale));
    });
}
