//! Static peers: dialled at start, and again with growing pauses while they are away. No socket and no clock of its own.

use std::time::{Duration, Instant};

use libp2p::multiaddr::Protocol;
use libp2p::swarm::ConnectionId;
use libp2p::swarm::dial_opts::{DialOpts, PeerCondition};
use libp2p::{Multiaddr, PeerId};

/// The pause after the first failure; it doubles up to the longest.
const PAUSE_MIN: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(60);
/// A peer that stayed this long has its pause reset. One that is thrown out at once (another cluster) is not dialled every second.
const STABLE_AFTER: Duration = Duration::from_secs(60);

enum State {
    Away { dial_at: Instant },
    Dialling(ConnectionId),
    Here(PeerId),
}

struct StaticPeer {
    address: Multiaddr,
    /// From `/p2p/…` in the address.
    expected: Option<PeerId>,
    state: State,
    pause: Duration,
    /// Whether its absence has been logged.
    told: bool,
}

/// The static peers of the node.
pub(crate) struct Dialler {
    peers: Vec<StaticPeer>,
}

impl Dialler {
    pub(crate) fn new(addresses: &[Multiaddr], now: Instant) -> Self {
        let peer = |address: &Multiaddr| StaticPeer {
            address: address.clone(),
            expected: address.iter().find_map(|part| if let Protocol::P2p(id) = part { Some(id) } else { None }),
            state: State::Away { dial_at: now },
            pause: PAUSE_MIN,
            told: false,
        };
        Self { peers: addresses.iter().map(peer).collect() }
    }

    /// When the next dial is due, if any peer is away and not being dialled.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.peers
            .iter()
            .filter_map(|peer| if let State::Away { dial_at } = peer.state { Some(dial_at) } else { None })
            .min()
    }

    /// The dials that are due. Each is being dialled from now on.
    pub(crate) fn due(&mut self, now: Instant) -> Vec<DialOpts> {
        let due = |peer: &&mut StaticPeer| matches!(peer.state, State::Away { dial_at } if dial_at <= now);
        self.peers.iter_mut().filter(due).map(StaticPeer::dial).collect()
    }

    /// A connection was established, by either side.
    pub(crate) fn on_established(&mut self, connection: ConnectionId, id: PeerId) {
        for peer in &mut self.peers {
            let dialled = matches!(peer.state, State::Dialling(dial) if dial == connection);
            if dialled || (peer.expected == Some(id) && !matches!(peer.state, State::Here(_))) {
                tracing::info!(address = %peer.address, peer = %id, "static peer connected");
                peer.state = State::Here(id);
                peer.told = false;
            }
        }
    }

    /// A dial has failed.
    pub(crate) fn on_failed(&mut self, connection: ConnectionId, error: &dyn std::fmt::Display, now: Instant) {
        for peer in &mut self.peers {
            if matches!(peer.state, State::Dialling(dial) if dial == connection) {
                if !peer.told {
                    tracing::warn!(address = %peer.address, %error, "static peer unreachable, dialling on with pauses up to 60 s");
                }
                peer.told = true;
                peer.wait(now);
            }
        }
    }

    /// The last connection of a peer has closed after `stayed`.
    pub(crate) fn on_gone(&mut self, id: PeerId, stayed: Duration, now: Instant) {
        for peer in &mut self.peers {
            if matches!(peer.state, State::Here(here) if here == id) {
                tracing::info!(address = %peer.address, peer = %id, "static peer disconnected");
                if stayed >= STABLE_AFTER {
                    peer.pause = PAUSE_MIN;
                }
                peer.wait(now);
            }
        }
    }
}

impl StaticPeer {
    fn dial(&mut self) -> DialOpts {
        let opts = match self.expected {
            Some(id) => DialOpts::peer_id(id)
                .addresses(vec![self.address.clone()])
                .condition(PeerCondition::DisconnectedAndNotDialing)
                .allocate_new_port()
                .build(),
            None => DialOpts::unknown_peer_id().address(self.address.clone()).allocate_new_port().build(),
        };
        self.state = State::Dialling(opts.connection_id());
        opts
    }

    fn wait(&mut self, now: Instant) {
        self.state = State::Away { dial_at: now + self.pause };
        self.pause = (self.pause * 2).min(PAUSE_MAX);
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use libp2p::swarm::ConnectionId;
    use libp2p::{Multiaddr, PeerId};

    use super::Dialler;

    const SECOND: Duration = Duration::from_secs(1);

    fn address(id: Option<PeerId>) -> Multiaddr {
        let address: Multiaddr = "/ip4/127.0.0.1/tcp/1".parse().unwrap();
        id.map_or(address.clone(), |id| address.with_p2p(id).unwrap())
    }

    #[test]
    fn pauses_double_up_to_a_minute_and_start_over_after_a_long_stay() {
        let start = Instant::now();
        let mut dialler = Dialler::new(&[address(None)], start);
        let mut now = start;
        let mut pauses = Vec::new();
        for _ in 0..8 {
            let dial = dialler.due(now).remove(0);
            assert!(dialler.due(now).is_empty() && dialler.next_due().is_none(), "dialled once at a time");
            dialler.on_failed(dial.connection_id(), &"refused", now);
            let next = dialler.next_due().unwrap();
            pauses.push((next - now).as_secs());
            now = next;
        }
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60]);

        let id = PeerId::random();
        for (stay, pause) in [(SECOND, 60), (60 * SECOND, 1), (SECOND, 2)] {
            let dial = dialler.due(now).remove(0);
            dialler.on_established(dial.connection_id(), id);
            dialler.on_gone(id, stay, now);
            let next = dialler.next_due().unwrap();
            assert_eq!((next - now).as_secs(), pause, "after a stay of {stay:?}");
            now = next;
        }
    }

    #[test]
    fn a_peer_that_came_by_itself_is_not_dialled() {
        let (now, id) = (Instant::now(), PeerId::random());
        let mut dialler = Dialler::new(&[address(Some(id)), address(None)], now);
        dialler.on_established(ConnectionId::new_unchecked(9_999), id);
        assert_eq!(dialler.due(now).len(), 1, "only the one whose identity is not known");
        dialler.on_gone(PeerId::random(), SECOND, now);
        assert!(dialler.next_due().is_none(), "another peer's departure changes nothing");
        dialler.on_gone(id, SECOND, now);
        assert_eq!(dialler.due(now + SECOND).len(), 1);
    }
}
