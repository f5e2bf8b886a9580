//! Nodes of chunks and their clients, over loopback.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod cluster;
mod faults;
mod node;
mod odd_peer;
mod round_trips;
mod start;
mod stops;
