//! The parameters, with the values of Waku's implementations.
//!
//! Unless a comment says otherwise a value is nwaku's (logos-delivery at 69fbffa3 over nim-libp2p 2.0.0), and go-waku has the same.

use std::time::Duration;

use crate::error::ConfigError;
use crate::score::ScoreParams;

/// How many peers a mesh has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeshDegrees {
    /// D: what a mesh is filled to.
    pub target: usize,
    /// D_lo: below it, peers are grafted.
    pub low: usize,
    /// D_hi: above it, peers are pruned.
    pub high: usize,
    /// D_out: how many must be connections this node opened.
    pub outbound: usize,
    /// D_score: how many are kept for their score when a mesh is pruned.
    pub score: usize,
    /// D_lazy: how many peers outside of the mesh are sent gossip at least.
    pub lazy: usize,
}

impl Default for MeshDegrees {
    fn default() -> Self {
        Self { target: 6, low: 4, high: 8, outbound: 3, score: 6, lazy: 6 }
    }
}

/// Scores below which a peer loses a service.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// Gossip is neither sent nor heard.
    pub gossip: f64,
    /// Own messages are not sent.
    pub publish: f64,
    /// Everything is ignored, and the peer is disconnected.
    pub graylist: f64,
    /// Peers offered with a PRUNE are not taken. This router never asks for any; see [`crate::Router::accepts_px`].
    pub accept_px: f64,
    /// The median score of a mesh below which better peers are added.
    pub opportunistic_graft: f64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self { gossip: -100.0, publish: -1_000.0, graylist: -10_000.0, accept_px: 10.0, opportunistic_graft: 0.0 }
    }
}

/// What a mesh does over time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeshParams {
    /// How many peers.
    pub degrees: MeshDegrees,
    /// How long a pruned peer is not grafted again.
    pub prune_backoff: Duration,
    /// The same after this node has left the topic.
    pub unsubscribe_backoff: Duration,
    /// How much longer this node waits than it was told, so that clocks and heartbeats need not agree.
    pub backoff_slack: Duration,
    /// The longest backoff a peer may ask for.
    pub backoff_max: Duration,
    /// A GRAFT this soon after a PRUNE counts twice. nwaku has no such rule; the value is go-libp2p-pubsub's.
    pub graft_flood_window: Duration,
    /// How long this node goes on sending to chosen peers of a topic that it has not joined.
    pub fanout_ttl: Duration,
    /// Heartbeats between two looks at a mesh's median score (gossipsub 1.1 recommends a minute).
    pub opportunistic_heartbeats: u64,
    /// How many better peers are then added.
    pub opportunistic_peers: usize,
}

impl Default for MeshParams {
    fn default() -> Self {
        Self {
            degrees: MeshDegrees::default(),
            prune_backoff: Duration::from_secs(60),
            unsubscribe_backoff: Duration::from_secs(5),
            backoff_slack: Duration::from_secs(2),
            backoff_max: Duration::from_secs(86_400),
            graft_flood_window: Duration::from_secs(10),
            fanout_ttl: Duration::from_secs(60),
            opportunistic_heartbeats: 60,
            opportunistic_peers: 2,
        }
    }
}

/// Gossip about messages, and its budgets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GossipParams {
    /// The share of a topic's other peers that is sent gossip, if that is more than D_lazy.
    pub factor: f64,
    /// Heartbeats for which a message is kept and may be asked for.
    pub history_windows: u64,
    /// Heartbeats for which it is announced.
    pub gossip_windows: u64,
    /// Ids in one IHAVE, and ids asked of one peer in one heartbeat (nim-libp2p's IHaveMaxLength).
    pub ihave_ids_max: usize,
    /// IHAVE messages heard from one peer in one heartbeat.
    pub ihave_messages_max: u32,
    /// How soon an announced message must come. nwaku keeps no promises; the value is go-libp2p-pubsub's.
    pub iwant_followup: Duration,
    /// Peers asked for one message at a time. More than one, so that who announces first and never answers cannot keep it back.
    pub askings_max: u8,
    /// How long until others may be asked: within the heartbeats for which a message is announced, so that answers that were lost
    /// or withheld cost one of them.
    pub ask_again_after: Duration,
    /// Ids that one peer may ask for in one heartbeat.
    pub iwant_ids_max: usize,
    /// How often one message is sent to one peer that asks for it (go-libp2p-pubsub's).
    pub retransmissions_max: u8,
    /// IDONTWANT is sent for larger messages only: ten times the id's length, but at least 512 bytes.
    pub idontwant_bytes_min: u32,
    /// Ids of IDONTWANT remembered from one peer in one heartbeat.
    pub idontwant_ids_max: u32,
    /// Heartbeats for which they are remembered: as long as the message may be forwarded or gossiped.
    pub idontwant_heartbeats: u32,
}

