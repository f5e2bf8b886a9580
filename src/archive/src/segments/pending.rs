//! What a batch has handed out, and the disk was not asked to write yet.

use std::io;
use std::ops::Range;

use levada_engine::io::{Piece, Writes};

use super::format::Location;
use super::io::SegmentIo;

/// Bytes that are worth a write of their own: a disk is busy with a quarter of that, but each write costs the handing over to a thread of
/// the kernel, a request to the disk, and waking up twice.
const WRITE_BYTES_MIN: usize = 4 << 20;

/// Pieces that lie one behind the other in a segment.
pub(super) struct Pending<'r, 'q, 'a> {
    pieces: Vec<Piece<'a>>,
    bytes: usize,
    /// Without them, the pieces are written by one call after the other.
    writes: Option<&'r mut Writes<'q, 'a>>,
    /// The number of the present message in its batch.
    message: usize,
    lent: Vec<Lent>,
}

/// A part of a payload that was written from where it lies.
#[derive(Clone, Debug)]
pub(super) struct Lent {
    /// The number of the message in its batch.
    pub(super) message: usize,
    /// The part.
    pub(super) part: Range<usize>,
    /// Where it went.
    pub(super) place: Location,
}

impl<'r, 'q, 'a> Pending<'r, 'q, 'a> {
    pub(super) fn new(writes: Option<&'r mut Writes<'q, 'a>>) -> Self {
        Self { pieces: Vec::new(), bytes: 0, writes, message: 0, lent: Vec::new() }
    }

    /// Bytes of all pieces.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether it is time for a write.
    pub(super) fn is_much(&self) -> bool {
        self.bytes >= WRITE_BYTES_MIN
    }

    pub(super) fn push(&mut self, piece: Piece<'a>) {
        self.bytes += piece.len();
        self.pieces.push(piece);
    }

    /// What comes is of this message of the batch.
    pub(super) fn begin(&mut self, message: usize) {
        self.message = message;
    }

    /// `part` of the present message's payload, which goes to `place`.
    pub(super) fn lend(&mut self, payload: &'a [u8], part: Range<usize>, place: Location) {
        self.push(Piece::Lent(&payload[part.clone()]));
        self.lent.push(Lent { message: self.message, part, place });
    }

    /// All that was lent, in the order of the log.
    pub(super) fn take_lent(&mut self) -> Vec<Lent> {
        std::mem::take(&mut self.lent)
    }

    /// Writes all pieces, the first of which goes to `offset`.
    pub(super) fn write(&mut self, io: &dyn SegmentIo, offset: u64) -> io::Result<()> {
        let written = if self.bytes == 0 { Ok(()) } else { io.write(&self.pieces, offset, self.writes.as_deref_mut()) };
        self.pieces.clear();
        self.bytes = 0;
        written
    }

    /// Returns when everything is written.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        self.writes.as_deref_mut().map_or(Ok(()), Writes::finish)
    }
}
