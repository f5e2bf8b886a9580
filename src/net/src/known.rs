//! Peers that are known and need not be here: met before, found by discovery, or remembered from the last run. They are dialled while too
//! few connections go out, with nwaku's pauses. No socket and no clock of its own.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use libp2p::multiaddr::Protocol;
use libp2p::swarm::ConnectionId;
use libp2p::swarm::dial_opts::{DialOpts, PeerCondition};
use libp2p::{Multiaddr, PeerId};

use crate::census::{Origin, PeerRecord, Reach};

/// The pause after the first failure; each further one lasts four times as long.
const PAUSE: Duration = Duration::from_secs(120);
const PAUSE_FACTOR: u32 = 4;
/// A peer that could not be reached so often in a row is forgotten.
const FAILURES_MAX: u32 = 5;
/// A peer that was here and went is left alone for so long.
const REST: Duration = Duration::from_secs(30);
/// One that went sooner than this was not reached at all: it did not want us.
const STAY_MIN: Duration = Duration::from_secs(10);
/// Dials at one time.
const DIALS_MAX: usize = 10;
/// A peer that is not wanted is not known again for so long.
const SHUN: Duration = Duration::from_secs(3_600);
/// Peers that are shunned at one time; of more, the first are forgotten.
const SHUNNED_MAX: usize = 1_024;
/// Addresses kept per peer.
const ADDRESSES_MAX: usize = 8;

/// One peer.
#[derive(Debug)]
struct KnownPeer {
    addresses: Vec<Multiaddr>,
    state: State,
    failures: u32,
    /// Whether it was ever here.
    met: bool,
    origin: Origin,
    /// Counts up with every sign of life; the peer with the lowest is forgotten first.
    news: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Away { dial_at: Instant },
    Dialling(ConnectionId),
    Here,
}

/// The known peers of the node.
#[derive(Debug)]
pub(crate) struct Known {
    own: PeerId,
    peers: HashMap<PeerId, KnownPeer>,
    capacity: usize,
    news: u64,
    /// Those that were not wanted, and since when.
    shunned: VecDeque<(PeerId, Instant)>,
    /// Whether what should be remembered has changed since it was last asked for.
    changed: bool,
}

impl Known {
    /// Nobody; at most `capacity` later. The node itself, `own`, is never among them.
    pub(crate) fn new(own: PeerId, capacity: usize) -> Self {
        Self { own, peers: HashMap::new(), capacity, news: 0, shunned: VecDeque::new(), changed: false }
    }

    /// Keeps an address of a peer, which it must name by `/p2p/…`. `false` if it names none, this node, or somebody who is not wanted.
    pub(crate) fn learn(&mut self, address: &Multiaddr, is_connected: bool, now: Instant) -> bool {
        let mut bare = address.clone();
        let Some(Protocol::P2p(id)) = bare.pop() else { return false };
        self.shunned.retain(|(_, since)| now.duration_since(*since) < SHUN);
        if id == self.own || self.shunned.iter().any(|(shunned, _)| *shunned == id) {
            return false;
        }
        if !self.peers.contains_key(&id) {
            self.make_room();
        }
        self.news += 1;
        let state = if is_connected { State::Here } else { State::Away { dial_at: now } };
        let peer = self.peers.entry(id).or_insert(KnownPeer::new(state));
        peer.news = self.news;
        if !peer.addresses.contains(&bare) {
            peer.addresses.insert(0, bare);
            peer.addresses.truncate(ADDRESSES_MAX);
            self.changed = true;
        }
        true
    }

    /// Forgets the peer that gave no sign of life for the longest, if there is no place left.
    fn make_room(&mut self) {
        if self.peers.len() < self.capacity {
            return;
        }
        let idle = self.peers.iter().filter(|(_, peer)| !matches!(peer.state, State::Dialling(_)));
        if let Some(oldest) = idle.min_by_key(|(_, peer)| peer.news).map(|(id, _)| *id) {
            self.peers.remove(&oldest);
            self.changed = true;
        }
    }

    fn dialling(&self) -> usize {
        self.peers.values().filter(|peer| matches!(peer.state, State::Dialling(_))).count()
    }

