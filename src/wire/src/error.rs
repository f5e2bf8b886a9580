//! Every error of this crate. All are small values: refusing bad input allocates nothing.

use thiserror::Error;

/// Why bytes are no varint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum VarintError {
    /// The bytes end inside the varint.
    #[error("varint is cut off, more bytes must follow")]
    Truncated,
    /// The varint has more than ten bytes or more than 64 bits.
    #[error("varint exceeds 64 bits, the sender must encode at most ten bytes")]
    TooLong,
}

/// Why a stream holds no length-prefixed frame that this node reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FrameError {
    /// The length prefix is no varint.
    #[error("frame length prefix is malformed, close the stream")]
    Prefix(#[source] VarintError),
    /// The length prefix is padded.
    #[error("frame length prefix is not minimal, the sender must encode the shortest form")]
    NotMinimal,
    /// The prefix announces more bytes than the limit.
    #[error("frame of {frame_bytes} bytes exceeds the limit of {frame_bytes_max} bytes, the sender must split it")]
    TooLong {
        /// Body bytes that the prefix announces.
        frame_bytes: u64,
        /// The reader's limit.
        frame_bytes_max: u32,
    },
}

/// Why bytes are no protobuf message of the subset this crate reads. Offsets count from the start of the walked bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum WireError {
    /// A key or a value reaches beyond the end.
    #[error("protobuf field at byte {offset} is cut off, the message is shorter than it declares")]
    Truncated {
        /// Where the field starts.
        offset: u32,
    },
    /// A varint does not fit 64 bits.
    #[error("protobuf varint in the field at byte {offset} exceeds 64 bits, the sender must encode at most ten bytes")]
    VarintTooLong {
        /// Where the field starts.
        offset: u32,
    },
    /// The field number is 0 or above 2^29 - 1.
    #[error("protobuf field number at byte {offset} is outside 1 to 536870911")]
    FieldNumber {
        /// Where the field starts.
        offset: u32,
    },
    /// A group starts or ends here; groups are not part of any Waku message.
    #[error("protobuf group at byte {offset} is not supported, the sender must not use groups")]
    Group {
        /// Where the field starts.
        offset: u32,
    },
    /// The wire type is 6 or 7, which protobuf does not define.
    #[error("protobuf wire type at byte {offset} is undefined, only types 0, 1, 2 and 5 are read")]
    WireType {
        /// Where the field starts.
        offset: u32,
    },
}

/// Why bytes are no WakuMessage (14/WAKU2-MESSAGE).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The protobuf framing itself is broken.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// More bytes than spans can address.
    #[error("message of {bytes} bytes exceeds the {} bytes that a span addresses", u32::MAX)]
    TooLong {
        /// Bytes of the message.
        bytes: usize,
    },
    /// A required field is absent.
    #[error("message lacks its {field}, write the field even when it is empty")]
    Missing {
        /// `payload` or `content_topic`.
        field: &'static str,
    },
    /// The meta attribute is over 64 bytes.
    #[error("message meta of {bytes} bytes exceeds the limit of 64 bytes")]
    MetaTooLong {
        /// Bytes of the meta attribute.
        bytes: u32,
    },
    /// The content topic is not text.
    #[error("message content topic at byte {offset} is not UTF-8")]
    ContentTopicNotUtf8 {
        /// Where the content topic starts.
        offset: u32,
    },
    /// A 32-bit field holds a larger number.
    #[error("message {field} exceeds 32 bits, write a number of at most {}", u32::MAX)]
    ValueTooLarge {
        /// `version` or `ephemeral`.
        field: &'static str,
    },
}

/// Why a value cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// The output is too short.
    #[error("encoding takes {needed_bytes} bytes but the buffer holds {available_bytes}, pass a larger buffer")]
    BufferTooSmall {
        /// Bytes of the whole encoding.
        needed_bytes: usize,
        /// Bytes of the buffer.
        available_bytes: usize,
    },
    /// The meta attribute is over 64 bytes; every receiver would reject the message.
    #[error("message meta of {bytes} bytes exceeds the limit of 64 bytes, shorten it")]
    MetaTooLong {
        /// Bytes of the meta attribute.
        bytes: usize,
    },
    /// The encoding is over the limit of its kind.
    #[error("encoding of {bytes} bytes exceeds the limit of {bytes_max} bytes, send less at once")]
    TooLong {
        /// Bytes of the encoding.
        bytes: usize,
        /// The limit.
        bytes_max: usize,
    },
}

