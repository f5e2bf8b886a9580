//! What serves a protocol, on which terms, and what it answers.

use std::fmt;
use std::io;

use bytes::Bytes;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use libp2p::PeerId;

use super::rate::RateLimit;

/// How a protocol is served.
#[derive(Debug, Clone, Copy)]
pub struct Terms {
    /// The protocol id, verbatim on the wire.
    pub protocol: &'static str,
    /// Bytes of the largest request. A larger one is not answered, and its stream reset.
    pub request_bytes_max: usize,
    /// Streams that a peer may have open, idle ones included. One more is reset.
    pub streams_per_peer_max: u32,
    /// Requests that are answered at once, of all peers. What is over waits; it has been read completely by then, so that a slow client
    /// takes no place.
    pub requests_max: usize,
    /// How many requests are answered in a period, if not all.
    pub rate_limit: Option<RateLimit>,
}

/// Answers the requests of one protocol.
pub trait Service: Send + Sync + 'static {
    /// Answers a request, which is the message without its length. The future is dropped after 30 s, and the stream reset.
    fn answer(&self, peer: PeerId, request: Bytes) -> BoxFuture<'static, Reply>;

    /// The answer to a request that the rate limit refuses, of which nothing has been read.
    fn too_many(&self) -> Reply;
}

/// An answer.
pub enum Reply {
    /// None: the stream is reset, as for a request that cannot be read.
    None,
    /// The message in pieces, which are written one behind the other from where they lie.
    Parts(Vec<Bytes>),
    /// As `Parts`, but made piece by piece as the client reads.
    Stream {
        /// Bytes of all pieces together.
        bytes: u64,
        /// The pieces. An error, or another number of bytes, resets the stream.
        parts: BoxStream<'static, io::Result<Bytes>>,
    },
}

impl Reply {
    /// An answer in one piece.
    pub fn body(message: impl Into<Bytes>) -> Self {
        Self::Parts(vec![message.into()])
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("None"),
            Self::Parts(parts) => f.debug_tuple("Parts").field(parts).finish(),
            Self::Stream { bytes, .. } => f.debug_struct("Stream").field("bytes", bytes).finish_non_exhaustive(),
        }
    }
}
