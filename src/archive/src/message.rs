//! A message on its way into the archive, and the same message on its way out.

use bytes::Bytes;

/// The deterministic message hash (14/WAKU2-MESSAGE), which is a message's identity here.
pub type Hash = [u8; 32];

/// Longest payload an archive takes, in bytes. The network allows 150 kB; this bound only keeps a careless embedder from
/// meeting the limits of the backends, and such a message is counted as dropped.
pub const PAYLOAD_BYTES_MAX: usize = 64 << 20;

/// A message to be stored; it borrows everything, so that the payload can lie in its slot until the backend copies it.
#[derive(Clone, Copy, Debug)]
pub struct ArchiveMessage<'a> {
    /// The deterministic message hash, which covers the timestamp: an archive may look for a duplicate where its time belongs.
    pub hash: Hash,
    /// The pubsub topic it came by.
    pub pubsub_topic: &'a str,
    /// Its content topic.
    pub content_topic: &'a str,
    /// Its payload, at most [`PAYLOAD_BYTES_MAX`].
    pub payload: &'a [u8],
    /// Its version field.
    pub version: u32,
    /// Its timestamp, nanoseconds since the Unix epoch.
    pub timestamp: i64,
    /// Its meta field; empty stands for absent, as in the message hash.
    pub meta: &'a [u8],
}

/// A share in the payload of a stored message, see [`crate::Archive::keep`].
#[derive(Clone, Debug)]
pub struct Handle {
    /// The payload.
    pub payload: Bytes,
    /// What holding it keeps from others, in bytes.
    pub slot_bytes: usize,
}

/// A message that a query found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredMessage {
    /// The deterministic message hash.
    pub hash: Hash,
    /// Everything else, if the query asked for it. One option for all of it, because a store answer carries both the message
    /// and its pubsub topic, or neither (13/WAKU2-STORE, WakuMessageKeyValue).
    pub body: Option<StoredBody>,
}

/// The archived fields of a message; `ephemeral` and `proof` are not archived.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredBody {
    /// The pubsub topic it came by.
    pub pubsub_topic: String,
    /// Its content topic.
    pub content_topic: String,
    /// Its payload.
    pub payload: Vec<u8>,
    /// Its version field.
    pub version: u32,
    /// Its timestamp, nanoseconds since the Unix epoch.
    pub timestamp: i64,
    /// Its meta field; empty if it had none.
    pub meta: Vec<u8>,
}

/// What became of the messages of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InsertOutcome {
    /// Messages now stored that were not before.
    pub stored: u64,
    /// Messages whose hash was known already, from before or from the same batch.
    pub duplicates: u64,
    /// Messages too large for this archive: longer than [`PAYLOAD_BYTES_MAX`] or than the whole memory archive.
    pub dropped: u64,
}
