//! The table of connected peers.

use std::collections::HashMap;
use std::net::IpAddr;

use crate::backoff::Backoffs;
use crate::dontwant::DontWant;
use crate::error::ConnectError;
use crate::index::{PeerIndex, PeerKey, TopicIndex};
use crate::score::PeerScore;

/// What a peer speaks, from the protocol id of its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// `/floodsub/1.0.0`: no control messages, and everything is sent to it.
    Floodsub,
    /// `/meshsub/1.0.0`: PRUNE carries no backoff.
    Gossipsub10,
    /// `/meshsub/1.1.0`.
    Gossipsub11,
    /// `/meshsub/1.2.0`: IDONTWANT.
    Gossipsub12,
    /// `/vac/waku/relay/2.0.0`. nwaku understands IDONTWANT under it; go-waku and js-waku skip what they do not know.
    Waku,
}

impl Protocol {
    pub(crate) fn speaks_gossipsub(self) -> bool {
        self != Self::Floodsub
    }

    pub(crate) fn knows_backoff(self) -> bool {
        !matches!(self, Self::Floodsub | Self::Gossipsub10)
    }

    pub(crate) fn knows_idontwant(self) -> bool {
        matches!(self, Self::Gossipsub12 | Self::Waku)
    }
}

/// A peer that has connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerInfo {
    /// Who it is.
    pub key: PeerKey,
    /// What it speaks.
    pub protocol: Protocol,
    /// Whether there is an agreement with it: everything is sent to it, its score counts nothing, and no mesh has it.
    pub direct: bool,
    /// Whether this node opened the connection.
    pub outbound: bool,
    /// Where it is, if that is known.
    pub ip: Option<IpAddr>,
}

/// What is kept of a peer when it leaves.
#[derive(Clone, Debug, Default)]
pub(crate) struct Standing {
    pub(crate) score: PeerScore,
    pub(crate) backoffs: Backoffs,
}

/// What a peer has used up since the last heartbeat.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Budget {
    /// IHAVE messages it has sent.
    pub(crate) ihave_messages: u32,
    /// Ids asked of it.
    pub(crate) asked_ids: usize,
    /// Ids it has asked for.
    pub(crate) wanted_ids: usize,
}

/// A connected peer. Memory: about 350 bytes, 4 per topic, and what its parts say.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    pub(crate) info: PeerInfo,
    /// The topics it is subscribed to.
    pub(crate) topics: Vec<TopicIndex>,
    pub(crate) standing: Standing,
    pub(crate) dont_want: DontWant,
    pub(crate) budget: Budget,
}

impl Peer {
    pub(crate) fn score(&self) -> f64 {
        self.standing.score.value()
    }

    /// Whether the peer can be in a mesh at all.
    pub(crate) fn gossips(&self) -> bool {
        self.info.protocol.speaks_gossipsub() && !self.info.direct
    }
}

#[derive(Clone, Debug, Default)]
struct Place {
    generation: u32,
    peer: Option<Peer>,
}

/// All connected peers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Peers {
    places: Vec<Place>,
    free: Vec<u32>,
    by_key: HashMap<PeerKey, PeerIndex>,
    at_address: HashMap<IpAddr, u32>,
}

impl Peers {
    pub(crate) fn get(&self, index: PeerIndex) -> Option<&Peer> {
        let place = self.places.get(index.slot()).filter(|place| place.generation == index.generation)?;
        place.peer.as_ref()
    }

    pub(crate) fn get_mut(&mut self, index: PeerIndex) -> Option<&mut Peer> {
        let place = self.places.get_mut(index.slot()).filter(|place| place.generation == index.generation)?;
        place.peer.as_mut()
    }

    pub(crate) fn len(&self) -> usize {
        self.by_key.len()
    }

    pub(crate) fn find(&self, key: &PeerKey) -> Option<PeerIndex> {
        self.by_key.get(key).copied()
    }

    /// The connected peers in the order of their places.
    pub(crate) fn indices(&self) -> impl Iterator<Item = PeerIndex> {
        (0..self.places.len()).filter_map(|slot| self.index_at(slot))
    }

    /// One more than the last place that was ever used.
    pub(crate) fn places(&self) -> usize {
        self.places.len()
    }

    /// The peer at a place, if there is one.
    pub(crate) fn index_at(&self, slot: usize) -> Option<PeerIndex> {
        let place = self.places.get(slot).filter(|place| place.peer.is_some())?;
        Some(PeerIndex { slot: slot as u32, generation: place.generation })
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Peer> {
        self.places.iter_mut().filter_map(|place| place.peer.as_mut())
    }

    /// The peers at an address.
    pub(crate) fn neighbours(&self, ip: Option<IpAddr>) -> u32 {
        ip.and_then(|ip| self.at_address.get(&ip)).copied().unwrap_or(0)
    }

    pub(crate) fn insert(
        &mut self,
        info: PeerInfo,
        standing: Standing,
        peers_max: usize,
    ) -> Result<PeerIndex, ConnectError> {
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None if self.places.len() < peers_max => {
                self.places.push(Place::default());
                (self.places.len() - 1) as u32
            }
            None => return Err(ConnectError::Full { peers_max }),
        };
        let place = &mut self.places[slot as usize];
        let index = PeerIndex { slot, generation: place.generation };
        let (dont_want, budget) = (DontWant::default(), Budget::default());
        place.peer = Some(Peer { info, topics: Vec::new(), standing, dont_want, budget });
        self.by_key.insert(info.key, index);
        if let Some(ip) = info.ip {
            *self.at_address.entry(ip).or_default() += 1;
        }
        Ok(index)
    }

    pub(crate) fn remove(&mut self, index: PeerIndex) -> Option<Peer> {
        let place = self.places.get_mut(index.slot()).filter(|place| place.generation == index.generation)?;
        let peer = place.peer.take()?;
        place.generation = place.generation.wrapping_add(1);
        self.free.push(index.slot);
        self.by_key.remove(&peer.info.key);
        if let Some(ip) = peer.info.ip
            && let Some(count) = self.at_address.get_mut(&ip)
        {
            *count -= 1;
            if *count == 0 {
                self.at_address.remove(&ip);
            }
        }
        Some(peer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(number: u8) -> PeerInfo {
        let ip = Some(IpAddr::from([10, 0, 0, 1]));
        PeerInfo { key: [number; 32], protocol: Protocol::Waku, direct: false, outbound: false, ip }
    }

    #[test]
    fn the_index_of_a_peer_that_left_stands_for_nobody() {
        let mut peers = Peers::default();
        let first = peers.insert(info(1), Standing::default(), 1).unwrap();
        assert_eq!(peers.insert(info(2), Standing::default(), 1), Err(ConnectError::Full { peers_max: 1 }));
        assert!(peers.remove(first).is_some() && peers.remove(first).is_none());
        let second = peers.insert(info(2), Standing::default(), 1).unwrap();
        assert_eq!(second.slot(), first.slot());
        assert!(peers.get(first).is_none() && peers.get(second).is_some());
        assert_eq!((peers.find(&[1; 32]), peers.find(&[2; 32])), (None, Some(second)));
    }

    #[test]
    fn peers_at_an_address_are_counted() {
        let mut peers = Peers::default();
        let indices: Vec<_> = (0..3).map(|n| peers.insert(info(n), Standing::default(), 9).unwrap()).collect();
        assert_eq!(peers.neighbours(info(0).ip), 3);
        indices.into_iter().for_each(|index| drop(peers.remove(index)));
        assert_eq!(peers.neighbours(info(0).ip), 0);
        assert!(peers.at_address.is_empty());
    }
}
