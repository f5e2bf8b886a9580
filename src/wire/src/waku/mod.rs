//! Waku messages: walk, encoder, topics, sharding, metadata, and the per-message record.

mod encode;
pub mod message;
pub mod metadata;
mod record;
pub mod sharding;
mod topic_table;
pub mod topics;

pub use crate::Span;
pub use message::{Message, MessageSpans};
pub use record::{Origin, RejectReason, Verdict, WakuRecord};
pub use topic_table::{TOPIC_BYTES_MAX, TopicTable};
