//! The shards that this node tells its peers about (66/WAKU2-METADATA).

use std::collections::BTreeSet;

use levada_wire::waku::metadata::Metadata;
use levada_wire::waku::topics::PubsubTopic;

use crate::config::NetConfig;

/// The shards that are told: those of the configuration, then what subscribing and unsubscribing made of them.
///
/// A node that takes part in no shard (relay is off, or every topic was left) still tells the configured ones. They are what its
/// other protocols serve, and a js-waku client never again uses a node that told it an empty list.
pub(crate) struct Shards {
    cluster: u16,
    configured: BTreeSet<u16>,
    joined: BTreeSet<u16>,
}

impl Shards {
    pub(crate) fn new(config: &NetConfig) -> Self {
        let configured: BTreeSet<u16> = config.shards.iter().copied().collect();
        Self { cluster: config.cluster_id, joined: configured.clone(), configured }
    }

    /// The shard that `topic` names, if it is one of this node's cluster.
    pub(crate) fn shard_of(&self, topic: &str) -> Option<u16> {
        PubsubTopic::parse(topic).ok().filter(|topic| topic.cluster == self.cluster).map(|topic| topic.shard)
    }

    pub(crate) fn join(&mut self, shard: u16) {
        self.joined.insert(shard);
    }

    pub(crate) fn leave(&mut self, shard: u16) {
        self.joined.remove(&shard);
    }

    /// What this node says of itself, asking or answering. A question carries the shards too: js-waku stores those of a question
    /// as the shards of the peer.
    pub(crate) fn metadata(&self) -> Metadata {
        let shards = if self.joined.is_empty() { &self.configured } else { &self.joined };
        Metadata { cluster_id: Some(self.cluster.into()), shards: shards.iter().copied().map(u32::from).collect() }
    }

    /// A sentence for the log, if the shards are so many that peers are not told all of them.
    pub(crate) fn shortfall(&self) -> Option<String> {
        let metadata = self.metadata();
        let (unpacked, packed) = metadata.told();
        let all = metadata.shards.len();
        (unpacked.min(packed) < all).then(|| {
            format!(
                "a metadata message does not hold {all} shards: nwaku peers are told the first {packed}, go-waku and js-waku \
                 peers the first {unpacked}; serve fewer shards (--shard, --num-shards-in-network)"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Shards;
    use crate::{NetConfig, NodeKey};

    fn shards(configured: Vec<u16>) -> Shards {
        let mut config = NetConfig::new(NodeKey::generate());
        (config.cluster_id, config.shards) = (16, configured);
        Shards::new(&config)
    }

    #[test]
    fn what_is_joined_and_left_shows() {
        let mut shards = shards(vec![5, 1, 5]);
        assert_eq!(shards.metadata().shards, [1, 5]);
        shards.join(3);
        shards.leave(1);
        assert_eq!((shards.metadata().shards, shards.metadata().cluster_id), (vec![3, 5], Some(16)));
    }

    #[test]
    fn the_configured_shards_are_told_when_nothing_is_joined() {
        let mut shards = shards(vec![1, 5]);
        shards.leave(1);
        shards.leave(5);
        assert_eq!(shards.metadata().shards, [1, 5], "an empty list would make the node useless to js-waku");
        shards.join(7);
        assert_eq!(shards.metadata().shards, [7]);
    }

    #[test]
    fn only_topics_of_the_own_cluster_have_a_shard() {
        let shards = shards(Vec::new());
        assert_eq!(shards.shard_of("/waku/2/rs/16/65535"), Some(65_535));
        for other in ["/waku/2/rs/1/0", "/waku/2/rs/16/65536", "/waku/2/rs/16/01", "/waku/2/default-waku/proto", ""] {
            assert_eq!(shards.shard_of(other), None, "{other:?}");
        }
    }

    #[test]
    fn a_shortfall_names_what_each_kind_of_peer_is_told() {
        assert_eq!(shards((0..255).collect()).shortfall(), None);
        let text = shards((0..512).collect()).shortfall().expect("too many for both fields");
        assert!(text.contains("512 shards") && text.contains("--num-shards-in-network"), "{text}");
    }
}
