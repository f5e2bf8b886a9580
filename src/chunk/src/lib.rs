//! Autonomi's chunk path on Levada's engine: a chunk lies in one slot, is encoded once and goes to every recipient by
//! reference.
//!
//! * [`stages`]: what happens to a chunk, on engine topologies; fan-out as a core without input or output.
//! * [`node`]: stores chunks and gives them back, over TCP and QUIC.
//! * [`client`]: cuts files into chunks, puts each to its close group, and gets files back.
//! * [`transport`] moves messages from slots to sockets and back; [`signature`] signs and verifies them.

#![forbid(unsafe_code)]

pub mod aimd;
pub mod arena;
pub mod client;
pub mod node;
pub mod outgoing;
pub mod signature;
pub mod stages;
pub mod transport;
