//! Metadata (66/WAKU2-METADATA): which cluster and shards a node serves. Request and response have one shape.
//!
//! What to do with a peer's answer is the connection layer's business; this module only reads and writes it.

use prost::Message as _;

use crate::error::MetadataError;
use crate::varint;

/// Limit of a message in bytes, the most that nwaku reads.
pub const METADATA_BYTES_MAX: usize = 1_024;
/// What field 3 leaves to field 2 in any case, if not all shards fit into both: enough for 48 shards below 128. A reader of
/// field 2 that finds no shard there takes the node for useless.
const UNPACKED_BYTES_MIN: usize = 96;
/// The tag of field 3 and its length, which is below 1 024.
const PACKED_PREFIX_BYTES: usize = 3;

/// What the dialling node says of itself.
pub type MetadataRequest = Metadata;
/// What the answering node says of itself.
pub type MetadataResponse = Metadata;

/// A node's cluster and shards.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metadata {
    /// The cluster; absent if the node does not say.
    pub cluster_id: Option<u32>,
    /// The shards the node subscribes to.
    pub shards: Vec<u32>,
}

/// The wire form. The shards travel twice: go-waku and js-waku read field 2 unpacked, nwaku reads field 3 packed.
#[derive(Clone, PartialEq, prost::Message)]
struct Wire {
    #[prost(uint32, optional, tag = "1")]
    cluster_id: Option<u32>,
    #[prost(uint32, repeated, packed = "false", tag = "2")]
    shards_unpacked: Vec<u32>,
    #[prost(uint32, repeated, packed = "true", tag = "3")]
    shards_packed: Vec<u32>,
}

impl Metadata {
    /// Encodes the message, without a length prefix, in at most [`METADATA_BYTES_MAX`] bytes.
    ///
    /// The shards 0 to 254 fit into both fields. Of more, each field gets the first ones: field 3 all that fit beside a small share
    /// of field 2 (about 525), and field 2 those that fit into the rest. [`told`](Self::told) says how many that is.
    pub fn encode(&self) -> Vec<u8> {
        let (unpacked, packed) = self.told();
        let wire = Wire {
            cluster_id: self.cluster_id,
            shards_unpacked: self.shards[..unpacked].to_vec(),
            shards_packed: self.shards[..packed].to_vec(),
        };
        wire.encode_to_vec()
    }

    /// How many of the shards [`encode`](Self::encode) writes into field 2, which go-waku and js-waku read, and into field 3,
    /// which nwaku reads.
    pub fn told(&self) -> (usize, usize) {
        let cluster_bytes = self.cluster_id.map_or(0, |cluster| 1 + varint::len(cluster.into()));
        let room = METADATA_BYTES_MAX - cluster_bytes - PACKED_PREFIX_BYTES;
        let (_, kept) = self.prefix(1, UNPACKED_BYTES_MIN);
        let (packed, packed_bytes) = self.prefix(0, room - kept);
        let (unpacked, _) = self.prefix(1, room - packed_bytes);
        (unpacked, packed)
    }

    /// How many shards fit into `room` bytes and how many bytes they take, with a tag of `tag_bytes` before each.
    fn prefix(&self, tag_bytes: usize, room: usize) -> (usize, usize) {
        let mut bytes = 0;
        for (index, shard) in self.shards.iter().enumerate() {
            let more = tag_bytes + varint::len((*shard).into());
            if bytes + more > room {
                return (index, bytes);
            }
            bytes += more;
        }
        (self.shards.len(), bytes)
    }

    /// Decodes a message without its length prefix. Each shards field may be packed or not; field 3 wins over field 2, as
    /// in nwaku.
    ///
    /// # Errors
    /// [`MetadataError::TooLong`] above [`METADATA_BYTES_MAX`], [`MetadataError::Malformed`] if it is no protobuf.
    pub fn decode(bytes: &[u8]) -> Result<Self, MetadataError> {
        if bytes.len() > METADATA_BYTES_MAX {
            return Err(MetadataError::TooLong { bytes: bytes.len(), bytes_max: METADATA_BYTES_MAX });
        }
        let wire = Wire::decode(bytes)?;
        let shards = if wire.shards_packed.is_empty() { wire.shards_unpacked } else { wire.shards_packed };
        Ok(Self { cluster_id: wire.cluster_id, shards })
    }
}

