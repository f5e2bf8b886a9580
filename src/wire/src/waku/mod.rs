//! Waku messages: walk, encoder, topics, sharding, the per-message record, and what the service protocols ask and answer.

mod encode;
mod fields;
pub mod filter;
pub mod lightpush;
pub mod message;
pub mod metadata;
pub mod peer_exchange;
mod record;
pub mod sharding;
pub mod store;
mod topic_rows;
mod topic_table;
pub mod topics;

pub use crate::Span;
pub use message::{Message, MessageSpans};
pub use record::{Origin, RejectReason, Verdict, WakuRecord};
pub use topic_rows::{TopicCounts, TopicRows};
pub use topic_table::{TOPIC_BYTES_MAX, TopicTable};
