//! The benchmark harness: one workload generator, and the scenarios `levada bench` runs on it.

#![forbid(unsafe_code)]

pub mod micro;
pub mod workload;
