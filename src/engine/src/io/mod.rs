//! Writing files by io_uring.

#[cfg(target_os = "linux")]
mod write_ring;
#[cfg(not(target_os = "linux"))]
#[path = "refused.rs"]
mod write_ring;

use std::ops::Deref;

use bytes::Bytes;

pub use write_ring::{WriteRing, Writes};

/// Bytes on their way to a file.
#[derive(Debug, Clone)]
pub enum Piece<'env> {
    /// Owned: kept until they are written.
    Kept(Bytes),
    /// Borrowed: they outlive the write.
    Lent(&'env [u8]),
}

impl Deref for Piece<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Kept(bytes) => bytes,
            Self::Lent(bytes) => bytes,
        }
    }
}
