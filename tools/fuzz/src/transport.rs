//! The transport of levada-net without the rest of that crate, which would have all of libp2p built with the fuzzer's instrumentation.

#[path = "../../../src/net/src/transport/by_hand.rs"]
mod by_hand;
#[path = "../../../src/net/src/transport/counters.rs"]
#[expect(dead_code, reason = "what is outside of these modules is counted elsewhere")]
mod counters;
#[path = "../../../src/net/src/transport/error.rs"]
mod error;
#[path = "../../../src/net/src/transport/fuzzing.rs"]
pub mod fuzzing;
#[path = "../../../src/net/src/transport/mux/mod.rs"]
mod mux;
#[path = "../../../src/net/src/transport/noise/mod.rs"]
#[expect(dead_code, reason = "what the negotiation of a muxer asks for, no target does")]
mod noise;
