//! SHA-256 in its three uses, each counted where it happens: the deterministic message hash (14/WAKU2-MESSAGE), the
//! gossipsub message id (11/WAKU2-RELAY), and sharding. One message at a time, or with [`hash_many`] as many as wait.
//!
//! This is the only module that touches `sha2`; a clippy rule keeps every other one out, so that the counters tell the
//! truth about hashes per message.

mod job;
#[cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "vector loads, and code for instructions found at run time")
)]
mod kernel;
mod many;
mod select;

use std::fmt;

use levada_engine::Counter;
use sha2::Digest as _;

pub use job::{Job, PIECES_MAX};
pub use many::{Scratch, WINDOW, hash_many, messages_by_kernel};
pub(crate) use select::NamesSupported;
pub use select::{Kernel, force_kernel};

/// A SHA-256 digest.
pub type Digest = [u8; 32];

/// Deterministic message hashes computed.
pub static MESSAGE_HASHES: Counter = Counter::new();
/// Gossipsub message ids computed.
pub static MESSAGE_IDS: Counter = Counter::new();
/// Bytes that went through SHA-256 for message hashes and ids.
pub static HASHED_BYTES: Counter = Counter::new();

const TIMESTAMP_BYTES: usize = 8;

/// The deterministic hash of a message on a pubsub topic (14/WAKU2-MESSAGE).
///
/// It covers topic, payload, content topic, meta (empty if absent) and the `timestamp` in nanoseconds as eight big-endian
/// bytes. The timestamp is hashed even when it is 0, as nwaku and go-waku do; js-waku leaves it out then.
pub fn message_hash(
    pubsub_topic: &str,
    payload: &[u8],
    content_topic: impl AsRef<[u8]>,
    meta: &[u8],
    timestamp: i64,
) -> Digest {
    let content_topic = content_topic.as_ref();
    let bytes = pubsub_topic.len() + payload.len() + content_topic.len() + meta.len() + TIMESTAMP_BYTES;
    MESSAGE_HASHES.add(1);
    HASHED_BYTES.add(bytes as u64);
    sha256_parts(&[pubsub_topic.as_bytes(), payload, content_topic, meta, &timestamp.to_be_bytes()])
}

/// The gossipsub id of a message: SHA-256 over the `data` field exactly as received (11/WAKU2-RELAY).
pub fn message_id(data: &[u8]) -> Digest {
    MESSAGE_IDS.add(1);
    HASHED_BYTES.add(data.len() as u64);
    sha256(data)
}

/// Plain SHA-256, not counted: for everything that is not a message.
pub fn sha256(data: &[u8]) -> Digest {
    sha256_parts(&[data])
}

/// SHA-256 over `parts` one after another, without joining them in memory first. Not counted.
#[expect(clippy::disallowed_methods, reason = "the one place that computes SHA-256; its callers count")]
pub fn sha256_parts(parts: &[&[u8]]) -> Digest {
    let mut hasher = sha2::Sha256::new();
    for part in parts {
        hasher.update(part);
    }
    hasher.finalize().into()
}

/// Shows bytes as lower-case hex without allocating: `Hex(&digest)`.
#[derive(Clone, Copy, Debug)]
pub struct Hex<'a>(pub &'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::{Hex, sha256, sha256_parts};

    #[test]
    fn known_digests() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(Hex(&sha256(b"")).to_string(), empty);
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(Hex(&sha256(b"abc")).to_string(), abc);
        assert_eq!(sha256_parts(&[b"a", b"", b"bc"]), sha256(b"abc"));
    }
}
