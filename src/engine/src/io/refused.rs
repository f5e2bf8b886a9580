//! Where there is no io_uring.

use std::fs::File;
use std::io::{ErrorKind, Result};
use std::sync::Arc;

use bytes::Bytes;

/// Writes on their way to files; none can be made on this system.
#[derive(Debug)]
pub enum WriteRing {}

impl WriteRing {
    /// Refuses.
    ///
    /// # Errors
    /// Always [`ErrorKind::Unsupported`].
    pub fn new(_writes_max: usize) -> Result<Self> {
        Err(ErrorKind::Unsupported.into())
    }

    /// Writes `bytes` to `file`.
    ///
    /// # Errors
    /// None, since there is no ring.
    pub fn write(&mut self, _file: &Arc<File>, _bytes: Bytes, _offset: u64) -> Result<()> {
        match *self {}
    }

    /// Waits for every write.
    ///
    /// # Errors
    /// None, since there is no ring.
    pub fn finish(&mut self) -> Result<()> {
        match *self {}
    }
}
