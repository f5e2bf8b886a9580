//! A shard whose messages must be signed (`--protected-shard`).

use levada_stages::signed::SignerKey;

/// A shard, and the key that signs its messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProtectedShard {
    /// The shard.
    pub shard: u16,
    /// Whose signature its messages carry.
    pub key: SignerKey,
}

impl ProtectedShard {
    /// Reads `SHARD:KEY`; `None` when it is none.
    pub fn parse(text: &str) -> Option<Self> {
        let (shard, key) = text.split_once(':')?;
        let is_number = !shard.is_empty() && shard.bytes().all(|byte| byte.is_ascii_digit());
        let shard = shard.parse().ok().filter(|shard| is_number && *shard <= SHARD_MAX)?;
        Some(Self { shard, key: key.parse().ok()? })
    }
}

/// The highest shard index (51/WAKU2-RELAY-SHARDING).
const SHARD_MAX: u16 = 1_023;
