//! Whole networks of routers over a simulated network, in one thread and from one seed.
//!
//! By default a small set runs. `LEVADA_DEEP=1` runs 100 nodes and up to 10 000 messages with more seeds; use `--release` then. A
//! failure prints the line that repeats it; `LEVADA_SIM_SEED` runs one seed only.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod attacks;
mod delivery;
mod faults;
mod floods;
mod hostile;
mod network;
mod repeat;
mod run;
