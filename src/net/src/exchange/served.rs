//! A protocol that is served, and the places its peers' streams take.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::BoxFuture;
use levada_engine::Counter;
use libp2p::{PeerId, Stream};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::peers::Direction;
use crate::streams::OpenStream;

/// Large requests of one peer that are read or answered at once.
const LARGE_REQUESTS_PER_PEER_MAX: usize = 4;

/// All protocols served; replaced as a whole when one is added.
pub(super) type ServedProtocols = Arc<[Arc<Served>]>;

type Accept = dyn Fn(Place, Stream) -> BoxFuture<'static, ()> + Send + Sync;

/// One protocol.
pub(crate) struct Served {
    protocol: &'static str,
    streams_per_peer_max: u32,
    accept: Box<Accept>,
    /// What each peer has open; a peer without a stream has no entry.
    open: Mutex<HashMap<PeerId, Open>>,
    refused: Counter,
}

/// The streams of one peer.
#[derive(Debug)]
struct Open {
    streams: u32,
    large: Arc<Semaphore>,
}

impl Served {
    pub(super) fn new(protocol: &'static str, streams_per_peer_max: u32, accept: Box<Accept>) -> Self {
        Self { protocol, streams_per_peer_max, accept, open: Mutex::default(), refused: Counter::new() }
    }

    pub(super) fn protocol(&self) -> &'static str {
        self.protocol
    }

    pub(super) fn refused_total(&self) -> u64 {
        self.refused.value()
    }

    /// Starts the task of a stream; without a place for it the stream is dropped, which resets it.
    pub(super) fn start(self: &Arc<Self>, peer: PeerId, stream: Stream) {
        match self.enter(peer) {
            Some(place) => {
                tokio::spawn((self.accept)(place, stream));
            }
            None => {
                self.refused.add(1);
                tracing::debug!(%peer, protocol = self.protocol, "stream refused: the peer has too many open");
            }
        }
    }

    fn enter(self: &Arc<Self>, peer: PeerId) -> Option<Place> {
        let mut open = self.open();
        let open = open
            .entry(peer)
            .or_insert_with(|| Open { streams: 0, large: Arc::new(Semaphore::new(LARGE_REQUESTS_PER_PEER_MAX)) });
        if open.streams >= self.streams_per_peer_max {
            return None;
        }
        open.streams += 1;
        let open_stream = OpenStream::new(self.protocol, Direction::In);
        Some(Place { served: self.clone(), peer, large: open.large.clone(), _open_stream: open_stream })
    }

    fn leave(&self, peer: PeerId) {
        let mut open = self.open();
        if let Some(of_peer) = open.get_mut(&peer) {
            of_peer.streams -= 1;
            if of_peer.streams == 0 {
                open.remove(&peer);
            }
        }
    }

    fn open(&self) -> MutexGuard<'_, HashMap<PeerId, Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Served {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Served").field("protocol", &self.protocol).finish_non_exhaustive()
    }
}

/// The place of one inbound stream among those of its peer; given back when dropped.
#[derive(Debug)]
pub struct Place {
    served: Arc<Served>,
    peer: PeerId,
    large: Arc<Semaphore>,
    _open_stream: OpenStream,
}

impl Place {
    /// Who opened the stream.
    pub fn peer(&self) -> PeerId {
        self.peer
    }

    /// Waits for a turn among the large requests of this peer.
    pub(super) async fn large_turn(&self) -> Option<SemaphorePermit<'_>> {
        // It fails only when closed, which it never is.
        self.large.acquire().await.ok()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.served.leave(self.peer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_bounded_per_peer_and_come_back() {
        let served = Arc::new(Served::new("/a", 2, Box::new(|_, _| Box::pin(async {}))));
        let [one, other] = [PeerId::random(), PeerId::random()];
        let places = [served.enter(one), served.enter(one)];
        assert!(places.iter().all(Option::is_some) && served.enter(one).is_none());
        assert_eq!(served.enter(other).map(|place| place.peer()), Some(other));
        drop(places);
        assert!(served.enter(one).is_some());
        assert!(served.open().is_empty(), "a peer without streams is forgotten");
    }
}
