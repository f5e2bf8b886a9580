//! Who is known besides, looked after once a second: dialled while too few connections go out, and written down.

use std::time::{Duration, Instant};

use libp2p::multiaddr::Protocol;
use libp2p::{Multiaddr, PeerId};

use crate::census::Origin;
use crate::colocation::ip_of;
use crate::config::{NetConfig, peer_address};
use crate::counters;
use crate::known::Known;
use crate::peer_file::PeerFile;
use crate::relay::Relay;
use crate::service::Service;

/// Between two looks.
pub(crate) const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Between two times that the file is written.
const WRITE_EVERY: Duration = Duration::from_secs(10);
/// Addresses that one identify message makes known.
const IDENTIFY_ADDRESSES_MAX: usize = 8;
/// Lines of the file per peer.
const FILE_ADDRESSES_PER_PEER: usize = 8;

/// The known peers and their file.
pub(crate) struct Lookout {
    pub(crate) known: Known,
    file: Option<PeerFile>,
    written_at: Instant,
}

impl Lookout {
    /// Those that the file remembers. A file that cannot be read is no reason not to start.
    pub(crate) fn new(config: &NetConfig) -> Self {
        let mut known = Known::new(config.key.peer_id(), config.known_peers_max);
        let file = config.peer_file.as_deref().map(PeerFile::new);
        let read = file.as_ref().map(|file| file.read(config.known_peers_max.saturating_mul(FILE_ADDRESSES_PER_PEER)));
        match read {
            Some(Ok(mut addresses)) => {
                // The file begins with who was heard last; the last that is learned here counts as that.
                addresses.reverse();
                let now = Instant::now();
                addresses.iter().for_each(|address| _ = known.learn(address, false, now));
                tracing::info!(peers = known.len(), "peers of the last run are known");
            }
            Some(Err(error)) => tracing::warn!(%error, file = ?config.peer_file, "known peers cannot be read"),
            None => {}
        }
        // What was read is no news.
        let _ = known.changes();
        Self { known, file, written_at: Instant::now() }
    }

    /// The addresses to be written, if there is a file and anything is new.
    fn unwritten(&mut self) -> Option<(PeerFile, Vec<Multiaddr>)> {
        let file = self.file.clone()?;
        self.known.changes().map(|addresses| (file, addresses))
    }
}

impl<R: Relay> Service<R> {
    /// Dials who is due, and writes down what is new.
    pub(crate) fn look_around(&mut self) {
        let now = Instant::now();
        let room = (self.config.max_connections as usize).saturating_sub(self.peers.connected());
        let wanted = self.config.outgoing_wanted.saturating_sub(self.peers.outgoing()).min(room);
        for opts in self.lookout.known.due(wanted, now) {
            let connection = opts.connection_id();
            if let Err(error) = self.swarm.dial(opts) {
                counters::DIALS_FAILED.add(1);
                tracing::debug!(%error, "a known peer is not dialled");
                self.lookout.known.on_failed(connection, now);
            }
        }
        if now.duration_since(self.lookout.written_at) >= WRITE_EVERY {
            self.lookout.written_at = now;
            if let Some((file, addresses)) = self.lookout.unwritten() {
                tokio::task::spawn_blocking(move || write(&file, &addresses));
            }
        }
    }

    /// At the end the file is written at once.
    pub(crate) fn remember_at_last(&mut self) {
        if let Some((file, addresses)) = self.lookout.unwritten() {
            write(&file, &addresses);
        }
    }

    pub(crate) fn learn(&mut self, addresses: &[Multiaddr], origin: Origin) {
        let now = Instant::now();
        for address in addresses {
            let id = address.iter().find_map(|part| if let Protocol::P2p(id) = part { Some(id) } else { None });
            let is_connected = id.is_some_and(|id| self.peers.is_connected(&id));
            let dialable = peer_address(&address.to_string()).is_ok();
            if !dialable || !self.lookout.known.learn(address, is_connected, now) {
                counters::ADDRESSES_REFUSED.add(1);
            } else if let Some(id) = id {
                self.lookout.known.came_by(&id, origin);
            }
        }
    }

    /// Of what a peer says of itself only that is believed which lies where the peer is: nobody shall have us dial somebody else.
    pub(crate) fn learn_from_identify(&mut self, peer: PeerId, listens: &[Multiaddr]) {
        let Some(remote) = self.peers.remote_of(&peer).and_then(ip_of) else { return };
        let there = listens.iter().filter(|address| ip_of(address) == Some(remote));
        let named = there.take(IDENTIFY_ADDRESSES_MAX).filter_map(|address| address.clone().with_p2p(peer).ok());
        let addresses: Vec<Multiaddr> = named.collect();
        self.learn(&addresses, Origin::Unknown);
    }
}

fn write(file: &PeerFile, addresses: &[Multiaddr]) {
    if let Err(error) = file.write(addresses) {
        counters::PEER_FILE_FAILURES.add(1);
        tracing::warn!(%error, "known peers cannot be written down");
    }
}
