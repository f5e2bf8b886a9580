//! What a node has acknowledged survives it: killed or stopped in the middle of a storm of publications, and started
//! again on the same file, it still has every message that a publisher was told "OK" for, once.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::print_stdout, reason = "the counts of a run are its result")]

mod kill;
mod stop;
mod storm;
#[expect(dead_code, reason = "the other tests of the binary use the rest of it")]
#[path = "../support/mod.rs"]
mod support;
