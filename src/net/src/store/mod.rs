//! Store v3 (13/WAKU2-STORE): the archive of a node for its peers, and those of peers for this node.
//!
//! What is archived, and how a query finds it, is the business of a [`Pages`]; here are the protocol, its statuses and its limits.

mod answer;
mod client;
mod server;

use std::any::Any;
use std::fmt;

use bytes::Bytes;
use futures::future::BoxFuture;
use levada_wire::hash::Digest;
use levada_wire::waku::store::{StoreRequest, status};

pub use client::{ANSWER_BYTES_MAX, FetchedMessage, FetchedPage, StoreClientError, query};
pub use server::{TERMS, serve};

/// Finds pages.
pub trait Pages: Send + Sync + 'static {
    /// The page that answers a query. What it borrows must be taken over before this returns.
    fn page(&self, request: &StoreRequest<'_>) -> BoxFuture<'static, Result<StorePage, StoreFailure>>;
}

/// A page to be sent.
pub struct StorePage {
    /// The messages, ascending by time and hash.
    pub rows: Vec<StoreRow>,
    /// The cursor of the next page, if there is one.
    pub cursor: Option<Digest>,
    /// Dropped when the page has been sent, or could not be: whatever accounts for its memory.
    pub hold: Box<dyn Any + Send>,
}

impl fmt::Debug for StorePage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StorePage").field("rows", &self.rows).field("cursor", &self.cursor).finish_non_exhaustive()
    }
}

/// A message of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreRow {
    /// The deterministic message hash.
    pub hash: Digest,
    /// All else, if it was asked for.
    pub body: Option<StoreBody>,
}

/// The archived fields of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreBody {
    /// The pubsub topic it came by.
    pub pubsub_topic: String,
    /// Its content topic.
    pub content_topic: String,
    /// Its payload, which is sent from where it lies.
    pub payload: Bytes,
    /// Its version field.
    pub version: u32,
    /// Its timestamp, nanoseconds since the epoch.
    pub timestamp: i64,
    /// Its meta field.
    pub meta: Vec<u8>,
}

/// Why there is no page.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreFailure {
    /// The query is one that the archive refuses.
    #[error("BAD_RESPONSE: archive error: INVALID_QUERY: {0}")]
    Invalid(String),
    /// The archive failed on it, or does not have the message of its cursor.
    #[error("BAD_RESPONSE: archive error: DRIVER_ERROR: {0}")]
    Driver(String),
    /// Too many queries wait, or their answers hold too much memory.
    #[error("SERVICE_UNAVAILABLE")]
    Unavailable,
}

impl StoreFailure {
    /// The status on the wire.
    pub fn status_code(&self) -> u32 {
        match self {
            Self::Invalid(_) | Self::Driver(_) => status::BAD_RESPONSE,
            Self::Unavailable => status::SERVICE_UNAVAILABLE,
        }
    }
}
