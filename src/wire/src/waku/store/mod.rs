//! Store v3 (13/WAKU2-STORE): the query, and the page that answers it.
//!
//! A page is written around the payloads: [`Entry`] appends what stands before and behind each, so that a payload goes from where it was
//! read into the stream without a copy between.

mod request;
mod response;

pub use request::StoreRequest;
pub use response::{Entry, ReadEntry, ResponseStatus, StoreResponse, cursor_len, put_cursor};

/// The protocol id of store v3, verbatim on the wire.
pub const PROTOCOL: &str = "/vac/waku/store-query/3.0.0";
/// The longest query that is read, in bytes: a hundred hashes and a dozen of the longest topics.
pub const REQUEST_BYTES_MAX: usize = 64 * 1_024;
/// Most content topics in a query that is read.
pub const CONTENT_TOPICS_MAX: usize = 100;
/// Most message hashes in a query that is read.
pub const MESSAGE_HASHES_MAX: usize = 100;
/// Most messages in an answer that is read; no known node sends more than 100.
pub const ENTRIES_MAX: usize = 1_000;

/// The status codes of an answer.
pub mod status {
    /// The page is here, though it may be empty.
    pub const OK: u32 = 200;
    /// The archive could not answer: an unknown cursor, or a failure of its own.
    pub const BAD_RESPONSE: u32 = 300;
    /// The query could not be read.
    pub const BAD_REQUEST: u32 = 400;
    /// The peer asks too often.
    pub const TOO_MANY_REQUESTS: u32 = 429;
    /// The node cannot answer now.
    pub const SERVICE_UNAVAILABLE: u32 = 503;
}

/// The field numbers of StoreQueryRequest, StoreQueryResponse and WakuMessageKeyValue.
mod number {
    pub const REQUEST_ID: u32 = 1;
    pub const INCLUDE_DATA: u32 = 2;
    pub const PUBSUB_TOPIC: u32 = 10;
    pub const CONTENT_TOPICS: u32 = 11;
    pub const TIME_START: u32 = 12;
    pub const TIME_END: u32 = 13;
    pub const MESSAGE_HASHES: u32 = 20;
    pub const PAGINATION_CURSOR: u32 = 51;
    pub const PAGINATION_FORWARD: u32 = 52;
    pub const PAGINATION_LIMIT: u32 = 53;

    pub const STATUS_CODE: u32 = 10;
    pub const STATUS_DESC: u32 = 11;
    pub const MESSAGES: u32 = 20;

    pub const ENTRY_HASH: u32 = 1;
    pub const ENTRY_MESSAGE: u32 = 2;
    pub const ENTRY_PUBSUB_TOPIC: u32 = 3;
}
