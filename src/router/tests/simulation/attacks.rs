//! Eclipse and spam.

use std::time::Duration;

use crate::delivery::{assert_all_delivered, assert_bounded, publish_some, settled};
use crate::hostile;
use crate::network::Frame;
use crate::run::with_seeds;

#[test]
fn eclipse() {
    with_seeds("eclipse", |seed, scale| {
        let mut network = settled(seed, scale, |_, _| ());
        let victim = 0;
        let crowd: Vec<usize> = (0..40).map(|_| hostile::add(&mut network, [victim])).collect();
        // Again and again they push into the victim's mesh, and never pass anything on.
        for _ in 0..10 {
            crowd.iter().for_each(|hostile| hostile::graft(&mut network, *hostile, victim));
            network.run_for(Duration::from_secs(1));
        }
        let messages = publish_some(&mut network, scale.messages / 2);
        let own = network.publish(victim, 1_000);
        network.run_for(Duration::from_secs(5));
        assert_all_delivered(&network, messages);
        assert_all_delivered(&network, own..own + 1);
        let honest = network.mesh(victim).iter().filter(|node| !crowd.contains(node)).count();
        assert!(honest >= 3, "only {honest} honest peers are left in the mesh of the victim");
        assert_bounded(&network);
    });
}

#[test]
fn spam_of_invalid_messages() {
    with_seeds("spam_of_invalid_messages", |seed, scale| {
        let mut network = settled(seed, scale, |_, _| ());
        let victims: Vec<usize> = (0..8).collect();
        let spammer = hostile::add(&mut network, victims.clone());
        for victim in &victims {
            hostile::graft(&mut network, spammer, *victim);
        }
        network.run_for(Duration::from_secs(1));
        let spam_first = network.messages.len() as u32;
        for _ in 0..40 {
            let number = network.new_message(1_000, false);
            for victim in &victims {
                network.send(spammer, *victim, Frame::Message { number });
            }
            network.run_for(Duration::from_millis(50));
        }
        let spam = spam_first..network.messages.len() as u32;
        network.run_for(Duration::from_secs(2));
        for victim in &victims {
            assert!(!network.linked(*victim, spammer), "node {victim} still talks to the spammer");
            // 100 · n² passes 10 000 at the eleventh message, or at the sixteenth if the ten before were halved by a decay; two
            // more may be on their way.
            let heard = spam.clone().filter(|message| network.nodes[*victim].delivered[*message as usize]).count();
            assert!((11..=18).contains(&heard), "node {victim} judged {heard} messages");
        }
        for (number, node) in network.nodes.iter().enumerate().filter(|(number, _)| !victims.contains(number)) {
            let reached = spam.clone().any(|message| node.delivered[message as usize]);
            assert!(!reached, "spam was passed on to node {number}");
        }
        // It comes back as the same peer, and is heard no more.
        network.connect(spammer, victims[0]);
        assert!(hostile::score(&network, victims[0], spammer).unwrap() < -10_000.0);
        let messages = publish_some(&mut network, scale.messages / 2);
        network.run_for(Duration::from_secs(5));
        assert_all_delivered(&network, messages);
        assert_bounded(&network);
    });
}
