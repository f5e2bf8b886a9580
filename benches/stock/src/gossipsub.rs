//! rust-libp2p's gossipsub, configured as Waku relay.
//!
//! Every number without a comment is nwaku's. What the stock router cannot do for Waku: it never sends IDONTWANT under this protocol
//! id, and it bounds its message cache by heartbeats, not by bytes.
//!
//! # Memory
//!
//! What the router may hold, with the default message limit of 150 KiB:
//!
//! | what | bound | bytes at most |
//! |---|---|---|
//! | message cache | six heartbeats | 6 s of received and published bytes, plus about 600 per message |
//! | seen ids, and who delivered them | 120 s | about 500 per message (60 MB at 1 000 messages/s), 100 more per early sender |
//! | send queue of a peer | [`SEND_QUEUE_BYTES`] of the largest messages, each peer with its own copy | 16 MiB per peer |
//! | other control messages of that queue | 20 000, a number of the router's own | 2 MB per peer |
//! | RPC that is being read | [`rpc_bytes_max`] | 0.4 MB per stream; a hostile one decodes to 7 MB, and to 17 MB for a moment |
//! | RPCs read and not yet handled (many only while reading is stopped) | 8 per connection | eight of the line above |
//! | topics of a peer | [`TOPICS_PER_PEER_MAX`] names of 22 bytes ([`ClusterTopics`]) | 0.1 MB per peer |
//! | ids a peer has announced and we asked for | 10 IHAVE a second, 5 000 ids, for 3 s | 8 MB per peer |
//! | ids a peer does not want | 10 000, for 3 s | 3 s of received control bytes per peer |
//! | scores of peers that have left | 600 s | about 300 per peer |
//!
//! GRAFT, PRUNE and IHAVE for a topic that this node has not joined are passed over and leave nothing behind. A message on such a
//! topic is dropped as well, but only after it has gone into the message cache: nobody judges it, so it stays there for the six
//! heartbeats. That is inherent in this router; the traffic of the peers bounds it.

use std::time::Duration;

use levada_net::{NetConfig, NetError, RELAY_PROTOCOL};
use levada_wire::hash::message_id;
use libp2p::gossipsub::{
    Behaviour, Config, ConfigBuilder, IdentityTransform, MaxCountSubscriptionFilter, MessageAuthenticity, MessageId,
    PeerScoreParams, PeerScoreThresholds, TopicScoreParams, ValidationMode, Version,
};

use crate::known_id;
use crate::topics::ClusterTopics;

/// Ids in the IHAVE messages of one peer and heartbeat, and in the IWANT messages that answer them.
const GOSSIP_IDS_MAX: usize = 5_000;
/// Control messages and subscriptions of one RPC. The largest that honest peers send is an IHAVE or IWANT with all ids that are
/// allowed, of 34 bytes each; the subscriptions to all shards of a cluster take 30 KB. The router's own default, 16 KiB, breaks
/// the stream with a peer that gossips more than 160 messages a second.
const CONTROL_BYTES_MAX: usize = GOSSIP_IDS_MAX * 34 + 32 * 1_024;
/// Messages of one RPC, which may answer an IWANT.
const MESSAGES_PER_RPC_MAX: usize = GOSSIP_IDS_MAX;
/// Around the largest message an RPC has tags, lengths and the topic, and js-libp2p puts control messages beside it.
const FRAME_OVERHEAD_BYTES: usize = CONTROL_BYTES_MAX + 1_024;
/// The router compares its limit with the length of its whole receive buffer, which may hold one frame and the first read (8 KiB)
/// of the next. With a limit that only covers the frame, two large messages in a row kill the stream.
const READ_AHEAD_BYTES: usize = 8_192;
/// What waits to be sent to one peer is bounded by the router in messages only; this many bytes of the largest ones.
const SEND_QUEUE_BYTES: usize = 16 * 1_024 * 1_024;
/// A cluster has 1 024 shards, so an honest peer never has more topics.
const TOPICS_PER_PEER_MAX: usize = 1_024;
/// Below this score a peer's RPCs are ignored and it is disconnected.
pub(crate) const GRAYLIST_THRESHOLD: f64 = -10_000.0;

/// The router with a bound on the topics of a peer, in number and in length.
pub type Gossipsub = Behaviour<IdentityTransform, MaxCountSubscriptionFilter<ClusterTopics>>;

/// The router for the Waku network of `config`.
///
/// # Errors
///
/// [`NetError::Relay`] if the router refuses the parameters.
pub fn gossipsub(config: &NetConfig) -> Result<Gossipsub, NetError> {
    let filter = MaxCountSubscriptionFilter {
        filter: ClusterTopics::new(config.cluster_id),
        max_subscribed_topics: TOPICS_PER_PEER_MAX,
        max_subscriptions_per_request: TOPICS_PER_PEER_MAX,
    };
    let refused = |reason: String| NetError::Relay { reason };
    let router = router_config(config)?;
    let mut relay = Behaviour::new_with_subscription_filter(MessageAuthenticity::Anonymous, router, filter)
        .map_err(|reason| refused(reason.to_owned()))?;
    relay.with_peer_score(score_params(config), score_thresholds()).map_err(refused)?;
    Ok(relay)
}

