//! How bytes reach a segment file.

mod buffered;
mod pwritev;

use std::fmt::Debug;
use std::io::{self, IoSlice};
use std::path::Path;
use std::sync::Arc;

use super::block::Block;
use super::format::SegmentHeader;
use buffered::Buffered;
use pwritev::Direct;

/// The way to write segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StoreIo {
    /// Past the page cache, from one aligned block into which every record is copied once; `Buffered` where the file system refuses that.
    #[default]
    Pwritev,
    /// Through the page cache: payloads of 32 KiB and more from where they lie, all else from the block.
    Buffered,
}

/// An open segment that is being written, always from its beginning to its end.
pub(super) trait SegmentIo: Debug + Send {
    /// Writes all of `pieces`, one behind the other, at `offset`.
    fn write(&self, pieces: &mut [IoSlice<'_>], offset: u64) -> io::Result<()>;

    /// Returns when the disk has everything written, and the length of the file.
    fn sync(&self) -> io::Result<()>;

    /// Payloads of at least so many bytes may be written from where they lie.
    fn in_place_bytes_min(&self) -> usize;
}

/// Creates segment files.
pub(super) type Create = Arc<dyn Fn(&Path, SegmentHeader, &mut Block) -> io::Result<Box<dyn SegmentIo>> + Send + Sync>;

/// Creates a segment file and writes its header by way of `block`, which is empty before and after. The name is durable when its
/// folder is synced.
pub(super) fn create(
    way: StoreIo,
    path: &Path,
    header: SegmentHeader,
    block: &mut Block,
) -> io::Result<Box<dyn SegmentIo>> {
    block.gather(&header.encode());
    let created = create_with(way, path, block.filled());
    block.clear();
    created
}

fn create_with(way: StoreIo, path: &Path, first_block: &[u8]) -> io::Result<Box<dyn SegmentIo>> {
    if way == StoreIo::Pwritev {
        match Direct::create(path, first_block) {
            Ok(direct) => return Ok(Box::new(direct)),
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {}
            Err(error) => return Err(error),
        }
    }
    let buffered = Buffered::create(path)?;
    buffered.write(&mut [IoSlice::new(first_block)], 0)?;
    Ok(Box::new(buffered))
}
