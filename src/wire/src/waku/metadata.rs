//! Metadata (66/WAKU2-METADATA): which cluster and shards a node serves. Request and response have one shape.
//!
//! What to do with a peer's answer is the connection layer's business; this module only reads and writes it.

use prost::Message as _;

use crate::error::{EncodeError, MetadataError};

/// Limit of a message in bytes, the most that nwaku reads.
pub const METADATA_BYTES_MAX: usize = 1_024;

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
    /// Encodes the message, without a length prefix.
    ///
    /// # Errors
    /// [`EncodeError::TooLong`] above [`METADATA_BYTES_MAX`], which about 200 shards reach.
    pub fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        let wire = Wire {
            cluster_id: self.cluster_id,
            shards_unpacked: self.shards.clone(),
            shards_packed: self.shards.clone(),
        };
        let bytes = wire.encoded_len();
        if bytes > METADATA_BYTES_MAX {
            return Err(EncodeError::TooLong { bytes, bytes_max: METADATA_BYTES_MAX });
        }
        Ok(wire.encode_to_vec())
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
    use super::{METADATA_BYTES_MAX, Metadata};
    use crate::error::{EncodeError, MetadataError};

    fn metadata(cluster_id: u32, shards: &[u32]) -> Metadata {
        Metadata { cluster_id: Some(cluster_id), shards: shards.to_vec() }
    }

    #[test]
    fn shards_travel_unpacked_and_packed() {
        let encoded = metadata(1, &[0, 300]).encode().expect("small");
        assert_eq!(encoded, [0x08, 1, 0x10, 0, 0x10, 0xac, 0x02, 0x1a, 3, 0, 0xac, 0x02]);
        assert_eq!(Metadata::decode(&encoded), Ok(metadata(1, &[0, 300])));
        assert_eq!(Metadata::default().encode(), Ok(Vec::new()));
        assert_eq!(metadata(0, &[]).encode(), Ok(vec![0x08, 0]), "cluster 0 is written, it is not the same as none");
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
    fn size_limit_on_both_sides() {
        let shards: Vec<u32> = (0..1_024).collect();
        assert!(matches!(metadata(1, &shards).encode(), Err(EncodeError::TooLong { .. })));
        assert!(metadata(1, &shards[..200]).encode().is_ok());
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
