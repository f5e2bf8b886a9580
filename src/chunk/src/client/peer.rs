//! A peer: its address, its id once it was reached, and the connection to it, which is made again when it was lost.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use levada_engine::{Arena, Held};
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::connection::Connection;
use super::fault::{Fault, FaultKind};
use crate::outgoing::Outgoing;
use crate::stages::ChunkRecord;
use crate::transport::{Limits, PeerAddress, PeerId, Receiver, Scheme, Sender, TransportError, quic, tcp};

/// How long a peer that could not be reached is not tried again, at first and at most; it doubles each time.
const AGAIN_AFTER: Duration = Duration::from_millis(500);
const AGAIN_AFTER_MAX: Duration = Duration::from_secs(30);

/// A node as a client sees it.
#[derive(Debug)]
pub struct Peer {
    /// Where it is.
    pub address: PeerAddress,
    id: OnceLock<PeerId>,
    line: Mutex<Line>,
    health: std::sync::Mutex<Health>,
}

/// The connection, if there is one.
#[derive(Debug, Default)]
struct Line {
    connection: Option<Arc<Connection>>,
}

/// How it has behaved.
#[derive(Debug, Default)]
struct Health {
    failures: u32,
    /// Until then others are asked first.
    suspect_until: Option<Instant>,
}

/// What connections of a client have in common.
#[derive(Debug)]
pub(super) struct Dialer {
    pub arena: Arc<Arena<ChunkRecord>>,
    pub limits: Limits,
    /// Made at the first QUIC address.
    pub endpoint: OnceLock<quinn::Endpoint>,
}

impl Peer {
    pub(super) fn new(address: PeerAddress) -> Self {
        Self { address, id: OnceLock::new(), line: Mutex::default(), health: std::sync::Mutex::default() }
    }

    /// Its id, once it was reached.
    pub fn id(&self) -> Option<PeerId> {
        self.id.get().copied()
    }

    /// It failed a moment ago, and is asked after the others.
    pub fn is_suspect(&self) -> bool {
        self.health().suspect_until.is_some_and(|until| until > Instant::now())
    }

    /// It did what it was asked.
    pub(super) fn did_well(&self) {
        *self.health() = Health::default();
    }

    /// It failed: it is asked last for a while, and longer each time.
    pub(super) fn did_ill(&self) {
        let mut health = self.health();
        let pause = AGAIN_AFTER.saturating_mul(1 << health.failures.min(8)).min(AGAIN_AFTER_MAX);
        *health = Health { failures: health.failures.saturating_add(1), suspect_until: Some(Instant::now() + pause) };
    }

    /// Sends a request and gives the answer.
    pub(super) async fn ask(
        &self,
        dialer: &Dialer,
        request_id: u64,
        message: &Arc<Outgoing>,
    ) -> Result<Held<ChunkRecord>, Fault> {
        self.connection(dialer).await?.ask(request_id, message).await
    }

    /// The open connection, or a new one.
    pub(super) async fn connection(&self, dialer: &Dialer) -> Result<Arc<Connection>, Fault> {
        let mut line = self.line.lock().await;
        if let Some(open) = line.connection.as_ref().filter(|connection| connection.is_open()) {
            return Ok(open.clone());
        }
        line.connection = None;
        let unreachable = |error: TransportError| Fault::new(FaultKind::Unreachable, &error.to_string());
        let (id, receiver, sender) = dialer.dial(&self.address).await.map_err(unreachable)?;
        let known = *self.id.get_or_init(|| id);
        if known != id {
            return Err(Fault::new(FaultKind::Unreachable, "another node answers at this address now"));
        }
        let connection = Arc::new(Connection::new(receiver, sender, dialer.arena.clone(), dialer.limits));
        line.connection = Some(connection.clone());
        Ok(connection)
    }

    fn health(&self) -> std::sync::MutexGuard<'_, Health> {
        self.health.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Dialer {
    async fn dial(&self, address: &PeerAddress) -> Result<(PeerId, Receiver, Sender), TransportError> {
        match address.scheme {
            Scheme::Tcp => {
                let (id, reader, writer) = tcp::connect(&address.host_and_port, &self.limits).await?;
                Ok((id, Receiver::Tcp(reader), Sender::Tcp(writer)))
            }
            Scheme::Quic => {
                let endpoint = match self.endpoint.get() {
                    Some(endpoint) => endpoint.clone(),
                    None => {
                        let made = quic::client()?;
                        self.endpoint.get_or_init(|| made).clone()
                    }
                };
                let (id, connection) = quic::connect(&endpoint, &address.host_and_port, &self.limits).await?;
                Ok((id, Receiver::Quic(connection.clone()), Sender::Quic(connection)))
            }
        }
    }
}