impl Default for GossipParams {
    fn default() -> Self {
        Self {
            factor: 0.25,
            history_windows: 6,
            gossip_windows: 3,
            ihave_ids_max: 5_000,
            ihave_messages_max: 10,
            iwant_followup: Duration::from_secs(3),
            askings_max: 3,
            ask_again_after: Duration::from_secs(1),
            iwant_ids_max: 5_000,
            retransmissions_max: 3,
            idontwant_bytes_min: 512,
            idontwant_ids_max: 1_000,
            idontwant_heartbeats: 3,
        }
    }
}

/// How much the router may hold. The bytes are in the crate's documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connected peers. nwaku allows 150 connections; this leaves room for a larger node.
    pub peers_max: usize,
    /// Topics that are known. A cluster has 1 024 shards.
    pub topics_max: usize,
    /// Topics that this node may join; as many places are kept free of the topics of peers.
    pub joined_max: usize,
    /// Topics that one peer may subscribe to. nwaku has no limit.
    pub topics_per_peer_max: usize,
    /// Bytes of a topic's name.
    pub topic_bytes_max: usize,
    /// Bytes of a frame body that peers read: nwaku's 150 KiB.
    pub rpc_bytes_max: u32,
    /// Messages that await a verdict.
    pub pending_max: usize,
    /// Their payload bytes.
    pub pending_bytes_max: usize,
    /// Ids in the seen set, of a router with a set of its own, rounded up to a power of two: 120 s of 2 000 messages a second.
    pub seen_max: usize,
    /// Bytes of the message cache, payloads and entries.
    pub mcache_bytes_max: usize,
    /// Peers that have left and whose score is kept.
    pub retained_max: usize,
    /// Messages whose askings are remembered.
    pub asked_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            peers_max: 512,
            topics_max: 4_096,
            joined_max: 1_024,
            topics_per_peer_max: 1_024,
            topic_bytes_max: 256,
            rpc_bytes_max: 150 * 1_024,
            pending_max: 8_192,
            pending_bytes_max: 64 * 1_024 * 1_024,
            seen_max: 262_144,
            mcache_bytes_max: 64 * 1_024 * 1_024,
            retained_max: 4_096,
            asked_max: 65_536,
        }
    }
}

/// Everything that can be set. The default is a Waku relay.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The time between heartbeats. The caller keeps it; the router needs it to cap flood publishing.
    pub heartbeat: Duration,
    /// The mesh.
    pub mesh: MeshParams,
    /// The gossip.
    pub gossip: GossipParams,
    /// Whether own messages go to all subscribed peers rather than to the mesh.
    pub flood_publish: bool,
    /// The bandwidth that flood publishing may use up for one heartbeat (nim-libp2p's estimate): it caps the peers.
    pub flood_bits_per_s: u64,
    /// How long an id is remembered at least after its message came; at most it is twice as long.
    pub seen_ttl: Duration,
    /// Scores below which a peer loses services.
    pub thresholds: Thresholds,
    /// How scores are computed.
    pub score: ScoreParams,
    /// How much may be held.
    pub limits: Limits,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            heartbeat: Duration::from_secs(1),
            mesh: MeshParams::default(),
            gossip: GossipParams::default(),
            flood_publish: true,
            flood_bits_per_s: 100_000_000,
            seen_ttl: Duration::from_secs(120),
            thresholds: Thresholds::default(),
            score: ScoreParams::default(),
            limits: Limits::default(),
        }
    }
}

