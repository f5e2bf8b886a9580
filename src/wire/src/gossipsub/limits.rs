//! How much one RPC frame may hold.

/// Limits of one RPC frame. Exceeding one refuses the frame; none of them makes the walk allocate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RpcLimits {
    /// Bytes of the frame body. Default: nwaku's 150 KiB.
    pub frame_bytes_max: u32,
    /// Subscriptions and unsubscriptions. Default: every shard of a cluster once.
    pub subscriptions_max: u32,
    /// Published messages. Default 4 096: what fits 150 KiB when no message has content.
    pub messages_max: u32,
    /// IHAVE, IWANT, GRAFT, PRUNE and IDONTWANT entries together. Default 4 096: one of each for 800 topics.
    pub controls_max: u32,
    /// Message ids in all control entries together. Default 5 000: nwaku's own limit of one IHAVE.
    pub message_ids_max: u32,
    /// Bytes of a topic name. Default: what a topic table keeps.
    pub topic_bytes_max: u32,
}

impl Default for RpcLimits {
    fn default() -> Self {
        Self {
            frame_bytes_max: 150 * 1_024,
            subscriptions_max: 1_024,
            messages_max: 4_096,
            controls_max: 4_096,
            message_ids_max: 5_000,
            topic_bytes_max: crate::waku::TOPIC_BYTES_MAX as u32,
        }
    }
}
