//! Direct writes: past the page cache, whose pages a virtual machine has to fault in one by one, at more cost than the hash of a message.

use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use super::SegmentIo;

#[cfg(target_os = "linux")]
const OPEN_FLAGS: i32 = rustix::fs::OFlags::DIRECT.bits().cast_signed();
/// Other systems have no such flag; there, this is what `Buffered` is with one copy more.
#[cfg(not(target_os = "linux"))]
const OPEN_FLAGS: i32 = 0;

/// A segment written directly.
#[derive(Debug)]
pub(super) struct Direct {
    file: File,
}

impl Direct {
    /// Creates the file and writes its first block, which is how a file system says whether it takes direct writes at all
    /// ([`io::ErrorKind::InvalidInput`] if not).
    pub(super) fn create(path: &Path, first_block: &[u8]) -> io::Result<Self> {
        let file = OpenOptions::new().write(true).create_new(true).custom_flags(OPEN_FLAGS).open(path)?;
        file.write_all_at(first_block, 0)?;
        Ok(Self { file })
    }
}

impl SegmentIo for Direct {
    /// The pieces, their places in memory and `offset` are aligned: they come from the block.
    fn write(&self, pieces: &mut [IoSlice<'_>], offset: u64) -> io::Result<()> {
        let mut at = offset;
        for piece in pieces {
            self.file.write_all_at(piece, at)?;
            at += piece.len() as u64;
        }
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn in_place_bytes_min(&self) -> usize {
        usize::MAX
    }
}
