//! Networks that lose frames, fall apart, and whose nodes come and go.

use std::time::Duration;

use crate::delivery::{assert_all_delivered, assert_bounded, publish_some, settled};
use crate::network::{Network, TOPIC};
use crate::run::with_seeds;

#[test]
fn loss_is_repaired_by_gossip() {
    with_seeds("loss_is_repaired_by_gossip", |seed, scale| {
        let mut network = settled(seed, scale, |_, config| config.flood_publish = false);
        network.loss = 0.1;
        let messages = publish_some(&mut network, scale.messages);
        network.run_for(Duration::from_secs(6));
        assert_all_delivered(&network, messages.clone());
        assert_bounded(&network);
        let repaired: u64 = network.nodes.iter().map(|node| node.router.counters().iwant_answered).sum();
        assert!(repaired > 0, "nothing was lost");
    });
}

/// Cuts every link between the two halves; they are opened again by who opened them.
fn cut(network: &mut Network) -> Vec<(usize, usize)> {
    let half = network.nodes.len() / 2;
    let mut links = Vec::new();
    for a in 0..half {
        for b in network.links(a).into_iter().filter(|b| *b >= half) {
            let outbound = network.peer(a, b).and_then(|peer| network.nodes[a].router.peer(peer)).unwrap().outbound;
            links.push(if outbound { (a, b) } else { (b, a) });
        }
    }
    links.iter().for_each(|(a, b)| network.disconnect(*a, *b));
    links
}

#[test]
fn partition_and_heal() {
    with_seeds("partition_and_heal", |seed, scale| {
        let mut network = settled(seed, scale, |_, _| ());
        let half = network.nodes.len() / 2;
        let links = cut(&mut network);
        network.run_for(Duration::from_secs(5));
        let apart = publish_some(&mut network, 20);
        network.run_for(Duration::from_secs(20));
        for message in apart {
            let reached =
                |nodes: &[crate::network::Node]| nodes.iter().filter(|n| n.delivered[message as usize]).count();
            let (left, right) = network.nodes.split_at(half);
            assert_eq!((reached(left), reached(right)).0.max(reached(right)), half.max(network.nodes.len() - half));
            assert_eq!(reached(left).min(reached(right)), 0, "message {message} crossed the cut");
        }
        // What is published shortly before the halves meet is still announced when they do.
        let late = publish_some(&mut network, 10);
        links.iter().for_each(|(a, b)| network.connect(*a, *b));
        network.run_for(Duration::from_secs(6));
        assert_all_delivered(&network, late);
        network.run_for(Duration::from_secs(70));
        let together = publish_some(&mut network, scale.messages / 2);
        network.run_for(Duration::from_secs(5));
        assert_all_delivered(&network, together);
        assert_bounded(&network);
    });
}

#[test]
fn churn() {
    with_seeds("churn", |seed, scale| {
        let mut network = settled(seed, scale, |_, _| ());
        let count = network.nodes.len();
        for _ in 0..count {
            let leaver = network.rng.below(count);
            let links = network.links(leaver);
            if network.rng.below(2) == 0 {
                links.iter().for_each(|other| network.disconnect(leaver, *other));
                network.run_for(Duration::from_millis(500));
                links.iter().for_each(|other| network.connect(leaver, *other));
            } else {
                network.act(leaver, |router, now, out| {
                    let topic = router.topic(TOPIC).unwrap();
                    router.leave(topic, now, out);
                });
                network.run_for(Duration::from_millis(500));
                network.act(leaver, |router, now, out| _ = router.join(TOPIC, now, out).unwrap());
            }
            network.run_for(Duration::from_secs(1));
        }
        network.run_for(Duration::from_secs(70));
        let messages = publish_some(&mut network, scale.messages / 2);
        network.run_for(Duration::from_secs(6));
        assert_all_delivered(&network, messages);
        assert_bounded(&network);
    });
}
