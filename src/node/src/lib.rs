//! Levada: a Waku service node on a lock-free dataflow engine.
//!
//! * [`cli`] and [`config`] read what the operator wants.
//! * [`topology`] draws the path of a message through the stages.
//! * [`archive`] runs `levada archive`: looking after an archive that no node has open.
//! * [`client`] runs `levada keys`, `peers`, `query`, `publish` and `subscribe`: what a node is asked as its clients ask it.
//! * [`chunk`] runs `levada chunk`: a node of chunks, and files to and from such nodes.
//! * [`node`] joins that path with the network ([`levada_net`]), the archive, and the [`rest`] and [`metrics`] servers.

#![forbid(unsafe_code)]

pub mod archive;
pub mod bench;
pub mod bench_macro;
pub mod bench_service;
pub mod bench_surface;
pub mod chunk;
pub mod cli;
pub mod client;
pub mod config;
pub mod metrics;
pub mod node;
pub mod rest;
pub mod run;
pub mod topology;
