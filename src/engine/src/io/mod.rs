//! Writing files by io_uring.

#[cfg(target_os = "linux")]
mod write_ring;
#[cfg(not(target_os = "linux"))]
#[path = "refused.rs"]
mod write_ring;

pub use write_ring::WriteRing;
