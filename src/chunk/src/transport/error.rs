//! What ends a connection, or keeps one from beginning.

use std::io;

use levada_wire::autonomi::FRAME_BYTES_MAX;

/// Why no connection came about, or why it ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransportError {
    /// The system refuses.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// QUIC could not begin.
    #[error("{0}")]
    Connect(#[from] quinn::ConnectError),
    /// QUIC has ended.
    #[error("{0}")]
    Quic(#[from] quinn::ConnectionError),
    /// The peer ended a QUIC stream before the message's end.
    #[error("the stream was cut off")]
    StreamCut,
    /// The other side speaks something else.
    #[error("the other side is no node of chunks of this version")]
    NotChunk,
    /// The peer announces or sends more than it may.
    #[error("a message of {bytes} bytes is over the limit of {bytes_max} bytes")]
    TooLong {
        /// Bytes announced or received.
        bytes: usize,
        /// The limit.
        bytes_max: usize,
    },
    /// The peer does not take what is sent to it.
    #[error("the peer takes no bytes")]
    Stalled,
    /// The peer does not go on with a message that it began.
    #[error("a message that began did not end in time")]
    TooSlow,
    /// There was no answer in time to the attempt to connect.
    #[error("no answer in time")]
    NoAnswer,
}

impl TransportError {
    pub(super) fn too_long(bytes: usize, bytes_max: usize) -> Self {
        Self::TooLong { bytes, bytes_max: bytes_max.min(FRAME_BYTES_MAX) }
    }
}
