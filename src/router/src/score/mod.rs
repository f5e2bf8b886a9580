//! How a peer's behaviour becomes a number (gossipsub 1.1, "The Score Function").

mod params;
mod peer;
mod topic;

pub use params::{ScoreParams, TopicScoreParams};
pub(crate) use peer::PeerScore;
