//! Nodes that say what the scenario wants.

use std::rc::Rc;

use levada_router::{Config, MessageId};

use crate::network::{Frame, Network, TOPIC, id};

/// Adds a hostile node that connects to the victims and claims to be in the topic.
pub fn add(network: &mut Network, victims: impl IntoIterator<Item = usize>) -> usize {
    let hostile = network.add(Config::default(), true);
    for victim in victims {
        network.connect(hostile, victim);
        network.send(hostile, victim, Frame::Subscribe(TOPIC.into(), true));
    }
    hostile
}

pub fn graft(network: &mut Network, hostile: usize, victim: usize) {
    network.send(hostile, victim, Frame::Graft(TOPIC.into()));
}

/// Ids of messages that do not exist.
pub fn bogus_ids(network: &mut Network, count: u32) -> Rc<[MessageId]> {
    let base = 0x8000_0000 | (network.rng.next_u64() as u32 >> 1);
    (0..count).map(|number| id(base.wrapping_add(number))).collect()
}

/// The score that a node gives to another one, if they are connected.
pub fn score(network: &Network, node: usize, other: usize) -> Option<f64> {
    network.nodes[node].router.score(network.peer(node, other)?)
}
