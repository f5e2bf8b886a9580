//! Every stage by itself, beside what one would take in its place: a plain call over ordinary vectors, or a library.
//!
//! A stage stands alone in a topology that the bench turns. The line `empty_stage` is a stage in the same place that only
//! passes on: what the engine takes for bringing messages in and out. What a stage itself takes is the difference.

mod answer;
mod archive;
mod backlog;
mod decode;
mod event;
mod filter;
mod hash;
mod relay;
mod seen;
mod shared_lanes;
mod sync;
mod through;
mod trace;
mod validate;

#[path = "../shared/comparison.rs"]
mod comparison;
#[path = "../shared/prost_message.rs"]
mod prost_message;
#[path = "../shared/repeat.rs"]
mod repeat;

use criterion::{criterion_group, criterion_main};

criterion_group!(
    benches,
    hash::id_hash,
    seen::seen,
    decode::decode,
    validate::validate,
    hash::message_hash,
    shared_lanes::shared_lanes,
    relay::relay,
    trace::trace,
    filter::filter,
    event::event,
    backlog::backlog,
    archive::archive,
    sync::stage,
    sync::index,
    sync::ranges,
    answer::answer,
);
criterion_main!(benches);
