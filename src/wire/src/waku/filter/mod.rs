//! Filter (12/WAKU2-FILTER): a light client says what it wants, and a service node pushes it.

mod push;
mod request;
mod response;

pub use push::{MessagePush, PUSH_HEADER_BYTES_MAX, PushHeader, push_trailer};
pub use request::{FilterSubscribeRequest, FilterSubscribeType};
pub use response::{FilterSubscribeResponse, status};

/// The protocol id by which a client subscribes, verbatim on the wire.
pub const SUBSCRIBE_PROTOCOL: &str = "/vac/waku/filter-subscribe/2.0.0-beta1";
/// The protocol id by which the service node pushes, verbatim on the wire.
pub const PUSH_PROTOCOL: &str = "/vac/waku/filter-push/2.0.0-beta1";

/// Most content topics of one request.
pub const CONTENT_TOPICS_MAX: usize = 100;
/// The longest content topic that a request may name, in bytes.
pub const CONTENT_TOPIC_BYTES_MAX: usize = 1_024;
/// The longest request that is read, in bytes: [`CONTENT_TOPICS_MAX`] of the longest content topics, and some more. (nwaku reads ten times
/// as much, of which it can serve no more.)
pub const REQUEST_BYTES_MAX: usize = 128 * 1_024;
/// The longest response that is read, in bytes, as nwaku reads it.
pub const RESPONSE_BYTES_MAX: usize = 64 * 1_024;
/// The longest push that is read, in bytes, as nwaku reads it.
pub const PUSH_BYTES_MAX: usize = 10 * 150 * 1_024 + 64 * 1_024;
