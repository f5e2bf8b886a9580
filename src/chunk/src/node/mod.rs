//! A node of chunks: it listens, stores what is sent to it, and gives back what it is asked for.

mod connections;
mod listeners;
mod options;
mod path;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use levada_engine::{Arena, ArenaError, Drained, Sink, TopologyError, Waker};
use tokio::sync::{Notify, watch};
use tokio::task::{JoinHandle, JoinSet};

pub use connections::{CONNECTIONS, CONNECTIONS_ENDED, CONNECTIONS_FAILED};
use connections::{Connections, Inbound};
use listeners::Listeners;
pub use options::NodeOptions;
use path::{Path, Shared};

use crate::stages::{Admission, ChunkFiles, ChunkRecord, OpenError, Replies};
use crate::transport::{Identity, IdentityError, PeerAddress, PeerId, Scheme, TransportError};

/// Eighths of the arena that may wait for the disk; the rest is for requests to fetch.
const WAITING_EIGHTHS: u64 = 6;

/// Why a node does not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// Its folder.
    #[error("{0}")]
    Folder(#[from] OpenError),
    /// Its identity.
    #[error("{0}")]
    Identity(#[from] IdentityError),
    /// Its arena.
    #[error("{0}")]
    Arena(#[from] ArenaError),
    /// Its topology.
    #[error("{0}")]
    Topology(#[from] TopologyError),
    /// It was given no address.
    #[error("there is no address to listen on; name one for TCP or QUIC")]
    NoAddress,
    /// An address that cannot be had.
    #[error("cannot listen on {scheme}://{address}: {source}; choose another port or end the program that has it")]
    Listen {
        /// How.
        scheme: Scheme,
        /// Where.
        address: SocketAddr,
        /// The reason.
        source: TransportError,
    },
}

/// A running node.
#[derive(Debug)]
pub struct ChunkNode {
    id: PeerId,
    addresses: Vec<PeerAddress>,
    arena: Arc<Arena<ChunkRecord>>,
    shared: Shared,
    path: Path,
    stop: watch::Sender<bool>,
    /// Hands answers to connections until the path has ended.
    answers: JoinHandle<()>,
    /// The listeners; each ends when its connections have.
    listening: JoinSet<()>,
}

impl ChunkNode {
    /// Opens the folder, starts the workers and listens. To be called within a tokio runtime.
    ///
    /// # Errors
    /// [`StartError`] says what is wrong and what to change.
    pub async fn start(options: NodeOptions) -> Result<Self, StartError> {
        let files = Arc::new(ChunkFiles::open(&options.folder, options.chunk_bytes_max)?);
        let identity = Identity::of_folder(&options.folder)?;
        let arena = Arena::new(&crate::arena::receiver(options.arena_bytes))?;
        let admission = Arc::new(Admission::new(arena.bytes() as u64 / 8 * WAITING_EIGHTHS));
        let requires_signature = options.requires_signature;
        let shared = Shared { files, admission, replies: Arc::default(), requires_signature };
        let listeners = Listeners::open(&options, &identity).await?;
        let waker = Arc::new(Notify::new());
        let woken = waker.clone();
        let wake = Waker::from_callback(move || woken.notify_one());
        let (path, sink) = Path::start(arena.clone(), &shared, options.verifier, wake)?;
        let (stop, stopping) = watch::channel(false);
        let connections = Arc::new(Connections::default());
        let (source, limits) = (path.source.clone(), options.limits);
        let inbound = Inbound { arena: arena.clone(), source, connections: connections.clone(), limits, stopping };
        let answers = tokio::spawn(hand_out(sink, waker, connections));
        let (addresses, mut listening) = (listeners.addresses.clone(), JoinSet::new());
        listeners.serve(&mut listening, &inbound, identity.id(), options.connections_max);
        Ok(Self { id: identity.id(), addresses, arena, shared, path, stop, answers, listening })
    }

    /// The node's id.
    pub fn id(&self) -> PeerId {
        self.id
    }

    /// Where it listens.
    pub fn addresses(&self) -> &[PeerAddress] {
        &self.addresses
    }

    /// Its answers by what they say.
    pub fn replies(&self) -> &Arc<Replies> {
        &self.shared.replies
    }

    /// Its account of what waits for the disk.
    pub fn admission(&self) -> &Arc<Admission> {
        &self.shared.admission
    }

    /// Its chunks on the disk.
    pub fn files(&self) -> &Arc<ChunkFiles> {
        &self.shared.files
    }

    /// Its arena.
    pub fn arena(&self) -> &Arc<Arena<ChunkRecord>> {
        &self.arena
    }

    /// Stops taking requests, answers those it has, and ends, after `limit` at the latest.
    pub async fn stop(mut self, limit: Duration) -> Drained {
        let _ = self.stop.send(true);
        self.path.begin_drain();
        let path = self.path;
        let drained = tokio::task::spawn_blocking(move || path.drain(limit)).await.unwrap_or(Drained::Failed);
        let ended = async {
            let _ = (&mut self.answers).await;
            while self.listening.join_next().await.is_some() {}
        };
        if tokio::time::timeout(limit, ended).await.is_err() {
            self.answers.abort();
            self.listening.shutdown().await;
        }
        drained
    }
}

/// Gives the path's answers to the connections, until it has ended.
async fn hand_out(mut sink: Sink<ChunkRecord>, waker: Arc<Notify>, connections: Arc<Connections>) {
    loop {
        let notified = waker.notified();
        while let Some(answer) = sink.pop() {
            connections.answer(answer);
        }
        if sink.is_finished() {
            return;
        }
        notified.await;
    }
}
