//! The peers that a client knows, and which of them are closest to a chunk.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use levada_engine::{Arena, Held};
use levada_wire::autonomi::{Address, ChunkBody, ChunkMessage, decode};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use super::fault::{Fault, FaultKind, Faults};
use super::peer::{Dialer, Peer};
use crate::outgoing::Outgoing;
use crate::stages::ChunkRecord;
use crate::stages::fanout::majority_of;
use crate::transport::{Limits, PeerAddress, PeerId};

/// Peers of a chunk's close group, on the network. Source: ant-protocol 5.0.1, `CLOSE_GROUP_SIZE`.
pub const CLOSE_GROUP: usize = 7;

/// Once enough peers have answered, the others are waited for this many times as long as those took.
const OTHERS_TIMES: u32 = 3;

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

/// Every peer.
#[derive(Debug)]
pub struct Peers {
    peers: Vec<Arc<Peer>>,
    dialer: Arc<Dialer>,
    /// Peers of a close group.
    group: usize,
    next_request: AtomicU64,
    /// First attempts to connect that have not ended.
    dialing: Arc<AtomicUsize>,
    /// They go on behind the start, and end with this.
    attempts: JoinSet<Attempt>,
    /// What went wrong with whom.
    pub faults: Faults,
}

/// The number of a peer, and why it could not be reached.
type Attempt = (usize, Option<Fault>);

impl Peers {
    /// Connects to all of `addresses` at once. Once enough nodes answer, the others are not waited for much longer: they are asked last
    /// until they answer. A node that is named twice counts once, whose address stands first.
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
        let mut made = Self {
            peers: addresses.iter().map(|address| Arc::new(Peer::new(address.clone()))).collect(),
            dialer: Arc::new(Dialer { arena, limits, endpoint: OnceLock::new() }),
            group,
            next_request: AtomicU64::new(1),
            dialing: Arc::new(AtomicUsize::new(addresses.len())),
            attempts: JoinSet::new(),
            faults: Faults::default(),
        };
        made.dial_all();
        made.wait_for_enough(reached_min).await;
        for (number, peer) in made.peers.iter().enumerate() {
            if let Some(first) = (0..number).find(|other| made.are_one(*other, number)) {
                let same = &made.peers[first].address;
                tracing::warn!(peer = %peer.address, %same, "one node under two addresses");
            }
        }
        let (reached, named) = (made.reached(), made.distinct().count());
        let wanted = reached_min.unwrap_or(made.wanted());
        if reached < wanted { Err(TooFewPeers { reached, named, wanted }) } else { Ok(made) }
    }

    fn dial_all(&mut self) {
        for (number, peer) in self.peers.iter().cloned().enumerate() {
            let (dialer, dialing) = (self.dialer.clone(), self.dialing.clone());
            self.attempts.spawn(async move {
                let fault = peer.connection(&dialer).await.err();
                if fault.is_some() {
                    peer.did_ill();
                } else {
                    peer.did_well();
                }
                dialing.fetch_sub(1, Relaxed);
                (number, fault)
            });
        }
    }

    /// Waits for as many as are needed, then a little for the others; who is late is a fault of its own.
    async fn wait_for_enough(&mut self, reached_min: Option<usize>) {
        let started = Instant::now();
        let (mut is_open, mut until) = (vec![true; self.peers.len()], None);
        while !self.attempts.is_empty() {
            if until.is_none() && self.reached() >= reached_min.unwrap_or(self.wanted()) {
                until = Some(Instant::now() + self.dialer.limits.others_within.max(started.elapsed() * OTHERS_TIMES));
            }
            let ended = match until {
                None => self.attempts.join_next().await,
                Some(until) => match timeout_at(until, self.attempts.join_next()).await {
                    Ok(ended) => ended,
                    Err(_) => break,
                },
            };
            if let Some(Ok((number, fault))) = ended {
                is_open[number] = false;
                fault.into_iter().for_each(|fault| self.faults.count(&self.peers[number].address, &fault));
            }
        }
        for number in (0..self.peers.len()).filter(|number| is_open[*number] && self.peers[*number].id().is_none()) {
            self.failed(number, &Fault::new(FaultKind::Unreachable, "no answer yet, the others begin without it"));
        }
    }

    /// First attempts to connect that are still under way.
    pub fn dialing(&self) -> usize {
        self.dialing.load(Relaxed)
    }

    /// Nodes that were ever reached.
    pub fn reached(&self) -> usize {
        self.distinct().filter(|number| self.peers[*number].id().is_some()).count()
    }

    /// Peers of a close group that must have a chunk.
    pub fn wanted(&self) -> usize {
        majority_of(self.group.min(self.distinct().count()))
    }

    /// One of them, by its number.
    pub fn peer(&self, number: usize) -> &Peer {
        &self.peers[number]
    }

    /// Two numbers of one node.
    pub(super) fn are_one(&self, one: usize, other: usize) -> bool {
        let id = self.peers[one].id();
        one != other && id.is_some() && id == self.peers[other].id()
    }

    /// The numbers of all nodes; of one that has several, the first.
    fn distinct(&self) -> impl Iterator<Item = usize> {
        (0..self.peers.len()).filter(|number| !(0..*number).any(|other| self.are_one(other, *number)))
    }

    /// The numbers of all nodes, the closest to an address first; those that failed a moment ago come last.
    pub fn candidates(&self, address: &Address) -> Vec<usize> {
        let mut numbers: Vec<usize> = self.distinct().collect();
        numbers.sort_by_cached_key(|number| {
            let peer = &self.peers[*number];
            let distance = peer.id().map(|id| id.distance(address));
            (peer.is_suspect(), distance.is_none(), distance)
        });
        numbers
    }

    /// All addresses, each with the id of the node there if it was reached.
    pub fn names(&self) -> Vec<(String, Option<PeerId>)> {
        self.peers.iter().map(|peer| (peer.address.to_string(), peer.id())).collect()
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