    /// The dials that are due towards `wanted` more connections. Each is being dialled from now on.
    pub(crate) fn due(&mut self, wanted: usize, now: Instant) -> Vec<DialOpts> {
        let free = wanted.min(DIALS_MAX).saturating_sub(self.dialling());
        let due = |peer: &KnownPeer| matches!(peer.state, State::Away { dial_at } if dial_at <= now);
        let mut due: Vec<_> = self.peers.iter_mut().filter(|(_, peer)| due(peer)).collect();
        // Those that failed least, and of these who was last heard of.
        due.sort_by_key(|(_, peer)| (peer.failures, u64::MAX - peer.news));
        due.into_iter().take(free).map(|(id, peer)| peer.dial(*id)).collect()
    }

    /// A connection was established, by either side.
    pub(crate) fn on_established(&mut self, id: &PeerId) {
        if let Some(peer) = self.peers.get_mut(id) {
            self.news += 1;
            (peer.state, peer.met, peer.news) = (State::Here, true, self.news);
        }
    }

    /// A dial has failed.
    pub(crate) fn on_failed(&mut self, connection: ConnectionId, now: Instant) {
        let dialled = self.peers.iter().find(|(_, peer)| peer.state == State::Dialling(connection));
        if let Some(id) = dialled.map(|(id, _)| *id) {
            self.fail(id, now);
        }
    }

    fn fail(&mut self, id: PeerId, now: Instant) {
        let Some(peer) = self.peers.get_mut(&id) else { return };
        peer.failures += 1;
        if peer.failures >= FAILURES_MAX {
            tracing::debug!(peer = %id, "forgotten: it could not be reached {FAILURES_MAX} times");
            self.peers.remove(&id);
            self.changed = true;
        } else {
            let pause = PAUSE * PAUSE_FACTOR.pow(peer.failures - 1);
            peer.state = State::Away { dial_at: now + pause };
        }
    }

    /// The last connection of a peer has closed after `stayed`.
    pub(crate) fn on_gone(&mut self, id: &PeerId, stayed: Duration, now: Instant) {
        match self.peers.get_mut(id) {
            Some(peer) if stayed >= STAY_MIN => {
                (peer.state, peer.failures) = (State::Away { dial_at: now + REST }, 0);
            }
            _ => self.fail(*id, now),
        }
    }

    /// A peer is not wanted: it is of another cluster, say.
    pub(crate) fn shun(&mut self, id: PeerId, now: Instant) {
        self.changed |= self.peers.remove(&id).is_some();
        if self.shunned.len() >= SHUNNED_MAX {
            self.shunned.pop_front();
        }
        self.shunned.push_back((id, now));
    }

    /// Says how a peer became known, unless that is known already.
    pub(crate) fn came_by(&mut self, id: &PeerId, origin: Origin) {
        if let Some(peer) = self.peers.get_mut(id).filter(|peer| peer.origin == Origin::Unknown) {
            peer.origin = origin;
        }
    }

    /// Every peer, for the census; who is here counts as one that was.
    pub(crate) fn records(&self) -> impl Iterator<Item = PeerRecord> + '_ {
        self.peers.iter().map(|(id, peer)| {
            let reach = match (peer.failures, peer.met) {
                (1.., _) => Reach::CannotConnect,
                (0, true) => Reach::CanConnect,
                (0, false) => Reach::NotConnected,
            };
            let (addresses, origin) = (peer.addresses.clone(), peer.origin);
            PeerRecord { addresses, origin, ..PeerRecord::away(*id, reach) }
        })
    }

    /// Peers known.
    pub(crate) fn len(&self) -> usize {
        self.peers.len()
    }

    /// Every address with its peer id, of whom was heard last first, if anything has changed since the last call.
    pub(crate) fn changes(&mut self) -> Option<Vec<Multiaddr>> {
        if !std::mem::take(&mut self.changed) {
            return None;
        }
        let mut peers: Vec<_> = self.peers.iter().collect();
        peers.sort_by_key(|(_, peer)| u64::MAX - peer.news);
        let named = |(id, peer): (&PeerId, &KnownPeer)| {
            let id = *id;
            peer.addresses.iter().map(move |address| address.clone().with(Protocol::P2p(id))).collect::<Vec<_>>()
        };
        Some(peers.into_iter().flat_map(named).collect())
    }
}

impl KnownPeer {
    fn new(state: State) -> Self {
        let met = state == State::Here;
        Self { addresses: Vec::new(), state, failures: 0, met, origin: Origin::Unknown, news: 0 }
    }

