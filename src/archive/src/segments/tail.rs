//! The segment that records go to: gather, write, sync.

use std::io;

use super::block::Blocks;
use super::format::{self, ALIGNMENT, Location, RECORD_ALIGNMENT, RecordHeader, SEGMENT_HEADER_BYTES, SegmentHeader};
use super::io::SegmentIo;
use crate::ArchiveMessage;

const ZEROES: [u8; ALIGNMENT] = [0; ALIGNMENT];

/// How far a segment reaches, and what the batch added to it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    pub(super) id: u32,
    /// Bytes before the batch; 0 if the batch created the segment.
    kept_bytes: u64,
    /// Bytes, those included that wait in a block.
    pub(super) bytes: u64,
    /// Records, which is the sequence number of the next one.
    pub(super) records: u32,
    /// Records of this batch.
    pub(super) added: u32,
    /// Oldest and newest timestamp of this batch.
    pub(super) timestamps: (i64, i64),
}

impl Extent {
    pub(super) fn new(id: u32) -> Self {
        let timestamps = (i64::MAX, i64::MIN);
        Self { id, kept_bytes: 0, bytes: SEGMENT_HEADER_BYTES, records: 0, added: 0, timestamps }
    }

    pub(super) fn kept_bytes(&self) -> u64 {
        self.kept_bytes
    }

    pub(super) fn is_touched(&self) -> bool {
        self.bytes != self.kept_bytes
    }

    pub(super) fn keep(&mut self) {
        let (id, bytes, records) = (self.id, self.bytes, self.records);
        *self = Self { kept_bytes: bytes, bytes, records, ..Self::new(id) };
    }

    pub(super) fn add(&mut self, timestamp: i64) {
        self.records += 1;
        self.added += 1;
        self.timestamps = (self.timestamps.0.min(timestamp), self.timestamps.1.max(timestamp));
    }
}

/// An open segment, written up to its extent but for what waits in a block.
pub(super) struct Tail {
    io: Box<dyn SegmentIo>,
    header: SegmentHeader,
    pub(super) extent: Extent,
}

impl Tail {
    pub(super) fn new(io: Box<dyn SegmentIo>, header: SegmentHeader) -> Self {
        Self { io, header, extent: Extent::new(header.id) }
    }

    /// Whether a record of `record_bytes` ends within `segment_bytes`, or is the first.
    pub(super) fn has_room(&self, record_bytes: u64, segment_bytes: u64) -> bool {
        self.extent.records == 0 || self.extent.bytes + record_bytes <= segment_bytes
    }

    /// Where the next record begins.
    pub(super) fn place(&self) -> Location {
        Location { segment: self.extent.id, offset: self.extent.bytes }
    }

    /// Writes a record by way of `blocks`; whether its payload was copied there.
    pub(super) fn append(&mut self, message: &ArchiveMessage<'_>, blocks: &mut Blocks) -> io::Result<bool> {
        let header = RecordHeader::encode(message, self.header, self.extent.records);
        let [pubsub_topic, content_topic, meta, payload] = format::pieces(message);
        for piece in [&header, pubsub_topic, content_topic, meta] {
            self.gather(piece, blocks)?;
        }
        let copied = payload.len() < self.io.in_place_bytes_min();
        if copied {
            self.gather(payload, blocks)?;
        } else {
            self.write_in_place(payload, blocks)?;
        }
        self.pad(RECORD_ALIGNMENT as usize, blocks)?;
        self.extent.add(message.timestamp);
        Ok(copied && !payload.is_empty())
    }

    /// Writes what was gathered, up to a multiple of [`ALIGNMENT`], and returns when the disk has it.
    pub(super) fn sync(&mut self, blocks: &mut Blocks) -> io::Result<()> {
        self.pad(ALIGNMENT, blocks)?;
        self.flush(blocks)?;
        self.io.sync()
    }

    fn gather(&mut self, bytes: &[u8], blocks: &mut Blocks) -> io::Result<()> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let before = rest.len();
            rest = blocks.gather(rest);
            self.extent.bytes += (before - rest.len()) as u64;
            if blocks.is_full() {
                self.flush(blocks)?;
            }
        }
        Ok(())
    }

    fn write_in_place(&mut self, payload: &[u8], blocks: &mut Blocks) -> io::Result<()> {
        let at = self.written(blocks);
        self.io.write(blocks.take(at), payload, at.offset)?;
        self.extent.bytes += payload.len() as u64;
        Ok(())
    }

    fn pad(&mut self, alignment: usize, blocks: &mut Blocks) -> io::Result<()> {
        let bytes = self.extent.bytes.next_multiple_of(alignment as u64) - self.extent.bytes;
        self.gather(&ZEROES[..bytes as usize], blocks)
    }

    fn flush(&mut self, blocks: &mut Blocks) -> io::Result<()> {
        if blocks.gathered() == 0 {
            return Ok(());
        }
        let at = self.written(blocks);
        self.io.write(blocks.take(at), &[], at.offset)
    }

    /// Where what was gathered goes.
    fn written(&self, blocks: &Blocks) -> Location {
        Location { segment: self.extent.id, offset: self.extent.bytes - blocks.gathered() as u64 }
    }
}
