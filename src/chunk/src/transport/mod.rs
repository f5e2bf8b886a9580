//! Messages between a sender of chunks and a node, over TCP and QUIC. Both carry the same messages, one after another in each
//! direction, and the content of each goes from its slot to the socket and from the socket to its slot.
//!
//! | | TCP | QUIC |
//! |---|---|---|
//! | a message | its length as a big-endian `u32`, then the message | one unidirectional stream, which it ends |
//! | begins with | `hello`: both sides' version, the node's id | TLS 1.3 with the protocol name `levada-chunk/1` |
//! | copies, sender | 0: one vectored write | 0: the stream takes references |
//! | copies, receiver | 0: the kernel writes into the slot | 1: from QUIC's buffers into the slot |

mod address;
mod error;
pub(crate) mod hello;
mod identity;
pub(crate) mod quic;
pub(crate) mod tcp;

use std::sync::Arc;
use std::time::Duration;

use levada_engine::{Arena, ClaimError, Counter, Held};
use levada_wire::autonomi::FRAME_BYTES_MAX;

pub use address::{AddressError, PeerAddress, Scheme};
pub use error::TransportError;
pub(crate) use identity::write_secret;
pub use identity::{Identity, IdentityError, PeerId};

use crate::outgoing::Outgoing;
use crate::stages::{Assembly, ChunkRecord};

/// Bytes of messages received.
pub static RECEIVED_BYTES: Counter = Counter::new();

/// Bytes of messages sent.
pub static SENT_BYTES: Counter = Counter::new();

/// Times that a message waited for a slot: its stream alone is not read meanwhile.
pub static CLAIMS_WAITED: Counter = Counter::new();

/// Pause between two attempts to claim a slot.
const CLAIM_AGAIN_AFTER: Duration = Duration::from_millis(2);

/// What a connection allows its peer.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of the longest message taken.
    pub message_bytes_max: usize,
    /// How long a peer may take none of the bytes sent to it.
    pub stall: Duration,
    /// How long a message may take from its first byte to its last.
    pub message_within: Duration,
    /// How long it may take to connect.
    pub connect_within: Duration,
    /// How long the other peers may take at least once as many are connected as are needed, before the work begins without them.
    pub others_within: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            message_bytes_max: FRAME_BYTES_MAX,
            stall: Duration::from_secs(5),
            message_within: Duration::from_secs(30),
            connect_within: Duration::from_secs(5),
            others_within: Duration::from_millis(500),
        }
    }
}

/// The sending half of a connection.
#[derive(Debug)]
pub(crate) enum Sender {
    Tcp(tcp::Writer),
    Quic(quinn::Connection),
}

impl Sender {
    /// Sends a message; no copy of its content is made here.
    pub async fn send(&mut self, message: &Outgoing, limits: &Limits) -> Result<(), TransportError> {
        match self {
            Self::Tcp(writer) => tcp::send(writer, message, limits).await?,
            Self::Quic(connection) => quic::send(connection, message, limits).await?,
        }
        SENT_BYTES.add(message.message_bytes() as u64);
        Ok(())
    }

    /// Tells the peer that nothing more comes, once it has what was sent.
    pub async fn close(self, limits: &Limits) {
        if let Self::Tcp(writer) = self {
            tcp::close(writer, limits).await;
        }
    }
}

/// The receiving half of a connection.
#[derive(Debug)]
pub(crate) enum Receiver {
    Tcp(tcp::Reader),
    Quic(quinn::Connection),
}

impl Receiver {
    /// The next message in a slot of `arena`; none once the peer has ended the connection between two messages.
    pub async fn receive(
        &mut self,
        arena: &Arc<Arena<ChunkRecord>>,
        connection: u64,
        limits: &Limits,
    ) -> Result<Option<Held<ChunkRecord>>, TransportError> {
        let assembly = match self {
            Self::Tcp(reader) => tcp::receive(reader, arena, limits).await?,
            Self::Quic(quic) => quic::receive(quic, arena, limits).await?,
        };
        let Some(assembly) = assembly else { return Ok(None) };
        RECEIVED_BYTES.add(assembly.filled() as u64);
        Ok(Some(assembly.finish(connection)))
    }
}

/// A slot for `bytes`, as soon as there is one.
async fn claim(arena: &Arena<ChunkRecord>, bytes: usize) -> Result<Assembly, TransportError> {
    let mut has_waited = false;
    loop {
        match Assembly::new(arena, bytes) {
            Ok(assembly) => return Ok(assembly),
            Err(error) => wait_for_a_slot(arena, &error, bytes, &mut has_waited).await?,
        }
    }
}

/// A larger slot for what `assembly` holds, as soon as there is one.
async fn grow(assembly: &mut Assembly, arena: &Arena<ChunkRecord>) -> Result<(), TransportError> {
    let mut has_waited = false;
    while let Err(error) = assembly.grow(arena) {
        wait_for_a_slot(arena, &error, assembly.filled() + 1, &mut has_waited).await?;
    }
    Ok(())
}

async fn wait_for_a_slot(
    arena: &Arena<ChunkRecord>,
    error: &ClaimError,
    bytes: usize,
    has_waited: &mut bool,
) -> Result<(), TransportError> {
    if matches!(error, ClaimError::TooLarge { .. }) {
        return Err(TransportError::too_long(bytes, arena.payload_bytes_max()));
    }
    if !std::mem::replace(has_waited, true) {
        CLAIMS_WAITED.add(1);
    }
    tokio::time::sleep(CLAIM_AGAIN_AFTER).await;
    Ok(())
}
