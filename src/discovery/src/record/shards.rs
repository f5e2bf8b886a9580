//! The keys `rs` and `rsv`: the cluster of a node, and its shards there as a list or as a bit vector
//! (51/WAKU2-RELAY-SHARDING).

use std::collections::BTreeSet;

use bytes::Bytes;

use crate::record::RecordError;

/// A cluster and the shards of it that a node is on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shards {
    /// The cluster.
    pub cluster: u16,
    /// Below [`Shards::SHARDS`] each.
    pub indices: BTreeSet<u16>,
}

const LIST: &str = "rs";
const VECTOR: &str = "rsv";

/// Longer lists are written as a vector.
const LIST_LEN_MAX: usize = 64;

const VECTOR_BYTES: usize = Shards::SHARDS as usize / 8;

impl Shards {
    /// The keys under which they may stand.
    pub(super) const KEYS: [&str; 2] = [LIST, VECTOR];
    /// Shards of a cluster.
    pub const SHARDS: u16 = 1_024;

    /// The key and its value. A shard beyond the last is left out.
    pub(super) fn encode(&self) -> (&'static str, Vec<u8>) {
        let mut value = self.cluster.to_be_bytes().to_vec();
        let indices = || self.indices.iter().copied().filter(|index| *index < Self::SHARDS);
        let count = indices().count();
        if count <= LIST_LEN_MAX {
            value.push(count as u8);
            indices().for_each(|index| value.extend(index.to_be_bytes()));
            return (LIST, value);
        }
        let mut bits = [0_u8; VECTOR_BYTES];
        // The right-most bit is shard 0.
        indices().for_each(|index| bits[VECTOR_BYTES - 1 - usize::from(index / 8)] |= 1 << (index % 8));
        value.extend(bits);
        (VECTOR, value)
    }

    /// What `get` finds under either key; the list holds where both are there.
    pub(super) fn decode(
        get: impl Fn(&'static str) -> Result<Option<Bytes>, RecordError>,
    ) -> Result<Option<Self>, RecordError> {
        if let Some(value) = get(LIST)? {
            return list(&value).map(Some).ok_or(RecordError::Malformed { key: LIST });
        }
        match get(VECTOR)? {
            Some(value) => vector(&value).map(Some).ok_or(RecordError::Malformed { key: VECTOR }),
            None => Ok(None),
        }
    }
}

fn list(value: &[u8]) -> Option<Shards> {
    let (cluster, rest) = value.split_first_chunk()?;
    let (count, rest) = rest.split_first()?;
    let indices: BTreeSet<u16> = rest.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect();
    let is_sound = rest.len() == 2 * usize::from(*count)
        && usize::from(*count) <= LIST_LEN_MAX
        && indices.last().is_none_or(|last| *last < Shards::SHARDS);
    is_sound.then_some(Shards { cluster: u16::from_be_bytes(*cluster), indices })
}

fn vector(value: &[u8]) -> Option<Shards> {
    let (cluster, bits) = value.split_first_chunk()?;
    if bits.len() != VECTOR_BYTES {
        return None;
    }
    let is_set = |index: &u16| bits[VECTOR_BYTES - 1 - usize::from(index / 8)] & 1 << (index % 8) != 0;
    Some(Shards { cluster: u16::from_be_bytes(*cluster), indices: (0..Shards::SHARDS).filter(is_set).collect() })
}
