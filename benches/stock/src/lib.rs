//! rust-libp2p's gossipsub configured as Waku relay, and as the relay of a node: what the node's own router is compared with, in
//! benches and in tests. No product depends on it.

mod gossipsub;
mod known_id;
mod relay;
mod topics;

pub use gossipsub::{Gossipsub, gossipsub};
pub use relay::{StockRelay, start};
pub use topics::ClusterTopics;
