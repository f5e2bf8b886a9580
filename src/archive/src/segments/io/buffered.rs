//! Writes through the page cache, which take any piece from anywhere.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use levada_engine::io::{Piece, Writes};

use super::{SegmentIo, write_all};

/// A segment written through the page cache.
#[derive(Debug)]
pub(super) struct Buffered {
    file: File,
}

impl Buffered {
    /// Creates the file, or empties what a refused direct write left of it, and writes its first block.
    pub(super) fn create(path: &Path, first_block: &[u8]) -> io::Result<Self> {
        let file = OpenOptions::new().write(true).create(true).truncate(true).open(path)?;
        file.write_all_at(first_block, 0)?;
        Ok(Self { file })
    }
}

impl SegmentIo for Buffered {
    fn write<'a>(&self, pieces: &[Piece<'a>], offset: u64, _writes: Option<&mut Writes<'_, 'a>>) -> io::Result<()> {
        write_all(&self.file, pieces, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn alignment(&self) -> usize {
        1
    }
}
