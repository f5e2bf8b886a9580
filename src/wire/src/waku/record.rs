//! The record that the engine keeps beside the envelope of every message, and that the stages fill in.

use crate::hash::Digest;
use crate::waku::{MessageSpans, Span};

/// How a message entered the node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Origin {
    /// Received from a peer over gossipsub.
    #[default]
    Gossip,
    /// Published at this node: REST, lightpush or an embedder.
    Publish,
    /// Pushed by a filter node that this one subscribed to. It is not relayed.
    Push,
    /// Fetched from the archive of another node for this one's, and for nothing else.
    Resume,
}

/// What the validators decided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Verdict {
    /// Not decided yet.
    #[default]
    Pending,
    /// Forward, archive, deliver.
    Accept,
    /// Drop without blame for the sender.
    Ignore,
    /// Drop, and count it against the sender.
    Reject,
}

/// Why a message was ignored or rejected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum RejectReason {
    /// It was not.
    #[default]
    None,
    /// The bytes are no WakuMessage.
    Malformed,
    /// The message exceeds the configured size.
    TooLarge,
    /// The message was seen before.
    Duplicate,
    /// The shard is protected, and the message has no good signature or is not of now.
    BadSignature,
}

impl RejectReason {
    /// The reason as a metrics label and in answers: lower case with underscores.
    pub fn label(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Malformed => "malformed",
            Self::TooLarge => "too_large",
            Self::Duplicate => "duplicate",
            Self::BadSignature => "bad_signature",
        }
    }
}

/// What the node knows of one message. Its bytes, the encoded WakuMessage, lie in the slot; the spans point into them.
///
/// Each field is written by one stage and read by those behind it, which is why all are public.
#[derive(Clone, Copy, Debug, Default)]
pub struct WakuRecord {
    /// Gossipsub id: SHA-256 of the encoded message. Valid if `id_known`.
    pub id: Digest,
    /// Deterministic message hash (14/WAKU2-MESSAGE). Valid if `hashed`.
    pub hash: Digest,
    /// Field 1. This and the next six are valid if `decoded`.
    pub payload: Span,
    /// Field 2, UTF-8.
    pub content_topic: Span,
    /// Field 11.
    pub meta: Span,
    /// Field 21.
    pub proof: Span,
    /// Field 10, nanoseconds since the epoch as the sender claims.
    pub timestamp: i64,
    /// Who waits for the outcome of a publish; 0 if nobody does.
    pub ticket: u64,
    /// When the message arrived, in nanoseconds of the node's own clock.
    pub arrived_ns: u64,
    /// Field 3.
    pub version: u32,
    /// Id of the pubsub topic in the node's [`TopicTable`](crate::waku::TopicTable).
    pub topic: u32,
    /// The connection layer's number of the peer that sent it; meaningless for [`Origin::Publish`].
    pub peer: u32,
    /// How it entered the node.
    pub origin: Origin,
    /// What the validators decided.
    pub verdict: Verdict,
    /// Why, unless accepted.
    pub reject_reason: RejectReason,
    /// Field 31: not to be archived.
    pub ephemeral: bool,
    /// The decode stage has filled in the message's fields.
    pub decoded: bool,
    /// `hash` is filled in.
    pub hashed: bool,
    /// `id` is filled in.
    pub id_known: bool,
    /// Published here before: only whether it is stored is still asked.
    pub repeated: bool,
    /// The archive failed on it. Said of [`Origin::Resume`] alone, whose messages nobody else has a handle on.
    pub unstored: bool,
}

impl WakuRecord {
    /// Takes over the fields of a decoded message and marks the record `decoded`.
    pub fn fill(&mut self, spans: &MessageSpans) {
        self.payload = spans.payload;
        self.content_topic = spans.content_topic;
        self.meta = spans.meta;
        self.proof = spans.proof;
        self.timestamp = spans.timestamp;
        self.version = spans.version;
        self.ephemeral = spans.ephemeral;
        self.decoded = true;
    }
}

/// Three cache lines beside the engine's own header.
const RECORD_BYTES_MAX: usize = 192;
const _: () = assert!(size_of::<WakuRecord>() <= RECORD_BYTES_MAX);

const _: () = {
    const fn carried_by_the_engine<T: Copy + Default + Send + 'static>() {}
    carried_by_the_engine::<WakuRecord>();
};

#[cfg(test)]
mod tests {
    use super::WakuRecord;
    use crate::waku::message::decode;

    #[test]
    fn a_filled_record_reads_like_the_message() {
        let data = [0x0a, 1, b'p', 0x12, 1, b't', 0x18, 7, 0x50, 1, 0x5a, 1, b'm', 0xaa, 1, 1, b'r', 0xf8, 1, 1];
        let mut record = WakuRecord::default();
        assert!(!record.decoded);
        record.fill(&decode(&data).expect("a well-formed message"));
        let slices = [record.payload, record.content_topic, record.meta, record.proof].map(|span| span.of(&data));
        assert_eq!(slices, [b"p", b"t", b"m", b"r"]);
        assert_eq!((record.version, record.timestamp, record.ephemeral, record.decoded), (7, -1, true, true));
    }
}
