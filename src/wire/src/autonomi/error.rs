//! Why bytes are no chunk message, and which limit one exceeds. Small values: refusing bad input allocates nothing.

use thiserror::Error;

use super::limits::{
    CHUNK_BYTES_MAX, COMMITMENT_BYTES_MAX, FRAME_BYTES_MAX, MESSAGE_BYTES_MAX, PROOF_BYTES_MAX, PROOF_BYTES_MIN,
};

/// Why bytes are no chunk message. Offsets count from the start of the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ChunkDecodeError {
    /// Over the limit, whatever it holds.
    #[error("chunk message of {bytes} bytes exceeds the limit of {MESSAGE_BYTES_MAX} bytes")]
    TooLong {
        /// Bytes of the message.
        bytes: usize,
    },
    /// An outer frame over the limit, whatever it holds.
    #[error("outer frame of {bytes} bytes exceeds the limit of {FRAME_BYTES_MAX} bytes")]
    FrameTooLong {
        /// Bytes of the frame.
        bytes: usize,
    },
    /// An outer frame of something else.
    #[error("outer frame is not of the chunk protocol")]
    Protocol,
    /// A field reaches beyond the end.
    #[error("chunk message field at byte {offset} is cut off, the message is shorter than it declares")]
    Truncated {
        /// Where the field starts.
        offset: u32,
    },
    /// A number does not fit its field.
    #[error("chunk message number at byte {offset} exceeds {bits} bits")]
    VarintTooLong {
        /// Where the number starts.
        offset: u32,
        /// Bits of the field.
        bits: u32,
    },
    /// A variant that did not exist when this was written.
    #[error("chunk message has the unknown {kind} {number} at byte {offset}, the peer may be newer")]
    Variant {
        /// What it would be a variant of: `body`, `put response`, `error` and so on.
        kind: &'static str,
        /// Its number.
        number: u32,
        /// Where the number starts.
        offset: u32,
    },
    /// An option is neither absent nor present.
    #[error("chunk message option at byte {offset} must be 0 or 1, not {byte}")]
    Option {
        /// What stands there.
        byte: u8,
        /// Where it stands.
        offset: u32,
    },
    /// A flag is neither false nor true.
    #[error("chunk message flag at byte {offset} must be 0 or 1, not {byte}")]
    Flag {
        /// What stands there.
        byte: u8,
        /// Where it stands.
        offset: u32,
    },
    /// A text is not text.
    #[error("chunk message text at byte {offset} is not UTF-8")]
    NotUtf8 {
        /// Where the field starts.
        offset: u32,
    },
}

/// Which limit a decoded message exceeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LimitError {
    /// The chunk is too large.
    #[error("chunk of {bytes} bytes exceeds the limit of {CHUNK_BYTES_MAX} bytes, split it")]
    Chunk {
        /// Bytes of the chunk, present or announced.
        bytes: u64,
    },
    /// The payment proof is too short or too long.
    #[error("payment proof of {bytes} bytes is outside {PROOF_BYTES_MIN} to {PROOF_BYTES_MAX} bytes")]
    Proof {
        /// Bytes of the proof.
        bytes: usize,
    },
    /// The commitment is too long.
    #[error("commitment of {bytes} bytes exceeds the limit of {COMMITMENT_BYTES_MAX} bytes")]
    Commitment {
        /// Bytes of the commitment.
        bytes: usize,
    },
}
