//! The benchmark harness: one workload generator, and the scenarios `levada bench` runs on it.

#![forbid(unsafe_code)]

mod bound;
pub mod chunk;
pub mod hash;
pub mod machine;
pub mod median;
pub mod micro;
pub mod render;
mod slots;
pub mod workload;
