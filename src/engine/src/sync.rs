//! The atomics the lock-free parts are written with: the standard ones, or loom's when a model runs.

#[cfg(loom)]
pub use loom::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, fence};
#[cfg(not(loom))]
pub use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, fence};

#[cfg(loom)]
pub use loom::sync::Arc;
#[cfg(not(loom))]
pub use std::sync::Arc;

#[cfg(not(loom))]
pub use std::hint::spin_loop as pause;

/// A pause changes nothing that a model could see.
#[cfg(loom)]
pub fn pause() {}
