//! Gossipsub RPC frames (libp2p pubsub, gossipsub 1.0 to 1.2) as 11/WAKU2-RELAY uses them.
//!
//! Bodies only, but for [`stream`]: the varint length prefix is [`crate::varint`]'s.

mod encode;
mod limits;
mod rpc;
pub mod stream;

pub use encode::{
    PUBLISH_HEADER_BYTES_MAX, PublishHeader, graft, idontwant, ihave, iwant, prune, publish_topic, subscribe,
};
pub use limits::RpcLimits;
pub use rpc::{MessageIds, Publication, RpcItem, RpcWalk};

/// Field numbers of the RPC message.
mod rpc_field {
    pub(super) const SUBSCRIPTION: u32 = 1;
    pub(super) const PUBLISH: u32 = 2;
    pub(super) const CONTROL: u32 = 3;
}

/// Field numbers of a subscription.
mod subscription_field {
    pub(super) const SUBSCRIBE: u32 = 1;
    pub(super) const TOPIC: u32 = 2;
}

/// Field numbers of a published message.
mod message_field {
    pub(super) const FROM: u32 = 1;
    pub(super) const DATA: u32 = 2;
    pub(super) const SEQNO: u32 = 3;
    pub(super) const TOPIC: u32 = 4;
    pub(super) const SIGNATURE: u32 = 5;
    pub(super) const KEY: u32 = 6;
}

/// Field numbers of the control message, and of its parts. IHAVE, GRAFT and PRUNE begin with the topic; IWANT and
/// IDONTWANT with the ids.
mod control_field {
    pub(super) const IHAVE: u32 = 1;
    pub(super) const IWANT: u32 = 2;
    pub(super) const GRAFT: u32 = 3;
    pub(super) const PRUNE: u32 = 4;
    pub(super) const IDONTWANT: u32 = 5;
    pub(super) const TOPIC: u32 = 1;
    pub(super) const IHAVE_ID: u32 = 2;
    pub(super) const WANT_ID: u32 = 1;
    pub(super) const PRUNE_BACKOFF: u32 = 3;
}