impl Config {
    /// Whether the parameters fit together, as gossipsub 1.1 demands.
    ///
    /// # Errors
    /// [`ConfigError`], for the first that does not.
    pub fn check(&self) -> Result<(), ConfigError> {
        let MeshDegrees { target, low, high, outbound, score, .. } = self.mesh.degrees;
        if low > target || target > high {
            return Err(ConfigError::Degrees { low, target, high });
        }
        // A bootstrapper has no mesh at all: D = D_lo = D_hi = D_out = 0.
        if target > 0 && outbound > 0 && (outbound >= low || outbound > target / 2) {
            return Err(ConfigError::Outbound { outbound, low, half: target / 2 });
        }
        if score > target {
            return Err(ConfigError::KeptByScore { score, target });
        }
        let GossipParams { gossip_windows: gossip, history_windows: history, factor, .. } = self.gossip;
        if gossip > history {
            return Err(ConfigError::Windows { gossip, history });
        }
        if !(0.0..=1.0).contains(&factor) {
            return Err(ConfigError::Factor { name: "gossip factor", value: factor });
        }
        let Thresholds { gossip, publish, graylist, accept_px, opportunistic_graft } = self.thresholds;
        let in_order = graylist < publish && publish <= gossip && gossip < 0.0;
        if !in_order || accept_px < 0.0 || opportunistic_graft < 0.0 {
            return Err(ConfigError::Thresholds);
        }
        self.score.check()?;
        self.limits.check()
    }
}

impl Limits {
    fn check(&self) -> Result<(), ConfigError> {
        let index_max = u32::MAX as usize;
        let limits = [
            ("peers_max", self.peers_max, index_max),
            ("topics_max", self.topics_max, usize::from(u16::MAX)),
            ("joined_max", self.joined_max, self.topics_max),
            ("topics_per_peer_max", self.topics_per_peer_max, self.topics_max),
            ("pending_max", self.pending_max, index_max),
            ("seen_max", self.seen_max, index_max),
        ];
        match limits.into_iter().find(|(_, value, value_max)| *value == 0 || value > value_max) {
            Some((name, value, value_max)) => Err(ConfigError::Limit { name, value, value_max }),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken(change: impl FnOnce(&mut Config)) -> ConfigError {
        let mut config = Config::default();
        assert_eq!(config.check(), Ok(()));
        change(&mut config);
        config.check().unwrap_err()
    }

    #[test]
    fn parameters_that_contradict_each_other_are_named() {
        assert!(matches!(broken(|c| c.mesh.degrees.low = 7), ConfigError::Degrees { low: 7, .. }));
        assert!(matches!(broken(|c| c.mesh.degrees.high = 5), ConfigError::Degrees { high: 5, .. }));
        assert!(matches!(broken(|c| c.mesh.degrees.outbound = 4), ConfigError::Outbound { outbound: 4, .. }));
        assert!(matches!(broken(|c| c.mesh.degrees.score = 7), ConfigError::KeptByScore { .. }));
        assert!(matches!(broken(|c| c.gossip.gossip_windows = 7), ConfigError::Windows { .. }));
        assert!(matches!(broken(|c| c.gossip.factor = 1.5), ConfigError::Factor { .. }));
        assert!(matches!(broken(|c| c.limits.peers_max = 0), ConfigError::Limit { name: "peers_max", .. }));
        assert!(matches!(broken(|c| c.limits.joined_max = 5_000), ConfigError::Limit { name: "joined_max", .. }));
    }

    #[test]
    fn thresholds_must_be_in_order() {
        assert_eq!(broken(|c| c.thresholds.gossip = 0.0), ConfigError::Thresholds);
        assert_eq!(broken(|c| c.thresholds.publish = -50.0), ConfigError::Thresholds);
        assert_eq!(broken(|c| c.thresholds.graylist = -1_000.0), ConfigError::Thresholds);
        assert_eq!(broken(|c| c.thresholds.accept_px = -1.0), ConfigError::Thresholds);
        assert_eq!(broken(|c| c.thresholds.opportunistic_graft = -1.0), ConfigError::Thresholds);
    }

    #[test]
    fn a_bootstrapper_without_a_mesh_is_allowed() {
        let mut config = Config::default();
        config.mesh.degrees = MeshDegrees { target: 0, low: 0, high: 0, outbound: 0, score: 0, lazy: 6 };
        assert_eq!(config.check(), Ok(()));
    }
}
