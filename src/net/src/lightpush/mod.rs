//! Lightpush (19/WAKU2-LIGHTPUSH), versions 2 and 3: a node publishes for those who do not relay.
//!
//! How a message is published is the business of a [`Publisher`]; here are the two protocols, their statuses and their texts, which are
//! nwaku's.

mod client;
mod failure;
mod server;

use bytes::Bytes;
use futures::future::BoxFuture;

pub use client::{LightpushClientError, push, push_v2};
pub use failure::PushFailure;
pub use server::serve;

/// Publishes what clients push.
pub trait Publisher: Send + Sync + 'static {
    /// Publishes a message; gives to how many relay peers it goes, at least 1.
    fn publish(&self, push: Push) -> BoxFuture<'static, Result<u32, PushFailure>>;
}

/// What a client pushes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Push {
    /// The pubsub topic; absent to have it found by the content topic (autosharding).
    pub pubsub_topic: Option<String>,
    /// The encoded WakuMessage, not yet looked into. It is published as it is.
    pub message: Bytes,
}