/// Why a topic name does not parse (23/WAKU2-TOPICS, 51/WAKU2-RELAY-SHARDING).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TopicError {
    /// Not a sharded pubsub topic.
    #[error(
        "pubsub topic must read /waku/2/rs/{{cluster}}/{{shard}}, with two numbers from 0 to 65535 without leading zeros"
    )]
    NotSharded,
    /// Not a content topic of the recommended format.
    #[error("content topic must read /{{application}}/{{version}}/{{name}}/{{encoding}}, with no part empty")]
    NotContentTopic,
    /// The full form's generation is no number.
    #[error("content topic generation must be a number, write /0/{{application}}/{{version}}/{{name}}/{{encoding}}")]
    Generation,
    /// The full form names a generation that nothing implements.
    #[error("content topic generation is not supported, only generation 0 exists")]
    GenerationUnsupported,
    /// Sharding over no shards.
    #[error("shard count is 0, a content topic needs at least one shard")]
    NoShards,
}

/// Why a topic cannot be interned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TopicTableFull {
    /// All ids are taken; ids are never reused.
    #[error("topic table is full at {topics_max} topics, raise its capacity")]
    Topics {
        /// The table's capacity.
        topics_max: usize,
    },
    /// The name is too long to keep.
    #[error("topic name of {bytes} bytes exceeds the limit of {bytes_max} bytes")]
    Name {
        /// Bytes of the name.
        bytes: usize,
        /// The limit.
        bytes_max: usize,
    },
}

/// Why bytes are no metadata message (66/WAKU2-METADATA).
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MetadataError {
    /// Over the size that nwaku reads.
    #[error("metadata message of {bytes} bytes exceeds the limit of {bytes_max} bytes")]
    TooLong {
        /// Bytes of the message.
        bytes: usize,
        /// The limit.
        bytes_max: usize,
    },
    /// The protobuf is broken.
    #[error("metadata message is malformed")]
    Malformed(#[from] prost::DecodeError),
}

/// Why a gossipsub RPC frame is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RpcError {
    /// The protobuf framing is broken.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// The frame is over the limit.
    #[error("rpc frame of {bytes} bytes exceeds the limit of {bytes_max} bytes")]
    TooLong {
        /// Bytes of the frame.
        bytes: usize,
        /// The limit.
        bytes_max: u32,
    },
    /// More entries of one kind than the limit.
    #[error("rpc frame holds more than {count_max} {entries}, the sender must split it")]
    TooMany {
        /// `subscriptions`, `messages`, `control entries` or `message ids`.
        entries: &'static str,
        /// The limit.
        count_max: u32,
    },
    /// A topic name is over the limit.
    #[error("rpc topic name of {bytes} bytes at byte {offset} exceeds the limit of {bytes_max} bytes")]
    TopicTooLong {
        /// Bytes of the name.
        bytes: u32,
        /// Where the name starts.
        offset: u32,
        /// The limit.
        bytes_max: u32,
    },
}

/// Why bytes are no request or response of a service protocol: store, lightpush, peer exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ServiceError {
    /// The protobuf framing is broken.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// Over the limit of its kind.
    #[error("message of {bytes} bytes exceeds the limit of {bytes_max} bytes")]
    TooLong {
        /// Bytes of the message.
        bytes: usize,
        /// The limit.
        bytes_max: usize,
    },
    /// A required field is absent.
    #[error("required field {field} is missing")]
    Missing {
        /// The field's name in the specification.
        field: &'static str,
    },
    /// More entries of one kind than the limit.
    #[error("more than {count_max} {entries}, ask for fewer at once")]
    TooMany {
        /// What they are.
        entries: &'static str,
        /// The limit.
        count_max: usize,
    },
    /// A text is none.
    #[error("field {field} is not UTF-8")]
    NotUtf8 {
        /// The field's name in the specification.
        field: &'static str,
    },
    /// A message hash has another length than 32 bytes.
    #[error("field {field} has {bytes} bytes, a message hash has 32")]
    HashLength {
        /// The field's name in the specification.
        field: &'static str,
        /// Bytes of the field.
        bytes: usize,
    },
    /// A 32-bit field holds a larger number.
    #[error("field {field} exceeds 32 bits")]
    ValueTooLarge {
        /// The field's name in the specification.
        field: &'static str,
    },
}

/// Why a hash kernel cannot be forced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum KernelError {
    /// No kernel has that name.
    #[error("hash kernel name is unknown, use avx512x16, avx512vlx8, avx2x8, shani2 or sha2")]
    Unknown,
    /// The CPU lacks its instructions.
    #[error("hash kernel {kernel} needs instructions that this CPU lacks, use {}", crate::hash::NamesSupported)]
    Unsupported {
        /// Name of the kernel.
        kernel: &'static str,
    },
    /// The process already forces a different one.
    #[error("hash kernel {kernel} was forced before, a process forces one at most")]
    AlreadyForced {
        /// Name of the kernel in force.
        kernel: &'static str,
    },
}
