//! Finds peers of a Waku network: signed node records (31/WAKU2-ENR), discv5 (33/WAKU2-DISCV5), and trees of records in
//! the DNS (EIP-1459).
//!
//! Whatever the way it came by, a found peer is a [`Record`]: verified, and dialable where it says so.

pub mod dns;
pub mod record;
pub mod service;

pub use record::{Advertised, Capabilities, Record, RecordError, Shards};
