//! Peer exchange (34/WAKU2-PEER-EXCHANGE): the records of nodes for peers that know none.
//!
//! Records are passed on as they are: a node's signature is over its bytes. Who puts one into the book has verified it.

mod book;
mod client;
mod server;

pub use book::{RECORDS_MAX, RecordBook};
pub use client::{PeerExchangeClientError, ask};
pub use server::serve;
