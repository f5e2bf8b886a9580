//! The command line of the real binary: what it prints, how it is configured, and how it refuses to start.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::print_stdout, reason = "a measurement is the result of its test")]

mod bench_macro;
mod client;
mod faults;
mod generate;
mod idle;
mod logs;
mod nwaku;
mod ports;
mod precedence;
mod protected;
mod start;
#[expect(dead_code, reason = "the other tests of the binary use the rest of it")]
#[path = "../support/mod.rs"]
mod support;
mod texts;
