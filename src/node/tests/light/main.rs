//! What light clients are served by the real binary: store and lightpush, asked by another node's network over loopback; and what the
//! binary asks as a client itself.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking, and a part that cannot run says so"
)]

mod across;
mod client;
mod filter;
mod filter_client;
mod hostile;
mod lightpush;
mod peers;
mod resume;
mod secure;
mod store;
#[expect(dead_code, reason = "the other tests of the binary use the rest of it")]
#[path = "../support/mod.rs"]
mod support;
