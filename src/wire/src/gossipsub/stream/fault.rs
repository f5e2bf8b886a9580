//! What a relay stream can be wrong in.

use thiserror::Error;

/// What is wrong with the stream of a relay peer. It cannot be read on after that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum StreamFault {
    /// A frame over the limit.
    #[error("a frame of {bytes} bytes; at most {bytes_max} are taken")]
    FrameTooLong {
        /// Bytes that its prefix announces.
        bytes: u64,
        /// The reader's limit.
        bytes_max: u32,
    },
    /// A subscription or control message over the limit.
    #[error("a control entry of {bytes} bytes; at most {bytes_max} are taken")]
    ControlTooLong {
        /// Bytes that its length announces.
        bytes: u64,
        /// The reader's limit.
        bytes_max: u32,
    },
    /// A topic over the limit.
    #[error("a topic of {bytes} bytes; at most {bytes_max} are taken")]
    TopicTooLong {
        /// Bytes that its length announces.
        bytes: u64,
        /// The reader's limit.
        bytes_max: u32,
    },
    /// A length that its frame or message does not hold.
    #[error("a field reaches beyond what it is in")]
    Overrun,
    /// A number of more than ten bytes or 64 bits.
    #[error("a number of more than 64 bits")]
    Varint,
    /// Field number 0, a group, or a wire type that protobuf does not define.
    #[error("a field of an undefined kind")]
    WireType,
    /// A message that repeats its data or its topic.
    #[error("a message with two bodies or two topics")]
    Twice,
}
