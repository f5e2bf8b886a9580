//! What the disk takes by itself: payloads written as segments are, with the same writes and syncs, and nothing besides.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use levada_engine::io::{Piece, Writes};

use super::block::aligned;
use super::format::{ALIGNMENT, SEGMENT_HEADER_BYTES, SegmentHeader};
use super::io::{StoreIo, Way};
use super::pending::Pending;
use super::{Failure, with_suffix};
use crate::ArchiveError;
use crate::lock::folder_of;

/// What writing took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BareWrite {
    /// From the creation of the file to the last sync.
    pub elapsed: Duration,
    /// Bytes written: those of the payloads, each up to a multiple of what direct writes need.
    pub bytes: u64,
}

/// Writes `payloads` to a new file beside the archive at `path`, in the way `io`, with a sync behind each `group` of them (at least 1), and
/// removes it. Whole pages are written from where they lie; for the ends of a payload as many zeroes are. No record has a header or a
/// checksum, and nothing is indexed: an archive cannot be faster on this disk.
///
/// # Errors
/// As for [`super::SegmentArchive::open`], and those of the disk.
pub fn write_bare(path: &Path, io: StoreIo, payloads: &[&[u8]], group: usize) -> Result<BareWrite, ArchiveError> {
    let way = Way::new(io).map_err(|source| ArchiveError::IoUringRefused { source })?;
    let file = with_suffix(path, ".bare");
    // One that was left behind would be in the way.
    let _ = fs::remove_file(&file);
    let written = match &way.ring {
        Some(ring) => ring
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .scope(|writes| write(&way, &file, payloads, group, Some(writes))),
        None => write(&way, &file, payloads, group, None),
    };
    let removed = fs::remove_file(&file);
    let written = written.and_then(|written| removed.map(|()| written));
    written.map_err(|error| Failure::Segment(error).translate(&path.display().to_string()))
}

fn write<'a>(
    way: &Way,
    path: &Path,
    payloads: &[&'a [u8]],
    group: usize,
    writes: Option<&mut Writes<'_, 'a>>,
) -> io::Result<BareWrite> {
    let zeroes = zeroes();
    let started = Instant::now();
    let io = (way.create)(path, SegmentHeader::new(0))?;
    fs::File::open(folder_of(path))?.sync_all()?;
    let mut pending = Pending::new(writes);
    let mut end = SEGMENT_HEADER_BYTES;
    for payloads in payloads.chunks(group.max(1)) {
        for payload in payloads {
            let pages = whole_pages(payload, io.alignment());
            let rest = (payload.len() - pages.len()).next_multiple_of(io.alignment());
            let pieces = [Piece::Lent(pages), Piece::Kept(zeroes.slice(..rest))];
            pieces.into_iter().filter(|piece| !piece.is_empty()).for_each(|piece| pending.push(piece));
            end += (pages.len() + rest) as u64;
            if pending.is_much() {
                let bytes = pending.bytes() as u64;
                pending.write(&*io, end - bytes)?;
            }
        }
        let bytes = pending.bytes() as u64;
        pending.write(&*io, end - bytes)?;
        pending.finish()?;
        io.sync()?;
    }
    Ok(BareWrite { elapsed: started.elapsed(), bytes: end - SEGMENT_HEADER_BYTES })
}

/// As many as the two ends of a payload can have, at an address that direct writes accept.
fn zeroes() -> Bytes {
    let mut zeroes = aligned(BytesMut::with_capacity(3 * ALIGNMENT));
    zeroes.resize(2 * ALIGNMENT, 0);
    zeroes.freeze()
}

/// The part of `payload` that direct writes take from where it lies.
fn whole_pages(payload: &[u8], alignment: usize) -> &[u8] {
    let start = payload.as_ptr().addr();
    let first = start.next_multiple_of(alignment) - start;
    let end = (start + payload.len()) / alignment * alignment;
    payload.get(first..end.saturating_sub(start)).unwrap_or_default()
}
