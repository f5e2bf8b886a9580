//! Lightpush (19/WAKU2-LIGHTPUSH): a message that a light client has a node publish. Version 3 is the present one; version 2 is what
//! go-waku and older js-waku applications speak.
//!
//! The message stays encoded: it is published as its author wrote it.

mod v2;
mod v3;

pub use v2::{PushRequest, PushResponse, PushResult};
pub use v3::{LightpushRequest, LightpushResponse};

/// The protocol id of version 2, verbatim on the wire.
pub const PROTOCOL_V2: &str = "/vac/waku/lightpush/2.0.0-beta1";
/// The protocol id of version 3, verbatim on the wire.
pub const PROTOCOL_V3: &str = "/vac/waku/lightpush/3.0.0";
/// What a request may add to the bytes of its message: the request id, the pubsub topic and keys.
pub const OVERHEAD_BYTES_MAX: usize = 2 * 1_024;
/// The longest response that is read, in bytes.
pub const RESPONSE_BYTES_MAX: usize = 16 * 1_024;

/// The status codes of version 3. Where nwaku and the specification differ these are nwaku's, which js-waku knows by name.
pub mod status {
    /// Published to as many peers as the response says.
    pub const SUCCESS: u32 = 200;
    /// The request could not be read, or its pubsub topic is empty.
    pub const BAD_REQUEST: u32 = 400;
    /// The message is too large; nwaku says [`INVALID_MESSAGE`] instead.
    pub const PAYLOAD_TOO_LARGE: u32 = 413;
    /// The message was refused: by a validator, for its size, for want of a pubsub topic, or because it was published before.
    pub const INVALID_MESSAGE: u32 = 420;
    /// The node does not take part in the pubsub topic.
    pub const UNSUPPORTED_PUBSUB_TOPIC: u32 = 421;
    /// The peer asks too often.
    pub const TOO_MANY_REQUESTS: u32 = 429;
    /// The node failed.
    pub const INTERNAL_SERVER_ERROR: u32 = 500;
    /// The node cannot publish now.
    pub const SERVICE_NOT_AVAILABLE: u32 = 503;
    /// The node could make no rate-limit proof.
    pub const OUT_OF_RLN_PROOF: u32 = 504;
    /// No relay peer is there for the topic.
    pub const NO_PEERS_TO_RELAY: u32 = 505;
}
