//! Direct writes: past the page cache, whose pages a virtual machine has to fault in one by one, at more cost than the hash of a message.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

use bytes::BytesMut;
use levada_engine::io::{Piece, Writes};

use super::{SegmentIo, write_all};
use crate::segments::format::ALIGNMENT;

#[cfg(target_os = "linux")]
const OPEN_FLAGS: i32 = rustix::fs::OFlags::DIRECT.bits().cast_signed();
/// Other systems have no such flag; there, this is what `Buffered` is with one copy more.
#[cfg(not(target_os = "linux"))]
const OPEN_FLAGS: i32 = 0;

/// A segment written directly: by io_uring if there is a ring, else by one call after the other.
#[derive(Debug)]
pub(super) struct Direct {
    file: Arc<File>,
}

impl Direct {
    /// Creates the file and writes its first block, of [`ALIGNMENT`] bytes.
    ///
    /// # Errors
    /// Those of the system, and [`io::ErrorKind::InvalidInput`] where the file system takes no direct writes, or only larger ones.
    pub(super) fn create(path: &Path, first_block: &[u8]) -> io::Result<Self> {
        let file = OpenOptions::new().write(true).create_new(true).custom_flags(OPEN_FLAGS).open(path)?;
        if !takes_aligned_writes(&file) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mut block = BytesMut::zeroed(first_block.len() + ALIGNMENT);
        let start = block.as_ptr().addr().wrapping_neg() % ALIGNMENT;
        let block = &mut block[start..start + first_block.len()];
        block.copy_from_slice(first_block);
        file.write_all_at(block, 0)?;
        Ok(Self { file: Arc::new(file) })
    }
}

/// What the file system says of itself (`STATX_DIOALIGN`); where it says nothing, the first write tells.
#[cfg(target_os = "linux")]
fn takes_aligned_writes(file: &File) -> bool {
    use rustix::fs::{AtFlags, StatxFlags, statx};
    let told = statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN).ok();
    let told = told.filter(|told| told.stx_mask & StatxFlags::DIOALIGN.bits() != 0);
    told.is_none_or(|told| {
        [told.stx_dio_mem_align, told.stx_dio_offset_align].iter().all(|align| (1..=ALIGNMENT as u32).contains(align))
    })
}

#[cfg(not(target_os = "linux"))]
fn takes_aligned_writes(_file: &File) -> bool {
    true
}

impl SegmentIo for Direct {
    /// All pieces, their places in memory and `offset` are aligned.
    fn write<'a>(&self, pieces: &[Piece<'a>], offset: u64, writes: Option<&mut Writes<'_, 'a>>) -> io::Result<()> {
        debug_assert!(pieces.iter().all(|piece| (piece.as_ptr().addr() | piece.len()).is_multiple_of(ALIGNMENT)));
        match writes {
            Some(writes) => writes.write(&self.file, pieces.iter().cloned(), offset),
            None => write_all(&self.file, pieces, offset),
        }
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn alignment(&self) -> usize {
        ALIGNMENT
    }
}
