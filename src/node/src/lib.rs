//! Levada: a Waku service node on a lock-free dataflow engine.
//!
//! * [`cli`] and [`config`] read what the operator wants.
//! * [`topology`] draws the path of a message through the stages.
//! * [`node`] joins that path with the network ([`levada_net`]), the archive, and the [`rest`] and [`metrics`] servers.

#![forbid(unsafe_code)]

pub mod bench;
pub mod bench_macro;
pub mod cli;
pub mod config;
pub mod metrics;
pub mod node;
pub mod rest;
pub mod run;
pub mod topology;