#[cfg(test)]
mod tests {
    use super::{METADATA_BYTES_MAX, Metadata, Wire};
    use crate::error::MetadataError;
    use prost::Message as _;

    fn metadata(cluster_id: u32, shards: &[u32]) -> Metadata {
        Metadata { cluster_id: Some(cluster_id), shards: shards.to_vec() }
    }

    #[test]
    fn shards_travel_unpacked_and_packed() {
        let encoded = metadata(1, &[0, 300]).encode();
        assert_eq!(encoded, [0x08, 1, 0x10, 0, 0x10, 0xac, 0x02, 0x1a, 3, 0, 0xac, 0x02]);
        assert_eq!(Metadata::decode(&encoded), Ok(metadata(1, &[0, 300])));
        assert!(Metadata::default().encode().is_empty());
        assert_eq!(metadata(0, &[]).encode(), [0x08, 0], "cluster 0 is written, it is not the same as none");
    }

    #[test]
    fn either_field_is_read_packed_or_not() {
        for bytes in
            [&[8, 1, 0x10, 4, 0x10, 5][..], &[8, 1, 0x12, 2, 4, 5], &[8, 1, 0x18, 4, 0x18, 5], &[8, 1, 0x1a, 2, 4, 5]]
        {
            assert_eq!(Metadata::decode(bytes), Ok(metadata(1, &[4, 5])), "{bytes:02x?}");
        }
        assert_eq!(Metadata::decode(&[0x10, 9, 0x1a, 1, 4]), Ok(Metadata { cluster_id: None, shards: vec![4] }));
        assert_eq!(Metadata::decode(&[]), Ok(Metadata::default()));
    }

    #[test]
    fn shards_that_do_not_fit_are_left_out_at_the_end() {
        // Shards, then those in field 2 and in field 3. The second case is the last that fits into both.
        for (count, unpacked, packed) in
            [(200, 200, 200), (255, 255, 255), (256, 254, 256), (512, 61, 512), (1_024, 48, 525), (65_536, 48, 525)]
        {
            let shards: Vec<u32> = (0..count).collect();
            let told = metadata(1, &shards);
            let encoded = told.encode();
            assert!(encoded.len() <= METADATA_BYTES_MAX, "{count}: {}", encoded.len());
            assert_eq!(told.told(), (unpacked, packed), "{count}");
            let wire = Wire::decode(&encoded[..]).expect("what was encoded");
            assert_eq!(
                (wire.shards_unpacked, wire.shards_packed),
                (shards[..unpacked].into(), shards[..packed].into())
            );
            assert_eq!(Metadata::decode(&encoded), Ok(metadata(1, &shards[..packed])));
        }
    }

    #[test]
    fn the_widest_numbers_fit_too() {
        let widest = Metadata { cluster_id: Some(u32::MAX), shards: vec![u32::MAX; 1_000] };
        let encoded = widest.encode();
        assert!((METADATA_BYTES_MAX - 6..=METADATA_BYTES_MAX).contains(&encoded.len()), "{}", encoded.len());
        assert_eq!(Metadata::decode(&encoded).map(|read| read.shards.len()), Ok(widest.told().1));
    }

    #[test]
    fn size_limit_of_what_is_read() {
        let unknown_field = [&[0x22, 0xfd, 0x07][..], &[0; 1_021]].concat();
        assert_eq!(Metadata::decode(&unknown_field), Ok(Metadata::default()));
        let too_long = MetadataError::TooLong { bytes: METADATA_BYTES_MAX + 1, bytes_max: METADATA_BYTES_MAX };
        assert_eq!(Metadata::decode(&[0; METADATA_BYTES_MAX + 1]), Err(too_long));
    }

    #[test]
    fn broken_protobuf_is_an_error() {
        for bytes in [&[0x08][..], &[0x1a, 2, 1], &[0x0a, 0], &[0x00, 0x00], &[0xff; 11]] {
            assert!(matches!(Metadata::decode(bytes), Err(MetadataError::Malformed(_))), "{bytes:02x?}");
        }
    }
}
