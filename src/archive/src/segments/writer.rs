//! The log's end: which segment records go to, and whether a batch is kept or abandoned.
//!
//! A segment is written by one run of the process, from its beginning to its end, and no byte of it twice: what is acknowledged is never
//! touched again. A batch that fails is cut off its segment, and the next one starts a new segment.

use std::fs::{self, OpenOptions};
use std::io;
use std::sync::Arc;

use super::block::Blocks;
use super::files::SegmentFiles;
use super::format::{Layout, Location, SEGMENT_HEADER_BYTES, SegmentHeader};
use super::io::Create;
use super::pending::Pending;
use super::tail::{Extent, Tail};
use crate::ArchiveMessage;

/// A batch that is taken back unless it was kept, be it an error or a panic that ends it.
pub(super) struct Batch<'w, 'r, 'q, 'a> {
    pub(super) writer: &'w mut Writer,
    pub(super) pending: Pending<'r, 'q, 'a>,
}

impl Drop for Batch<'_, '_, '_, '_> {
    fn drop(&mut self) {
        if self.writer.extents().next().is_some() {
            // Whoever cuts or removes the file must not be overtaken by a write. Its error belongs to what is given up.
            let _ = self.pending.finish();
            self.writer.abandon();
        }
    }
}

/// The writer of an archive's segments.
pub(super) struct Writer {
    files: Arc<SegmentFiles>,
    create: Create,
    segment_bytes: u64,
    /// What pieces of memory are to be multiples of, as far as is known.
    alignment: usize,
    next_id: u32,
    tail: Option<Tail>,
    /// Segments that this batch filled, or failed to create.
    filled: Vec<Extent>,
    blocks: Blocks,
}

impl Writer {
    /// A writer whose first segment will be `next_id`. Segments end at `segment_bytes`, or with the first record that is longer.
    pub(super) fn new(
        files: Arc<SegmentFiles>,
        create: Create,
        segment_bytes: u64,
        alignment: usize,
        next_id: u32,
        blocks: Blocks,
    ) -> Self {
        Self { files, create, segment_bytes, alignment, next_id, tail: None, filled: Vec::new(), blocks }
    }

    /// The files it writes.
    pub(super) fn files(&self) -> &Arc<SegmentFiles> {
        &self.files
    }

    /// Where the record of `message` goes if it is the next; nothing is created or written yet.
    pub(super) fn layout(&self, message: &ArchiveMessage<'_>) -> Layout {
        let at = |place| Layout::new(message, place, self.alignment);
        let open = self.tail.as_ref().map(|tail| (tail, at(tail.place())));
        let open = open.filter(|(tail, layout)| tail.has_room(layout.bytes, self.segment_bytes));
        open.map_or_else(|| at(Location { segment: self.next_id, offset: SEGMENT_HEADER_BYTES }), |(_, layout)| layout)
    }

    /// Writes `message` as it was laid out; how many bytes of its payload were copied.
    pub(super) fn append<'a>(
        &mut self,
        message: &ArchiveMessage<'a>,
        layout: &Layout,
        pending: &mut Pending<'_, '_, 'a>,
    ) -> io::Result<usize> {
        let open = self.tail.take_if(|tail| tail.place() == layout.place);
        let tail = match open {
            Some(tail) => tail,
            None => self.next_segment(pending)?,
        };
        self.tail.insert(tail).append(message, layout, &mut self.blocks, pending)
    }

    /// Returns when the disk has every record of the batch.
    pub(super) fn sync(&mut self, pending: &mut Pending<'_, '_, '_>) -> io::Result<()> {
        self.tail.as_mut().map_or(Ok(()), |tail| tail.sync(&mut self.blocks, pending))
    }

    /// The segments that the batch added to.
    pub(super) fn extents(&self) -> impl Iterator<Item = &Extent> {
        let last = self.tail.as_ref().map(|tail| &tail.extent);
        self.filled.iter().chain(last).filter(|extent| extent.is_touched())
    }

    /// The segment that the next record goes to, if it has room.
    pub(super) fn active(&self) -> Option<u32> {
        self.tail.as_ref().map(|tail| tail.extent.id)
    }

    /// The number of the next segment.
    pub(super) fn next_id(&self) -> u32 {
        self.next_id
    }

    /// The index has the batch.
    pub(super) fn keep(&mut self) {
        self.filled.clear();
        if let Some(tail) = &mut self.tail {
            tail.extent.keep();
        }
    }

    /// Takes the batch back, and leaves the segment that it began in. What cannot be removed now is offered again by the rescan at the
    /// next start, which does no harm: the messages were accepted.
    fn abandon(&mut self) {
        let last = self.tail.take().map(|tail| tail.extent);
        for extent in self.filled.drain(..).chain(last) {
            let path = self.files.path_of(extent.id);
            let taken_back = match extent.kept_bytes() {
                0 => fs::remove_file(&path),
                kept => OpenOptions::new().write(true).open(&path).and_then(|file| file.set_len(kept)),
            };
            if let Err(error) = taken_back {
                tracing::warn!(segment = %path.display(), %error, "an unfinished batch stays behind the end of a segment");
            }
        }
        self.blocks.clear();
    }

    /// Lets go of the present segment, which has no unfinished batch.
    pub(super) fn leave(&mut self) {
        self.tail = None;
    }

    /// Finishes the present segment and starts another.
    fn next_segment(&mut self, pending: &mut Pending<'_, '_, '_>) -> io::Result<Tail> {
        self.sync(pending)?;
        self.filled.extend(self.tail.take().map(|tail| tail.extent));
        let header = SegmentHeader::new(self.next_id);
        // Never used twice, not even after an error, which may leave a file of that name.
        self.next_id += 1;
        self.filled.push(Extent::new(header.id));
        let io = (self.create)(&self.files.path_of(header.id), header)?;
        self.files.sync_folder()?;
        self.filled.pop();
        self.alignment = io.alignment();
        Ok(Tail::new(io, header))
    }
}
