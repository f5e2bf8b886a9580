//! Peers that send too much control.

use std::rc::Rc;
use std::time::Duration;

use levada_router::Limits;

use crate::delivery::{assert_all_delivered, assert_bounded, publish_some, settled};
use crate::hostile;
use crate::network::{Frame, Network, TOPIC};
use crate::run::{Scale, with_seeds};

/// What all floods have in common: the victims go on as if nothing had been.
fn assert_unharmed(network: &mut Network, scale: Scale) {
    let messages = publish_some(network, scale.messages / 4);
    network.run_for(Duration::from_secs(5));
    assert_all_delivered(network, messages);
    assert_bounded(network);
}

#[test]
fn ihave_flood() {
    with_seeds("ihave_flood", |seed, scale| {
        let scale = scale.fewer_messages(4);
        let mut network = settled(seed, scale, |_, _| ());
        let flooder = hostile::add(&mut network, 0..4);
        network.run_for(Duration::from_secs(1));
        for _ in 0..8 {
            for victim in 0..4 {
                for _ in 0..20 {
                    let ids = hostile::bogus_ids(&mut network, 1_000);
                    network.send(flooder, victim, Frame::IHave(TOPIC.into(), ids));
                }
            }
            network.run_for(Duration::from_secs(1));
            assert_bounded(&network);
        }
        for victim in 0..4 {
            let score = hostile::score(&network, victim, flooder).unwrap();
            assert!(score < -100.0, "the flooder still has {score} with node {victim}");
            let counters = network.nodes[victim].router.counters();
            assert!(counters.iwant_sent <= 5 * 5_000, "{counters:?}");
            assert!(counters.promises_broken >= 10 && counters.ihave_ignored > 0, "{counters:?}");
        }
        assert_unharmed(&mut network, scale);
    });
}

#[test]
fn graft_flood() {
    with_seeds("graft_flood", |seed, scale| {
        let scale = scale.fewer_messages(4);
        let mut network = settled(seed, scale, |_, _| ());
        let flooder = hostile::add(&mut network, 0..4);
        network.run_for(Duration::from_secs(1));
        for victim in 0..4 {
            // It prunes itself, so that every further GRAFT lies within the backoff.
            network.send(flooder, victim, Frame::Prune(TOPIC.into(), Some(60)));
            (0..2_000).for_each(|_| hostile::graft(&mut network, flooder, victim));
        }
        network.run_for(Duration::from_secs(3));
        for victim in 0..4 {
            assert!(!network.linked(victim, flooder), "node {victim} still talks to the flooder");
            let counters = network.nodes[victim].router.counters();
            assert!((100..400).contains(&counters.grafts_in_backoff), "{counters:?}");
        }
        assert!(network.nodes[flooder].told < 4 * 1_000, "answers: {}", network.nodes[flooder].told);
        assert_unharmed(&mut network, scale);
    });
}

#[test]
fn oversized_control() {
    with_seeds("oversized_control", |seed, scale| {
        let scale = scale.fewer_messages(4);
        let mut network = settled(seed, scale, |_, _| ());
        let flooder = hostile::add(&mut network, 0..2);
        network.run_for(Duration::from_secs(1));
        for _ in 0..5 {
            for victim in 0..2 {
                let ids = hostile::bogus_ids(&mut network, 20_000);
                network.send(flooder, victim, Frame::IHave(TOPIC.into(), ids.clone()));
                network.send(flooder, victim, Frame::IWant(ids.clone()));
                network.send(flooder, victim, Frame::IDontWant(ids));
            }
            network.run_for(Duration::from_secs(1));
            assert_bounded(&network);
        }
        for victim in 0..2 {
            let counters = network.nodes[victim].router.counters();
            assert_eq!(counters.iwant_answered, 0);
            assert!(counters.iwant_sent <= 5 * 5_000, "{counters:?}");
            assert!(counters.idontwant_ignored >= 5 * 19_000, "{counters:?}");
        }
        assert_unharmed(&mut network, scale);
    });
}

#[test]
fn thousands_of_topics() {
    with_seeds("thousands_of_topics", |seed, scale| {
        let scale = scale.fewer_messages(4);
        let mut network = settled(seed, scale, |_, _| ());
        let flooders: Vec<usize> = (0..5).map(|_| hostile::add(&mut network, 0..2)).collect();
        let topic = |flooder: usize, number: u32| -> Rc<str> { format!("/{flooder}/{number}").into() };
        for flooder in &flooders {
            for number in 0..3_000 {
                for victim in 0..2 {
                    network.send(*flooder, victim, Frame::Subscribe(topic(*flooder, number), true));
                    network.send(*flooder, victim, Frame::Graft(topic(*flooder, number)));
                }
            }
        }
        network.run_for(Duration::from_secs(2));
        let limits = Limits::default();
        for victim in 0..2 {
            let (usage, counters) = (network.nodes[victim].router.usage(), *network.nodes[victim].router.counters());
            assert_eq!(usage.topics, limits.topics_max - limits.joined_max + 1, "{usage:?}");
            assert!(counters.subscriptions_refused >= 5 * (3_000 - 1_024) && counters.grafts_ignored > 0);
            // A topic of its own still has a place.
            network.act(victim, |router, now, out| _ = router.join("/own", now, out).unwrap());
        }
        assert_unharmed(&mut network, scale);
        for flooder in &flooders {
            (0..2).for_each(|victim| network.disconnect(*flooder, victim));
        }
        assert_eq!(network.nodes[0].router.usage().topics, 2);
    });
}
