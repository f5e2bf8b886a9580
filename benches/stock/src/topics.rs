//! Which pubsub topics a peer may announce.

use levada_wire::waku::topics::PubsubTopic;
use libp2p::gossipsub::{TopicHash, TopicSubscriptionFilter};

/// Admits the shards of one cluster (51/WAKU2-RELAY-SHARDING) and nothing else.
///
/// The router keeps every name that a peer announces for as long as the peer is connected. Names of the peer's own invention
/// could be as long as an RPC; names of shards have 22 bytes at most. What is not admitted is passed over in silence, since a peer
/// may take part in other clusters as well.
#[derive(Debug, Clone, Copy)]
pub struct ClusterTopics {
    cluster: u16,
}

impl ClusterTopics {
    /// Those of `cluster`.
    pub fn new(cluster: u16) -> Self {
        Self { cluster }
    }
}

impl TopicSubscriptionFilter for ClusterTopics {
    fn can_subscribe(&mut self, topic: &TopicHash) -> bool {
        PubsubTopic::parse(topic.as_str()).is_ok_and(|topic| topic.cluster == self.cluster)
    }
}

#[cfg(test)]
mod tests {
    use libp2p::gossipsub::{TopicHash, TopicSubscriptionFilter};

    use super::ClusterTopics;

    #[test]
    fn only_shards_of_the_cluster_are_admitted() {
        let mut filter = ClusterTopics::new(1);
        let mut admits = |name: &str| filter.can_subscribe(&TopicHash::from_raw(name));
        assert!(admits("/waku/2/rs/1/0") && admits("/waku/2/rs/1/65535"));
        let long = format!("/waku/2/rs/1/{}", "0".repeat(170_000));
        for other in
            ["/waku/2/rs/2/0", "/waku/2/rs/1/65536", "/waku/2/rs/1/0/x", "/waku/2/default-waku/proto", "", &long]
        {
            assert!(!admits(other), "{:.40}", other);
        }
    }
}
