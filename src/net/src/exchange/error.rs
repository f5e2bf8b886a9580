//! What can go wrong between a request and its answer.

use std::io;

use libp2p::PeerId;

use super::frame::FrameFault;

/// A protocol is served once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the protocol {protocol} is served already")]
pub struct AlreadyServed {
    /// Its id.
    pub protocol: &'static str,
}

/// Why a request has no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// There is no connection to the peer; this does not open one.
    #[error("there is no connection to the peer {peer}")]
    NotConnected {
        /// Whom.
        peer: PeerId,
    },
    /// The peer does not have the protocol.
    #[error("the peer does not serve {protocol}")]
    Unsupported {
        /// Which.
        protocol: &'static str,
    },
    /// A step took too long.
    #[error("the peer took longer than {seconds} s to {step}")]
    TimedOut {
        /// What it should have done.
        step: &'static str,
        /// Within which time.
        seconds: u64,
    },
    /// The peer ended the stream, or the connection, before its answer was complete.
    #[error("the peer ended the stream before its answer was complete")]
    Ended,
    /// The answer is no frame within the limit.
    #[error("the peer's answer is no frame within the limit: {0}")]
    Frame(FrameFault),
    /// The stream broke.
    #[error("the stream to the peer broke: {0}")]
    Stream(io::Error),
}

impl From<FrameFault> for RequestError {
    fn from(fault: FrameFault) -> Self {
        match fault {
            FrameFault::Stream(error) => error.into(),
            fault => Self::Frame(fault),
        }
    }
}

impl From<io::Error> for RequestError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::WriteZero => Self::Ended,
            _ => Self::Stream(error),
        }
    }
}
