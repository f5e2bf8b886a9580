//! The rules of gossipsub 1.0 to 1.2, one test each; `SPEC.md` lists which test shows which rule.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bounds;
mod fixture;
mod gossip;
mod idontwant;
mod maintenance;
mod membership;
mod mesh;
mod messages;
mod publishing;
mod random;
mod scores;
