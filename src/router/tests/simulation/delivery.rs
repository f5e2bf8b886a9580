//! A network in which everybody behaves.

use std::time::Duration;

use crate::network::Network;
use crate::run::{Scale, with_seeds};

/// How far apart publications are: a second of the network carries some fifty messages.
pub const GAP: Duration = Duration::from_millis(20);

/// A network of honest nodes whose meshes have settled.
pub fn settled(seed: u64, scale: Scale, change: impl Fn(usize, &mut levada_router::Config)) -> Network {
    let mut network = Network::new(seed, scale.nodes, change);
    network.join_all();
    network.connect_randomly(6);
    // The longest it takes: a mesh that was pruned is filled again at the next heartbeat, and backoffs last a minute.
    network.run_for(Duration::from_secs(70));
    network
}

/// Publishes from random honest nodes; the messages' numbers.
pub fn publish_some(network: &mut Network, count: u32) -> std::ops::Range<u32> {
    let first = network.messages.len() as u32;
    let honest: Vec<usize> = (0..network.nodes.len()).filter(|node| !network.nodes[*node].is_hostile).collect();
    let mut last = first;
    for _ in 0..count {
        let publisher = honest[network.rng.below(honest.len())];
        let bytes = [200, 10_000, 50_000][network.rng.below(3)];
        last = network.publish(publisher, bytes) + 1;
        network.run_for(GAP);
        // Hostile nodes may have made messages in between: they are judged apart.
    }
    first..last
}

/// Asserts that every honest node has every valid message of the range, and no invalid one was accepted.
pub fn assert_all_delivered(network: &Network, messages: std::ops::Range<u32>) {
    for (number, node) in network.nodes.iter().enumerate().filter(|(_, node)| !node.is_hostile) {
        for message in messages.clone().filter(|message| network.messages[*message as usize].is_valid) {
            assert!(node.delivered[message as usize], "node {number} lacks message {message}");
        }
    }
}

/// Asserts the bounds that hold at any time, whoever the peers are.
pub fn assert_bounded(network: &Network) {
    for node in network.nodes.iter().filter(|node| !node.is_hostile) {
        let usage = node.router.usage();
        let limits = levada_router::Limits::default();
        assert!(usage.topics <= limits.topics_max, "{usage:?}");
        assert!(usage.pending <= limits.pending_max && usage.pending_bytes <= limits.pending_bytes_max, "{usage:?}");
        assert!(usage.mcache_bytes <= limits.mcache_bytes_max && usage.asked <= limits.asked_max, "{usage:?}");
        assert!(usage.promises <= usage.peers * 40 && usage.dont_want <= usage.peers * 3_000, "{usage:?}");
        assert!(usage.retained <= limits.retained_max, "{usage:?}");
    }
}

#[test]
fn clean_delivery() {
    with_seeds("clean_delivery", |seed, scale| {
        let mut network = settled(seed, scale, |_, _| ());
        let messages = publish_some(&mut network, scale.messages);
        network.run_for(Duration::from_secs(5));
        assert_all_delivered(&network, messages.clone());
        assert_bounded(&network);
        for node in &network.nodes {
            assert_eq!(node.router.counters().promises_broken, 0);
            assert_eq!(node.router.usage().pending, 0);
        }
        // IDONTWANT and never sending back keep the copies of a message below the degree of the mesh.
        let copies: u64 = network.nodes.iter().map(|node| node.copies).sum();
        let per_delivery = copies as f64 / (messages.len() * network.nodes.len()) as f64;
        assert!(per_delivery < 6.0, "{per_delivery} copies of a message per node");
    });
}

#[test]
fn mesh_degrees() {
    with_seeds("mesh_degrees", |seed, scale| {
        let network = settled(seed, scale, |_, _| ());
        let mut outbound_all = 0;
        for node in 0..network.nodes.len() {
            let mesh = network.mesh(node);
            assert!((4..=8).contains(&mesh.len()), "node {node} has {} peers in its mesh", mesh.len());
            let topic = network.nodes[node].router.topic(crate::network::TOPIC).unwrap();
            let router = &network.nodes[node].router;
            let outbound = router.mesh(topic).iter().filter(|peer| router.peer(**peer).unwrap().outbound);
            let outbound = outbound.count();
            outbound_all += outbound;
            assert!(outbound >= 1, "node {node} has no outbound peer");
        }
        // A peer whose own mesh is full may refuse, so D_out cannot hold for every node.
        assert!(outbound_all >= 3 * network.nodes.len(), "{outbound_all}");
    });
}

#[test]
fn meshes_agree() {
    with_seeds("meshes_agree", |seed, scale| {
        let mut network = settled(seed, scale, |_, _| ());
        // Between a GRAFT and its arrival the ends differ: such a pair is looked at again.
        let differ = |network: &Network| -> Vec<(usize, usize)> {
            let pairs = (0..network.nodes.len()).flat_map(|a| network.mesh(a).into_iter().map(move |b| (a, b)));
            pairs.filter(|(a, b)| !network.mesh(*b).contains(a)).collect()
        };
        let first = differ(&network);
        network.run_for(Duration::from_secs(2));
        let second = differ(&network);
        let stuck: Vec<_> = first.iter().filter(|pair| second.contains(pair)).collect();
        assert!(stuck.is_empty(), "{stuck:?}");
    });
}
