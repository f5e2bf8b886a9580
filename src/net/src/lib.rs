//! The network of a Waku node: libp2p transports and identity, identify, ping, metadata (66/WAKU2-METADATA) and relay (11/WAKU2-RELAY),
//! and what light clients ask for: [`store`], [`lightpush`] and [`peer_exchange`], over one [`exchange`] of requests and answers.
//!
//! One task runs the whole of it ([`NetTask`]); everything else talks to that task through bounded channels ([`NetHandle`]).
//! Messages of the relay lie in slots of the receiver's arena and go to an [`Inbound`], which may say that it is full: what brought the
//! message is then not read, and the pressure reaches the peer through its stream window. What was handed over is forwarded only after
//! a [`Verdict::Accept`].
//!
//! Nothing here decodes a WakuMessage.

mod behaviour;
mod census;
mod colocation;
mod config;
pub mod counters;
mod dialler;
mod error;
mod events;
pub mod exchange;
pub mod filter;
mod handle;
mod inbound;
mod key;
mod known;
pub mod lightpush;
mod lookout;
mod metadata;
pub mod peer_exchange;
mod peer_file;
mod peers;
pub mod relay;
mod relay_share;
mod service;
mod shards;
mod single;
mod stall;
mod start;
pub mod store;
mod streams;
mod transport;
mod witness;
mod workers;

pub use census::{Census, ConnectError, Origin, PROTOCOLS, PeerRecord, Reach, TopicPeers};
pub use config::{NetConfig, peer_address};
pub use error::{AddressError, NetError, NodeKeyError, PublishError, ReportError, SubscribeError};
pub use exchange::Exchange;
pub use handle::NetHandle;
pub use inbound::{Inbound, Refused, Verdict};
pub use key::NodeKey;
pub use levada_router::{MeshDegrees, SEEN_MARKS};
pub use libp2p::swarm::ConnectionId;
pub use libp2p::{Multiaddr, PeerId, multiaddr};
pub use metadata::PROTOCOL as METADATA_PROTOCOL;
pub use peers::{Direction, PeerHandle, PeerInfo};
pub use relay::PROTOCOL as RELAY_PROTOCOL;
pub use start::{NetTask, start, start_with};
pub use streams::open_streams;
pub use transport::error::TransportError;
pub use transport::{TlsError, TlsFiles, TransportKind, UnknownTransport, build as build_transport};
