//! Wire formats without input or output: every function takes bytes and gives back spans, values or typed errors.
//!
//! * [`waku`]: the WakuMessage walk and encoder, topics, sharding, metadata, and the record the engine carries per message.
//! * [`gossipsub`]: the walk over a gossipsub RPC frame, the reader of a stream of them, and the frames this node writes.
//! * [`mux`] and [`noise`]: the frames of yamux and mplex, and the payload of libp2p's Noise handshake.
//! * [`hash`]: the only place that computes SHA-256, one message or many side by side, and counts it.
//! * [`autonomi`]: Autonomi's chunk protocol, encoded around the payload and decoded in place.
//! * [`varint`]: unsigned varints and the length prefix in front of every libp2p message.
//!
//! Nothing here reads a clock, opens a socket or starts a thread. No input makes it panic, and no input makes it allocate
//! more than a documented limit.

#![deny(unsafe_code)]

pub mod autonomi;
pub mod error;
pub mod gossipsub;
pub mod hash;
pub mod mux;
pub mod noise;
mod proto;
mod span;
pub mod varint;
pub mod waku;

pub use span::Span;