    fn dial(&mut self, id: PeerId) -> DialOpts {
        let opts = DialOpts::peer_id(id)
            .addresses(self.addresses.clone())
            .condition(PeerCondition::DisconnectedAndNotDialing)
            .allocate_new_port()
            .build();
        self.origin.count_dial();
        self.state = State::Dialling(opts.connection_id());
        opts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn address(id: PeerId, port: u16) -> Multiaddr {
        format!("/ip4/192.0.2.1/tcp/{port}/p2p/{id}").parse().expect("a multiaddress")
    }

    fn known(capacity: usize) -> Known {
        Known::new(PeerId::random(), capacity)
    }

    /// When the next peer that is away may be dialled.
    fn next_due(known: &Known) -> Option<Instant> {
        let away = |peer: &KnownPeer| if let State::Away { dial_at } = peer.state { Some(dial_at) } else { None };
        known.peers.values().filter_map(away).min()
    }

    #[test]
    fn pauses_are_120_s_times_4_and_five_failures_are_the_end() {
        let (mut known, id, mut now) = (known(10), PeerId::random(), Instant::now());
        assert!(known.learn(&address(id, 1), false, now));
        let mut pauses = Vec::new();
        loop {
            let dial = known.due(1, now).remove(0);
            assert!(known.due(1, now).is_empty(), "dialled once at a time");
            known.on_failed(dial.connection_id(), now);
            let Some(next) = next_due(&known) else { break };
            pauses.push((next - now).as_secs());
            now = next;
        }
        assert_eq!((pauses, known.len()), (vec![120, 480, 1_920, 7_680], 0));
    }

    #[test]
    fn as_many_are_dialled_as_are_wanted_and_ten_at_most() {
        let (mut known, now) = (known(100), Instant::now());
        (0..50).for_each(|port| assert!(known.learn(&address(PeerId::random(), port), false, now)));
        assert!(known.due(0, now).is_empty());
        assert_eq!(known.due(3, now).len(), 3);
        assert!(known.due(3, now).is_empty(), "three are under way");
        assert_eq!(known.due(100, now).len(), DIALS_MAX - 3);
        assert!(known.due(100, now).is_empty());
    }

    #[test]
    fn who_was_here_rests_and_who_is_here_is_not_dialled() {
        let (mut known, id, now) = (known(10), PeerId::random(), Instant::now());
        known.learn(&address(id, 1), true, now);
        assert!(known.due(9, now + 1_000 * SECOND).is_empty());
        known.on_gone(&id, STAY_MIN, now);
        assert!(known.due(9, now).is_empty());
        assert_eq!(known.due(9, now + REST).len(), 1);
        known.on_established(&id);
        assert!(known.due(9, now + 1_000 * SECOND).is_empty());
        known.on_gone(&id, STAY_MIN - SECOND, now);
        assert_eq!(next_due(&known), Some(now + PAUSE), "who goes at once was not reached");
    }

    #[test]
    fn the_one_without_news_goes_when_there_is_no_room() {
        let (mut known, now) = (known(2), Instant::now());
        let ids = [PeerId::random(), PeerId::random(), PeerId::random()];
        known.learn(&address(ids[0], 1), false, now);
        known.learn(&address(ids[1], 1), false, now);
        known.on_established(&ids[0]);
        known.learn(&address(ids[2], 1), false, now);
        assert!(known.peers.contains_key(&ids[0]) && !known.peers.contains_key(&ids[1]));
        for port in 2..20 {
            known.learn(&address(ids[2], port), false, now);
        }
        assert_eq!(known.peers[&ids[2]].addresses.len(), ADDRESSES_MAX);
    }

    #[test]
    fn only_changes_are_told_and_the_node_itself_is_nobody() {
        let (mut known, id, now) = (known(9), PeerId::random(), Instant::now());
        assert!(!known.learn(&address(known.own, 1), false, now));
        assert!(!known.learn(&"/ip4/192.0.2.1/tcp/1".parse().expect("a multiaddress"), false, now));
        assert_eq!(known.changes(), None);
        known.learn(&address(id, 1), false, now);
        known.learn(&address(id, 2), false, now);
        assert_eq!(known.changes(), Some(vec![address(id, 2), address(id, 1)]));
        known.learn(&address(id, 1), false, now);
        assert_eq!(known.changes(), None, "known already");
        known.shun(id, now);
        assert_eq!(known.changes(), Some(vec![]));
        assert!(!known.learn(&address(id, 1), false, now + SHUN - SECOND));
        assert!(known.learn(&address(id, 1), false, now + SHUN));
        (0..=SHUNNED_MAX).for_each(|_| known.shun(PeerId::random(), now));
        assert_eq!(known.shunned.len(), SHUNNED_MAX);
    }
}
