//! Where there is no io_uring.

use std::fs::File;
use std::io::{ErrorKind, Result};
use std::marker::PhantomData;
use std::sync::Arc;

use super::Piece;

/// Writes on their way to files; none can be made on this system.
#[derive(Debug)]
pub enum WriteRing {}

/// The writes of a scope, of which there is none either.
#[derive(Debug)]
pub struct Writes<'ring, 'env> {
    ring: &'ring WriteRing,
    env: PhantomData<fn(&'env ()) -> &'env ()>,
}

impl WriteRing {
    /// Refuses.
    ///
    /// # Errors
    /// Always [`ErrorKind::Unsupported`].
    pub fn new(_writes_max: usize) -> Result<Self> {
        Err(ErrorKind::Unsupported.into())
    }

    /// Lets `work` write.
    pub fn scope<'env, R>(&mut self, _work: impl FnOnce(&mut Writes<'_, 'env>) -> R) -> R {
        match *self {}
    }
}

impl<'env> Writes<'_, 'env> {
    /// Writes `pieces` to `file`.
    ///
    /// # Errors
    /// None, since there is no ring.
    pub fn write(
        &mut self,
        _file: &Arc<File>,
        _pieces: impl IntoIterator<Item = Piece<'env>>,
        _offset: u64,
    ) -> Result<()> {
        match *self.ring {}
    }

    /// Waits for every write.
    ///
    /// # Errors
    /// None, since there is no ring.
    pub fn finish(&mut self) -> Result<()> {
        match *self.ring {}
    }
}
