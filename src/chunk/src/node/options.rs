//! What a node of chunks is told before it starts.

use std::net::SocketAddr;
use std::path::PathBuf;

use crate::stages::PaymentVerifier;
use crate::transport::Limits;

/// A node's settings.
#[derive(Debug)]
pub struct NodeOptions {
    /// The folder of its chunks and its identity.
    pub folder: PathBuf,
    /// Where it takes TCP connections.
    pub tcp: Option<SocketAddr>,
    /// Where it takes QUIC connections.
    pub quic: Option<SocketAddr>,
    /// Bytes of chunks that it stores at most.
    pub chunk_bytes_max: u64,
    /// Bytes of its arena.
    pub arena_bytes: usize,
    /// Connections at once, of both kinds together; more wait.
    pub connections_max: usize,
    /// Whether messages without a signed outer frame are refused.
    pub requires_signature: bool,
    /// Who decides on payment proofs.
    pub verifier: Box<dyn PaymentVerifier>,
    /// What a connection may do.
    pub limits: Limits,
}
