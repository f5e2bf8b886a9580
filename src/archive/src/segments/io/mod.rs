//! How bytes reach a segment file.

mod buffered;
mod direct;

use std::fmt;
use std::fs::File;
use std::io::{self, IoSlice};
use std::path::Path;
use std::str::FromStr;
use std::sync::{Arc, Mutex};

use levada_engine::io::{Piece, WriteRing, Writes};

use super::format::{ALIGNMENT, SegmentHeader};
use buffered::Buffered;
use direct::Direct;

/// Writes on their way to the disk at once: one is written while the next is handed over.
const WRITES_MAX: usize = 2;

/// The way to write segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StoreIo {
    /// `Uring` where the system grants it, else `Pwritev`.
    #[default]
    Auto,
    /// Past the page cache by io_uring, so that one write is prepared while others are on their way.
    Uring,
    /// Past the page cache, one write after the other.
    Pwritev,
    /// Through the page cache.
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
    /// Writes `pieces`, one behind the other, at `offset`, by way of `writes` if they are there. So it may be under way for some time, and
    /// an error may be told by a later call.
    fn write<'a>(&self, pieces: &[Piece<'a>], offset: u64, writes: Option<&mut Writes<'_, 'a>>) -> io::Result<()>;

    /// Returns when the disk has everything whose writing is finished, and the length of the file.
    fn sync(&self) -> io::Result<()>;

    /// Pieces of memory, their lengths and their places in the file are to be multiples of this.
    fn alignment(&self) -> usize;
}

/// Creates segment files, each with this first block. Its name is durable when its folder is synced.
pub(super) type Create = Arc<dyn Fn(&Path, SegmentHeader) -> io::Result<Box<dyn SegmentIo>> + Send + Sync>;

/// The way to write, once it is known what the system grants.
#[derive(Clone)]
pub(super) struct Way {
    pub(super) create: Create,
    /// Shared by all that is written in this way.
    pub(super) ring: Option<Arc<Mutex<WriteRing>>>,
    /// That of most segments: whether a file system takes direct writes is found for each file.
    pub(super) alignment: usize,
}

impl Way {
    /// # Errors
    /// The system's refusal of io_uring, if nothing else would do.
    pub(super) fn new(io: StoreIo) -> io::Result<Self> {
        let ring = match io {
            StoreIo::Auto => WriteRing::new(WRITES_MAX)
                .inspect_err(
                    |error| tracing::info!(%error, "io_uring is refused, so the archive is written by pwritev"),
                )
                .ok(),
            StoreIo::Uring => Some(WriteRing::new(WRITES_MAX)?),
            StoreIo::Pwritev | StoreIo::Buffered => None,
        };
        let create = Arc::new(move |path: &Path, header: SegmentHeader| create(io, path, &header.encode()));
        let alignment = if io == StoreIo::Buffered { 1 } else { ALIGNMENT };
        Ok(Self { create, ring: ring.map(|ring| Arc::new(Mutex::new(ring))), alignment })
    }
}

fn create(io: StoreIo, path: &Path, first_block: &[u8]) -> io::Result<Box<dyn SegmentIo>> {
    if io != StoreIo::Buffered {
        match Direct::create(path, first_block) {
            Ok(direct) => return Ok(Box::new(direct)),
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Box::new(Buffered::create(path, first_block)?))
}

/// Writes all of `pieces`, one behind the other, at `offset`.
fn write_all(file: &File, pieces: &[Piece<'_>], offset: u64) -> io::Result<()> {
    let mut slices: Vec<IoSlice<'_>> = pieces.iter().map(|piece| IoSlice::new(piece)).collect();
    let (mut rest, mut at) = (slices.as_mut_slice(), offset);
    IoSlice::advance_slices(&mut rest, 0);
    while !rest.is_empty() {
        match rustix::io::pwritev(file, rest, at) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => {
                at += written as u64;
                IoSlice::advance_slices(&mut rest, written);
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
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
