//! The peers that a client knows, and which of them are closest to a chunk.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use levada_engine::{Arena, Held};
use levada_wire::autonomi::{Address, ChunkBody, ChunkMessage, decode};
use tokio::task::JoinSet;

use super::fault::{Fault, FaultKind, Faults};
use super::peer::{Dialer, Peer};
use crate::outgoing::Outgoing;
use crate::stages::ChunkRecord;
use crate::stages::fanout::majority_of;
use crate::transport::{Limits, PeerAddress};

/// Peers of a chunk's close group, on the network. Source: ant-protocol 5.0.1, `CLOSE_GROUP_SIZE`.
pub const CLOSE_GROUP: usize = 7;

/// Too few peers can be reached.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reached} of {named} peers can be reached, {wanted} are needed; start more nodes or name others")]
pub struct TooFewPeers {
    /// Peers that answer, each node counted once.
    pub reached: usize,
    /// Peers named.
    pub named: usize,
    /// How many must be.
    pub wanted: usize,
}

/// Every peer, each node once.
#[derive(Debug)]
pub struct Peers {
    peers: Vec<Peer>,
    dialer: Dialer,
    /// Peers of a close group.
    group: usize,
    next_request: AtomicU64,
    /// What went wrong with whom.
    pub faults: Faults,
}

impl Peers {
    /// Connects to all of `addresses` at once. A node that is named twice counts once, whose address stands first.
    ///
    /// # Errors
    /// [`TooFewPeers`] if fewer than `reached_min` nodes answer, or without that, no majority of a close group of `group`.
    pub async fn connect(
        addresses: &[PeerAddress],
        group: usize,
        reached_min: Option<usize>,
        arena: Arc<Arena<ChunkRecord>>,
        limits: Limits,
    ) -> Result<Self, TooFewPeers> {
        let dialer = Arc::new(Dialer { arena, limits, endpoint: OnceLock::new() });
        let faults = Faults::default();
        let mut attempts = JoinSet::new();
        for (position, address) in addresses.iter().enumerate() {
            let (peer, dialer) = (Peer::new(address.clone()), dialer.clone());
            attempts.spawn(async move { (position, peer.connection(&dialer).await.err(), peer) });
        }
        let mut attempted = attempts.join_all().await;
        attempted.sort_by_key(|(position, ..)| *position);
        let mut peers: Vec<Peer> = Vec::with_capacity(attempted.len());
        for (_, fault, peer) in attempted {
            if let Some(fault) = fault {
                faults.count(&peer.address, &fault);
                peer.did_ill();
            }
            let same = peers.iter().find(|known| known.id().is_some() && known.id() == peer.id());
            match same {
                Some(known) => {
                    tracing::warn!(peer = %peer.address, same = %known.address, "one node under two addresses")
                }
                None => peers.push(peer),
            }
        }
        let dialer = Arc::into_inner(dialer).expect("every attempt has ended");
        let made = Self { peers, dialer, group, next_request: AtomicU64::new(1), faults };
        let (reached, named, wanted) = (made.reached(), made.peers.len(), reached_min.unwrap_or(made.wanted()));
        if reached < wanted { Err(TooFewPeers { reached, named, wanted }) } else { Ok(made) }
    }

    /// Peers that were ever reached.
    pub fn reached(&self) -> usize {
        self.peers.iter().filter(|peer| peer.id().is_some()).count()
    }

    /// Peers of a close group that must have a chunk.
    pub fn wanted(&self) -> usize {
        majority_of(self.group.min(self.peers.len()))
    }

    /// One of them, by its number.
    pub fn peer(&self, number: usize) -> &Peer {
        &self.peers[number]
    }

    /// The numbers of all peers, the closest to an address first; those that failed a moment ago come last.
    pub fn candidates(&self, address: &Address) -> Vec<usize> {
        let mut numbers: Vec<usize> = (0..self.peers.len()).collect();
        numbers.sort_by_cached_key(|number| {
            let peer = &self.peers[*number];
            let distance = peer.id().map(|id| id.distance(address));
            (peer.is_suspect(), distance.is_none(), distance)
        });
        numbers
    }

    /// A digest of who the peers are, whatever their order.
    pub fn digest(&self) -> String {
        let mut ids: Vec<_> = self.peers.iter().filter_map(Peer::id).map(|id| id.0).collect();
        ids.sort_unstable();
        blake3::hash(ids.as_flattened()).to_hex().to_string()
    }

    /// The number of a new request.
    pub fn request_id(&self) -> u64 {
        self.next_request.fetch_add(1, Relaxed)
    }

    /// Sends a request to a peer and judges the answer: `judge` looks at the payload and what it says. Faults are counted.
    pub(super) async fn ask<T>(
        &self,
        number: usize,
        request_id: u64,
        message: &Arc<Outgoing>,
        judge: impl FnOnce(&[u8], &ChunkBody<'_>) -> Result<T, Fault>,
    ) -> Result<(Held<ChunkRecord>, T), Fault> {
        let peer = self.peer(number);
        let outcome = peer.ask(&self.dialer, request_id, message).await.and_then(|answer| {
            let malformed = |error| Fault::new(FaultKind::Malformed, &format!("{error}"));
            let ChunkMessage { body, .. } = decode(answer.payload()).map_err(malformed)?;
            let judged = judge(answer.payload(), &body)?;
            Ok((answer, judged))
        });
        match &outcome {
            Ok(_) => peer.did_well(),
            Err(fault) => self.failed(number, fault),
        }
        outcome
    }

    /// Counts a fault of a peer, and asks it last for a while if it is to blame.
    pub(super) fn failed(&self, number: usize, fault: &Fault) {
        let peer = self.peer(number);
        self.faults.count(&peer.address, fault);
        if fault.kind.is_of_peer() {
            peer.did_ill();
        }
    }
}
