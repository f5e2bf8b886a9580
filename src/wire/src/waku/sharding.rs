//! Autosharding (51/WAKU2-RELAY-SHARDING): which shard carries a content topic.
//!
//! The specification takes the whole 256-bit digest modulo the shard count; every implementation takes its last eight bytes.
//! The two differ for counts that are no power of two, and this follows the implementations.

use crate::error::TopicError;
use crate::hash;
use crate::waku::topics::{ContentTopic, PubsubTopic};

/// The shard of `content_topic` among `shard_count` shards: it depends on application and version alone.
///
/// # Errors
/// A [`TopicError`] if the topic does not parse or there are no shards.
pub fn shard_of(content_topic: &str, shard_count: u16) -> Result<u16, TopicError> {
    let topic = ContentTopic::parse(content_topic)?;
    if shard_count == 0 {
        return Err(TopicError::NoShards);
    }
    let digest = hash::sha256_parts(&[topic.application.as_bytes(), topic.version.as_bytes()]);
    let [.., a, b, c, d, e, f, g, h] = digest;
    let shard = u64::from_be_bytes([a, b, c, d, e, f, g, h]) % u64::from(shard_count);
    Ok(shard as u16)
}

/// The pubsub topic of `content_topic` in a `cluster` of `shard_count` shards.
///
/// # Errors
/// As [`shard_of`].
pub fn pubsub_topic_of(content_topic: &str, cluster: u16, shard_count: u16) -> Result<PubsubTopic, TopicError> {
    Ok(PubsubTopic { cluster, shard: shard_of(content_topic, shard_count)? })
}

#[cfg(test)]
mod tests {
    use super::{pubsub_topic_of, shard_of};
    use crate::error::TopicError;

    /// Content topic and its shard among 8, 10 and 3, where known.
    const SHARDS: [(&str, u16, Option<u16>, Option<u16>); 10] = [
        ("/myapp/1/latest/proto", 0, Some(2), Some(2)),
        ("/waku/2/content/test.js", 1, Some(7), Some(2)),
        ("/app/22/sometopic/someencoding", 2, Some(6), Some(0)),
        ("/toychat/2/huilong/proto", 3, None, None),
        ("/statusim/1/community/cbor", 4, Some(6), Some(2)),
        ("/app/27/sometopic/someencoding", 5, None, None),
        ("/app/29/sometopic/someencoding", 6, None, None),
        ("/app/20/sometopic/someencoding", 7, None, None),
        ("/toychat2/2/huilong/proto", 6, Some(2), None),
        ("/toychat/4/huilong/proto", 7, Some(9), None),
    ];

    #[test]
    fn shards_of_known_topics() {
        for (topic, of_8, of_10, of_3) in SHARDS {
            assert_eq!(shard_of(topic, 8), Ok(of_8), "{topic}");
            assert_eq!(shard_of(topic, 1), Ok(0), "{topic}");
            for (count, expected) in [(10, of_10), (3, of_3)] {
                assert!(expected.is_none_or(|expected| shard_of(topic, count) == Ok(expected)), "{topic} of {count}");
            }
        }
    }

    #[test]
    fn generation_and_name_do_not_move_a_topic() {
        assert_eq!(shard_of("/0/toychat/2/other/cbor", 8), Ok(3));
        let topic = pubsub_topic_of("/toychat/2/huilong/proto", 1, 8).expect("a content topic");
        assert_eq!(topic.to_string(), "/waku/2/rs/1/3");
    }

    #[test]
    fn no_shard_without_a_topic_or_shards() {
        assert_eq!(shard_of("/toychat/2/huilong/proto", 0), Err(TopicError::NoShards));
        assert_eq!(shard_of("toychat", 8), Err(TopicError::NotContentTopic));
        assert_eq!(pubsub_topic_of("/1/toychat/2/huilong/proto", 1, 8), Err(TopicError::GenerationUnsupported));
    }
}
