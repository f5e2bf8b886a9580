//! What yamux and mplex have in common: frames of streams, as a codec reads and writes them.

pub mod mplex;
pub mod yamux;

use thiserror::Error;

/// The peer broke a rule of its multiplexing protocol; the connection cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the peer broke the rules of {muxer}: {rule}")]
pub struct MuxFault {
    /// `yamux` or `mplex`.
    pub muxer: &'static str,
    /// The rule, as a clause.
    pub rule: &'static str,
}

/// Bytes of the longest header that a codec writes: mplex opens a stream and sends its first bytes with two headers.
pub const HEADER_BYTES_MAX: usize = 32;

/// A stream of a connection. Each side numbers the streams that it opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StreamId {
    /// Its number.
    pub number: u64,
    /// Whether this side opened it.
    pub is_ours: bool,
}

/// What follows a header, or what it says by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Body {
    /// This many bytes for the reader of the stream.
    Data(u32),
    /// This many bytes that mean nothing to us.
    Ignored(u32),
    /// The peer may be sent this many bytes more.
    Credit(u32),
}

/// The header of a frame that came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frame {
    /// Of a stream. The parts take effect in the order of the fields.
    Stream {
        /// Which.
        id: StreamId,
        /// The peer opens it.
        opens: bool,
        /// What is behind the header.
        body: Body,
        /// The peer sends nothing more on it.
        finishes: bool,
        /// The stream is dead.
        resets: bool,
    },
    /// To be answered with the same value.
    Ping(u32),
    /// The answer to a ping of ours.
    Pong,
    /// The peer opens no more streams; 0 is the normal end.
    GoAway(u32),
}

/// What is to be sent about a stream besides its frame itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Greeting {
    /// The peer does not know the stream yet.
    pub opens: bool,
    /// The peer does not know that we took its stream.
    pub accepts: bool,
}

/// The header of a frame to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Header {
    /// This many bytes of the stream follow.
    Data(StreamId, Greeting, u32),
    /// We take this many bytes more; zero only to greet.
    Credit(StreamId, Greeting, u32),
    /// We send nothing more on the stream.
    Finish(StreamId, Greeting),
    /// The stream is dead.
    Reset(StreamId),
    /// The answer to a ping.
    Pong(u32),
    /// The connection ends: 0 for normal, 1 for a violation by the peer.
    GoAway(u32),
}

/// One multiplexing protocol: headers, numbers, and whether there is flow control.
pub trait Codec: Send + Unpin + 'static {
    /// The name in errors.
    const NAME: &'static str;
    /// What each side may send on a new stream before it is given more; `None` without flow control.
    const WINDOW_BYTES: Option<u32>;
    /// No header that is read has more bytes.
    const READ_BYTES_MAX: usize;

    /// The number of the next stream that this side opens, as long as there are numbers.
    fn next_id(&mut self) -> Option<StreamId>;

    /// Reads the header at the front of `bytes`: what it says, and how many bytes long it is. `None` if more bytes are needed.
    ///
    /// # Errors
    /// [`MuxFault`] if no header of the protocol begins like this.
    fn decode(&self, bytes: &[u8]) -> Result<Option<(Frame, usize)>, MuxFault>;

    /// Writes a header and gives its length; 0 if the protocol has no such frame.
    fn encode(&self, header: Header, out: &mut [u8; HEADER_BYTES_MAX]) -> usize;
}
