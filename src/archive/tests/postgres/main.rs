//! PostgreSQL archives: several nodes on one database, a database that goes away and comes back, and whole partitions dropped. What every
//! archive must do is in the conformance suite.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod nodes;
mod nwaku;
mod outage;
mod sample;
#[expect(dead_code, reason = "the comparisons have this file too, and ask more of it")]
mod server;
mod tls;
