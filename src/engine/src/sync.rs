//! The atomics the lock-free parts are written with: the standard ones, or when a model runs loom's, which can be told to
//! forget an ordering.

#[cfg(loom)]
mod modelled;
#[cfg(loom)]
pub mod weaken;

#[cfg(loom)]
pub use modelled::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, fence};
#[cfg(not(any(loom, shuttle)))]
pub use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, fence};

#[cfg(loom)]
pub use loom::sync::Arc;
#[cfg(not(any(loom, shuttle)))]
pub use std::sync::Arc;

#[cfg(not(any(loom, shuttle)))]
pub use std::hint::spin_loop as pause;

/// Sleeping: a token that is left for a thread before it sleeps keeps it awake once.
#[cfg(not(any(loom, shuttle)))]
pub use std::thread::{Thread, current as current_thread, park_timeout, yield_now};

#[cfg(loom)]
pub use loom::thread::{Thread, current as current_thread, yield_now};

/// Schedules drawn at random, of more threads than loom can go through: every operation is a chance for another thread.
#[cfg(shuttle)]
pub use shuttle::{
    hint::spin_loop as pause,
    sync::Arc,
    sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, fence},
    thread::{Thread, current as current_thread, park_timeout, yield_now},
};

/// A pause changes nothing that a model could see.
#[cfg(loom)]
pub fn pause() {}

/// A model has no clock: whoever is not woken sleeps for ever, and the model fails.
#[cfg(loom)]
pub fn park_timeout(_limit: std::time::Duration) {
    loom::thread::park();
}
