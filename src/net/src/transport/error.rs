//! What a connection of our own transport can fail from.

use std::io;

use levada_wire::mux::MuxFault;
use levada_wire::noise::PayloadError;
use multistream_select::NegotiationError;

/// Why a connection was not set up, or why it ended. Each is the end of that one connection and of nothing else.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransportError {
    /// The socket failed.
    #[error("the socket failed: {0}")]
    Io(#[from] io::Error),
    /// The peer does not speak the protocol that was asked for.
    #[error("no protocol in common: {0}")]
    Negotiation(#[from] NegotiationError),
    /// The Noise state machine refused a message, or the local keys.
    #[error("the noise handshake failed: {0}")]
    Noise(#[from] snow::Error),
    /// A handshake message is longer than any honest one.
    #[error("a handshake message has {bytes} bytes but at most {bytes_max} are taken")]
    HandshakeBytes {
        /// The length that the peer announced.
        bytes: usize,
        /// The limit.
        bytes_max: usize,
    },
    /// The payload that names the peer does not parse.
    #[error("the handshake payload does not parse")]
    Payload,
    /// The identity key of the peer is of no known kind.
    #[error("the identity key of the peer does not parse: {0}")]
    IdentityKey(#[from] libp2p::identity::DecodingError),
    /// The identity key of this node cannot sign.
    #[error("the identity key of this node cannot sign: {0}")]
    Signing(#[from] libp2p::identity::SigningError),
    /// The signature over the peer's static key is not by its identity key.
    #[error("the peer's identity did not sign its static key")]
    IdentitySignature,
    /// The peer named its muxers inside of the handshake and none of them is ours.
    #[error("the peer offers no muxer that this node has")]
    NoMuxer,
    /// A record is too short to carry its tag.
    #[error("a record of {bytes} bytes cannot carry a tag")]
    RecordBytes {
        /// The length that the record announced.
        bytes: usize,
    },
    /// A record did not open: it was tampered with, replayed, left out or reordered.
    #[error("a record did not open")]
    RecordRefused,
    /// The cipher failed to seal, which no input of ours should cause.
    #[error("a record could not be sealed")]
    Seal,
    /// One direction has used up its 2^64 - 1 nonces.
    #[error("the connection has no nonce left")]
    NoncesSpent,
    /// The peer broke the rules of its muxer.
    #[error("the peer broke the rules of {muxer}: {rule}")]
    Violation {
        /// `yamux` or `mplex`.
        muxer: &'static str,
        /// The rule, as a clause.
        rule: &'static str,
    },
    /// The peer asks for answers and does not read them.
    #[error("the peer reads too slowly for the answers that it asks for")]
    AnswersUnread,
    /// The peer said that it closes the connection because of an error, by yamux's code.
    #[error("the peer went away with code {code}")]
    GoneAway {
        /// 1 for a protocol error, 2 for an internal one.
        code: u32,
    },
    /// The connection has ended.
    #[error("the connection is closed")]
    Closed,
}

impl TransportError {
    /// What the streams of the connection are told.
    pub(crate) fn kind(&self) -> io::ErrorKind {
        match self {
            Self::Io(error) => error.kind(),
            Self::Closed | Self::GoneAway { .. } => io::ErrorKind::ConnectionAborted,
            _ => io::ErrorKind::InvalidData,
        }
    }
}

impl From<PayloadError> for TransportError {
    fn from(PayloadError: PayloadError) -> Self {
        Self::Payload
    }
}

impl From<MuxFault> for TransportError {
    fn from(fault: MuxFault) -> Self {
        Self::Violation { muxer: fault.muxer, rule: fault.rule }
    }
}

impl From<TransportError> for io::Error {
    fn from(error: TransportError) -> Self {
        match error {
            TransportError::Io(error) => error,
            other => Self::new(other.kind(), other),
        }
    }
}