/// The router compares this limit with the length of its whole receive buffer.
fn rpc_bytes_max(message_bytes_max: usize) -> usize {
    message_bytes_max + FRAME_OVERHEAD_BYTES + READ_AHEAD_BYTES
}

fn router_config(config: &NetConfig) -> Result<Config, NetError> {
    let message_bytes_max = config.message_bytes_max;
    ConfigBuilder::default()
        // A custom id can be tagged 1.0 or 1.1 only.
        .protocol_id(RELAY_PROTOCOL, Version::V1_1)
        .validation_mode(ValidationMode::Anonymous)
        .validate_messages()
        .message_id_fn(|message| MessageId::from(known_id::take().unwrap_or_else(|| message_id(&message.data))))
        .max_transmit_size(rpc_bytes_max(message_bytes_max))
        .max_control_message_size(CONTROL_BYTES_MAX)
        .max_publish_messages(MESSAGES_PER_RPC_MAX)
        .connection_handler_queue_len((SEND_QUEUE_BYTES / message_bytes_max).max(1))
        .duplicate_cache_time(Duration::from_secs(120))
        .history_length(6)
        .history_gossip(3)
        .heartbeat_interval(Duration::from_secs(1))
        // js-waku's.
        .heartbeat_initial_delay(Duration::from_millis(100))
        .mesh_n(config.mesh.target)
        .mesh_n_low(config.mesh.low)
        .mesh_n_high(config.mesh.high)
        .mesh_outbound_min(config.mesh.outbound)
        .gossip_lazy(config.mesh.lazy)
        .gossip_factor(0.25)
        .fanout_ttl(Duration::from_secs(60))
        .prune_backoff(Duration::from_secs(60))
        .unsubscribe_backoff(Duration::from_secs(5))
        .flood_publish(true)
        .max_ihave_messages_heartbeat(10)
        .max_control_messages_sent(GOSSIP_IDS_MAX)
        .build()
        .map_err(|error| NetError::Relay { reason: error.to_string() })
}

fn score_thresholds() -> PeerScoreThresholds {
    PeerScoreThresholds {
        gossip_threshold: -100.0,
        publish_threshold: -1_000.0,
        graylist_threshold: GRAYLIST_THRESHOLD,
        opportunistic_graft_threshold: 0.0,
        ..PeerScoreThresholds::default()
    }
}

fn score_params(config: &NetConfig) -> PeerScoreParams {
    PeerScoreParams {
        app_specific_weight: 0.0,
        ip_colocation_factor_weight: -50.0,
        ip_colocation_factor_threshold: 5.0,
        ip_colocation_factor_whitelist: config.colocation_whitelist.iter().copied().collect(),
        behaviour_penalty_weight: -10.0,
        behaviour_penalty_decay: 0.986,
        decay_interval: Duration::from_secs(12),
        decay_to_zero: 0.01,
        retain_score: Duration::from_secs(600),
        // nwaku has no such penalty, and a peer that is slow for a moment must not leave the mesh for it.
        slow_peer_weight: 0.0,
        ..PeerScoreParams::default()
    }
}

pub(crate) fn topic_params() -> TopicScoreParams {
    TopicScoreParams {
        topic_weight: 1.0,
        time_in_mesh_weight: 0.01,
        time_in_mesh_quantum: Duration::from_secs(1),
        time_in_mesh_cap: 10.0,
        first_message_deliveries_weight: 1.0,
        first_message_deliveries_decay: 0.5,
        first_message_deliveries_cap: 10.0,
        mesh_message_deliveries_weight: 0.0,
        mesh_failure_penalty_weight: 0.0,
        invalid_message_deliveries_weight: -100.0,
        invalid_message_deliveries_decay: 0.5,
        ..TopicScoreParams::default()
    }
}

#[cfg(test)]
mod tests {
    use levada_net::{NetConfig, NodeKey};

    use super::{CONTROL_BYTES_MAX, SEND_QUEUE_BYTES, gossipsub, router_config, score_params};

    #[test]
    fn the_router_takes_the_parameters_at_both_ends_of_the_range() {
        let mut config = NetConfig::new(NodeKey::generate());
        for bytes in [1_024, 153_600, 16 * 1_024 * 1_024] {
            config.message_bytes_max = bytes;
            gossipsub(&config).unwrap();
            let router = router_config(&config).unwrap();
            assert!(router.max_transmit_size() >= bytes + CONTROL_BYTES_MAX + 8_192);
            assert_eq!(router.max_control_message_size(), CONTROL_BYTES_MAX);
            assert_eq!((router.history_length(), router.max_ihave_messages_heartbeat()), (6, 10));
            assert_eq!((router.max_control_messages_sent(), router.max_publish_messages()), (5_000, 5_000));
            assert!((1..=SEND_QUEUE_BYTES / bytes).contains(&router.connection_handler_queue_len()));
        }
    }

    #[test]
    fn loopback_peers_are_not_punished_for_being_many() {
        let params = score_params(&NetConfig::new(NodeKey::generate()));
        assert!(params.ip_colocation_factor_whitelist.contains(&"127.0.0.1".parse().unwrap()));
        params.validate().unwrap();
    }
}
