//! A gossipsub router (1.0 to 1.2) for Waku relay without input or output: no clock, no socket, no thread. Events and the time go
//! in, actions come out, so that a whole network of routers runs in one test, seeded and repeatable.
//!
//! The router never sees a payload. It keeps an id, a topic, a length and a handle of the caller's, such as a share of an arena
//! slot, and drops the handle when the message is no longer needed.
//!
//! * A message: [`Router::received`], then [`Router::verdict`]; an own one: [`Router::publish`].
//! * Control: [`Router::subscription`], [`Router::graft`], [`Router::prune`], [`Router::ihave`], [`Router::iwant`],
//!   [`Router::idontwant`]; peers: [`Router::connected`], [`Router::disconnected`]; topics: [`Router::join`], [`Router::leave`].
//! * Once a second: [`Router::heartbeat`].
//!
//! # Memory
//!
//! Nothing grows without bound. With the default [`Limits`] the most that all parts can hold, payloads aside:
//!
//! | part | bound | bytes at most |
//! |---|---|---|
//! | peers | 512 | 0.2 MB |
//! | topics of peers | 1 024 a peer; 4 096 names of 256 bytes in all | 6 MB of subscriptions, 3 MB of names |
//! | scores of peers | one record per peer and joined topic | 37 MB with 1 024 topics joined, 0.3 MB with 8 |
//! | backoffs | one per peer and joined topic | 8 MB, 0.1 MB with 8 |
//! | ids that peers do not want | 1 000 a heartbeat and peer, for 3 heartbeats | 75 kB a peer, 38 MB |
//! | promises and askings | 30 promises a peer, 65 536 askings | 7 MB |
//! | standing of peers that left | 4 096 | 6 MB |
//! | seen ids | 262 144, unless the set is shared | 25 MB |
//! | messages awaiting a verdict | 8 192, and 64 MiB of payloads | 1 MB, and 8 bytes per sender of each |
//! | message cache | 64 MiB, payloads included | 64 MiB |
//! | ids in hand during one heartbeat | the announceable part of the message cache | 9 MB |
//!
//! Hostile peers reach the larger figures one connection at a time, and lose them with it.

#![deny(unsafe_code)]

mod action;
mod backoff;
mod config;
mod counters;
mod dontwant;
mod error;
mod fanout;
mod gossip;
mod heartbeat;
mod idontwant;
mod index;
mod maintain;
mod mcache;
mod mesh;
mod peer;
mod pending;
mod promises;
mod publish;
mod receive;
mod retained;
mod rng;
mod router;
mod score;
mod seen;
mod size;
mod subscriptions;
mod time;
mod topics;

pub use action::{Action, Actions, IdSpan, Message, PeerSpan, Reason};
pub use config::{Config, GossipParams, Limits, MeshDegrees, MeshParams, Thresholds};
pub use counters::Counters;
pub use error::{ConfigError, ConnectError, JoinError, PublishError};
pub use index::{MessageId, PeerIndex, PeerKey, TopicIndex};
pub use peer::{PeerInfo, Protocol};
pub use receive::{Incoming, Received, Refusal, Verdict};
pub use rng::Rng;
pub use router::{Router, Usage};
pub use score::{ScoreParams, TopicScoreParams};
pub use seen::SEEN_MARKS;
pub use size::message_bytes_max;
pub use subscriptions::Subscribed;
pub use time::Moment;
