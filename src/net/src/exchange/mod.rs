//! Requests and answers over streams: the frame that filter, store, lightpush and peer exchange share.
//!
//! A stream carries one request and one answer, each a protobuf message with its length in front as an unsigned varint. The answerer closes
//! its side behind the answer, which js-waku waits for. Clients open streams ahead of need and may use them minutes later; such a stream is
//! left open, and after ten minutes dropped, which resets it. It is never closed on one side only, since js-waku takes it for usable then.
//!
//! Every stream has a task of its own, so that no client waits for another one's bytes. What a peer can hold here is bounded: streams per
//! protocol, requests that are worked on, bytes of each request, and seconds of each step.

mod behaviour;
mod connection;
mod counters;
mod error;
mod frame;
mod rate;
mod reply;
mod request;
mod served;
mod serving;
mod upgrade;

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use futures::future::BoxFuture;
use libp2p::swarm::ConnectionId;
use libp2p::{PeerId, Stream};

pub(crate) use behaviour::Behaviour;
use connection::Connections;
pub use counters::ServiceCounters;
pub use error::{AlreadyServed, RequestError};
pub use frame::FrameFault;
pub(crate) use frame::{read_byte, read_length};
pub use rate::{RateLimit, RateScope};
pub use reply::{Reply, Service, Terms};
pub use served::Place;
use served::{Served, ServedProtocols};
use serving::Serving;

/// Serves protocols to the peers of a node, and asks theirs. Clones are handles to the same.
#[derive(Clone, Debug, Default)]
pub struct Exchange {
    shared: Arc<Shared>,
}

/// What the connections share.
#[derive(Debug, Default)]
struct Shared {
    served: RwLock<ServedProtocols>,
    connections: Mutex<Connections>,
    counters: RwLock<Vec<(&'static str, Arc<ServiceCounters>)>>,
}

impl Exchange {
    /// Serves a protocol of requests and answers. Peers that are connected already are told through identify.
    ///
    /// # Errors
    ///
    /// [`AlreadyServed`].
    pub fn serve(&self, terms: Terms, service: Arc<dyn Service>) -> Result<(), AlreadyServed> {
        let (protocol, streams_per_peer_max) = (terms.protocol, terms.streams_per_peer_max);
        let counters = Arc::new(ServiceCounters::new(terms.rate_limit));
        let serving = Arc::new(Serving::new(terms, service, counters.clone()));
        self.accept(protocol, streams_per_peer_max, move |place, stream| {
            let serving = serving.clone();
            Box::pin(async move { serving.run(&place, stream).await })
        })?;
        self.shared.counters.write().unwrap_or_else(PoisonError::into_inner).push((protocol, counters));
        Ok(())
    }

    /// Accepts the streams of a protocol that has a form of its own. `accept` gets each stream with its place among the
    /// `streams_per_peer_max` that a peer may have open; what it returns runs on a task of its own and should hold the place meanwhile.
    ///
    /// # Errors
    ///
    /// [`AlreadyServed`].
    pub fn accept(
        &self,
        protocol: &'static str,
        streams_per_peer_max: u32,
        accept: impl Fn(Place, Stream) -> BoxFuture<'static, ()> + Send + Sync + 'static,
    ) -> Result<(), AlreadyServed> {
        let mut served = self.shared.served.write().unwrap_or_else(PoisonError::into_inner);
        if served.iter().any(|other| other.protocol() == protocol) {
            return Err(AlreadyServed { protocol });
        }
        let more = Arc::new(Served::new(protocol, streams_per_peer_max, Box::new(accept)));
        *served = served.iter().cloned().chain([more]).collect();
        Ok(())
    }

    /// Serves nothing more, and lets go of what was served with: it may well hold the network, and so this.
    pub fn close(&self) {
        *self.shared.served.write().unwrap_or_else(PoisonError::into_inner) = ServedProtocols::default();
    }

    /// The protocols served, in the order of their registration.
    pub fn protocols(&self) -> Vec<&'static str> {
        self.shared.served().iter().map(|served| served.protocol()).collect()
    }

    /// The counters of each protocol of requests and answers.
    pub fn counters(&self) -> Vec<(&'static str, Arc<ServiceCounters>)> {
        self.shared.counters.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Streams refused because their peer had as many open as it may, of all protocols.
    pub fn streams_refused_total(&self) -> u64 {
        self.shared.served().iter().map(|served| served.refused_total()).sum()
    }

    /// The connection that requests to a peer take, by its number in this process; another number means that it went and came again.
    pub fn connection(&self, peer: &PeerId) -> Option<ConnectionId> {
        self.shared.connections().oldest(peer)
    }

    /// Whether a peer is connected, so that it can be asked.
    pub fn is_connected(&self, peer: &PeerId) -> bool {
        self.shared.connections().is_connected(peer)
    }
}

impl Shared {
    fn served(&self) -> ServedProtocols {
        self.served.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn connections(&self) -> std::sync::MutexGuard<'_, Connections> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
