//! REST and metrics of the real binary, alone: no peer, no network, a fresh archive.

#![expect(clippy::print_stdout, reason = "a part that cannot run says so")]

mod archive;
mod counters;
mod failing_archive;
mod life;
mod off;
mod plain;
mod relay;
mod scrape;
#[expect(dead_code, reason = "the other tests of the binary use the rest of it")]
#[path = "../support/mod.rs"]
mod support;
