//! Writes through the page cache, which take any piece from anywhere.

use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice};
use std::os::unix::fs::FileExt;
use std::path::Path;

use bytes::Bytes;

use super::SegmentIo;

/// Shorter payloads are cheaper to copy than to name to the kernel piece by piece.
const IN_PLACE_BYTES_MIN: usize = 32 << 10;

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
    fn write(&self, block: Bytes, payload: &[u8], offset: u64) -> io::Result<()> {
        let (mut pieces, mut at) = (&mut [IoSlice::new(&block), IoSlice::new(payload)][..], offset);
        IoSlice::advance_slices(&mut pieces, 0);
        while !pieces.is_empty() {
            match rustix::io::pwritev(&self.file, pieces, at) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => {
                    at += written as u64;
                    IoSlice::advance_slices(&mut pieces, written);
                }
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn in_place_bytes_min(&self) -> usize {
        IN_PLACE_BYTES_MIN
    }
}
