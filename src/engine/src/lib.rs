//! Levada's engine: bounded lock-free rings, a slab arena, stages, topologies and pinned workers.
//!
//! An [`Arena`] lends out payload slots by move-only handles. A topology drawn with [`TopologyBuilder`] places
//! [`Stage`]s on workers and joins them by links; links carry envelope indices, never payloads. Nothing allocates per
//! envelope once a topology runs, and nothing here knows a protocol or an async runtime.

pub mod arena;
mod batch;
mod cores;
mod counters;
mod ends;
mod error;
pub mod heap;
mod link;
mod outputs;
pub mod ring;
mod stage;
mod stats;
mod sync;
mod topology;
mod wait;
mod worker;

pub use arena::{Arena, ArenaConfig, ClassConfig, ClassUsage, Envelope, Held, Record, Unique};
pub use batch::{Batch, BatchLimit, Peek, View};
pub use cores::usable_cores;
pub use counters::{Counter, PAYLOAD_COPIED_BYTES, PAYLOAD_COPIES, count_copy};
pub use ends::{PushError, Sink, Source};
pub use error::{ArenaError, ClaimError};
pub use link::{LinkConfig, LinkStats, Policy};
pub use outputs::Outputs;
pub use stage::{OnPanic, Stage};
pub use stats::{Regime, StageStats, WorkerStats};
pub use topology::{
    Drained, Invoker, Running, StageId, Topology, TopologyBuilder, TopologyError, TopologyStats, WorkerId,
};
pub use wait::{SleepFlag, Wait, Waker};
