//! Levada's engine: bounded lock-free rings, a slab arena, stages, topologies and pinned workers.
//!
//! An [`Arena`] lends out payload slots by move-only handles. A topology drawn with [`TopologyBuilder`] places
//! [`Stage`]s on workers and joins them by links; links carry envelope indices, never payloads. Nothing allocates per
//! envelope once a topology runs, and nothing here knows a protocol or an async runtime.
//!
//! Beside them stand what stages of many users need: [`ring`], the rings by themselves; [`seen`], a set of keys seen lately that
//! threads share; [`mod@copy`], how payloads are copied; [`io::WriteRing`], writes of several pieces to a file by io_uring, straight
//! from slots; [`heap`], an allocator that counts.

mod affinity;
pub mod arena;
mod barrier;
mod batch;
mod cell;
pub mod copy;
mod cores;
mod counters;
mod ends;
mod error;
pub mod heap;
mod histogram;
pub mod io;
mod lane;
mod link;
mod orders;
mod outputs;
mod queue;
pub mod ring;
pub mod seen;
mod stage;
mod stats;
mod suspects;
#[cfg(not(loom))]
mod sync;
#[cfg(loom)]
pub mod sync;
mod time;
mod topology;
mod wait;
mod worker;

pub use affinity::{Affinity, Place};
pub use arena::{
    Arena, ArenaConfig, Claims, ClassConfig, ClassUsage, Envelope, Held, HeldUnique, HugePages, Record, Unique,
};
pub use batch::{Batch, BatchLimit, Peek, View};
pub use cores::{Cores, usable_cores};
pub use counters::{Counter, PAYLOAD_COPIED_BYTES, PAYLOAD_COPIES, count_copy};
pub use ends::{PushError, Sink, Source};
pub use error::{AffinityError, ArenaError, ClaimError};
pub use histogram::{Histogram, Observed, Steps};
pub use link::{LinkConfig, Policy};
pub use outputs::Outputs;
pub use stage::{OnPanic, Stage};
pub use stats::{LinkStats, StageStats};
pub use time::{Regime, TimeSplit, WorkerStats};
pub use topology::{
    Drained, Invoker, LinkId, Placement, Running, StageId, Started, Topology, TopologyBuilder, TopologyError,
    TopologyStats, WorkerId,
};
pub use wait::{SleepFlag, Wait, Waker};
