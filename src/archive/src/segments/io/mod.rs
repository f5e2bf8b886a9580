//! How bytes reach a segment file.

mod buffered;
mod direct;

use std::fmt;
use std::io;
use std::path::Path;
use std::str::FromStr;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use levada_engine::io::WriteRing;

use super::format::SegmentHeader;
use buffered::Buffered;
use direct::Direct;

/// Blocks on their way to the disk at once.
const WRITES_MAX: usize = 4;

/// The way to write segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StoreIo {
    /// `Uring` where the system grants it, else `Pwritev`.
    #[default]
    Auto,
    /// Past the page cache by io_uring, so that a block is filled while others are on their way.
    Uring,
    /// Past the page cache, one block after the other.
    Pwritev,
    /// Through the page cache: payloads of 32 KiB and more from where they lie, all else from a block.
    Buffered,
}

impl StoreIo {
    /// The words for them, in the order of their declaration.
    pub const NAMES: &'static [&'static str] = &["auto", "uring", "pwritev", "buffered"];

    const ALL: [Self; 4] = [Self::Auto, Self::Uring, Self::Pwritev, Self::Buffered];
}

impl fmt::Display for StoreIo {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(Self::NAMES[*self as usize])
    }
}

/// A word that names no way to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the way to write the archive is unknown; use auto, uring, pwritev or buffered")]
pub struct StoreIoError;

impl FromStr for StoreIo {
    type Err = StoreIoError;

    fn from_str(word: &str) -> Result<Self, StoreIoError> {
        let position = Self::NAMES.iter().position(|name| name.eq_ignore_ascii_case(word));
        position.map(|position| Self::ALL[position]).ok_or(StoreIoError)
    }
}

/// An open segment that is being written, always from its beginning to its end.
pub(super) trait SegmentIo: fmt::Debug + Send {
    /// Writes `block` at `offset`, and `payload` behind it, which is empty unless [`Self::in_place_bytes_min`] allows one. It may be
    /// under way for some time: an error may be told by a later call.
    fn write(&self, block: Bytes, payload: &[u8], offset: u64) -> io::Result<()>;

    /// Returns when the disk has everything written, and the length of the file.
    fn sync(&self) -> io::Result<()>;

    /// Payloads of at least so many bytes may be written from where they lie.
    fn in_place_bytes_min(&self) -> usize;
}

/// Creates segment files, each with this first block. Its name is durable when its folder is synced.
pub(super) type Create = Arc<dyn Fn(&Path, SegmentHeader) -> io::Result<Box<dyn SegmentIo>> + Send + Sync>;

/// What creates segment files that are written in this way. Whether a file system takes direct writes is found for each file.
///
/// # Errors
/// The system's refusal of io_uring, if nothing else would do.
pub(super) fn creator(way: StoreIo) -> io::Result<Create> {
    let ring = match way {
        StoreIo::Auto => WriteRing::new(WRITES_MAX)
            .inspect_err(|error| tracing::info!(%error, "io_uring is refused, so the archive is written by pwritev"))
            .ok(),
        StoreIo::Uring => Some(WriteRing::new(WRITES_MAX)?),
        StoreIo::Pwritev | StoreIo::Buffered => None,
    };
    let ring = ring.map(|ring| Arc::new(Mutex::new(ring)));
    Ok(Arc::new(move |path: &Path, header: SegmentHeader| create(way, ring.as_ref(), path, &header.encode())))
}

fn create(
    way: StoreIo,
    ring: Option<&Arc<Mutex<WriteRing>>>,
    path: &Path,
    first_block: &[u8],
) -> io::Result<Box<dyn SegmentIo>> {
    if way != StoreIo::Buffered {
        match Direct::create(path, first_block, ring.cloned()) {
            Ok(direct) => return Ok(Box::new(direct)),
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Box::new(Buffered::create(path, first_block)?))
}

#[cfg(test)]
mod tests {
    use super::StoreIo;

    #[test]
    fn words_name_what_they_say() {
        for (name, way) in StoreIo::NAMES.iter().zip(StoreIo::ALL) {
            assert_eq!((way.to_string().as_str(), name.to_uppercase().parse()), (*name, Ok(way)));
        }
        assert!("io_uring".parse::<StoreIo>().is_err() && "".parse::<StoreIo>().is_err());
    }
}
