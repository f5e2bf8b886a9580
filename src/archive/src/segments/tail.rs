//! The segment that records go to: gather, write, sync.

use std::io;
use std::ops::Range;

use levada_engine::io::Piece;

use super::block::Blocks;
use super::format::{
    self, ALIGNMENT, IN_PLACE_BYTES_MIN, Layout, Location, RECORD_ALIGNMENT, RecordHeader, SEGMENT_HEADER_BYTES,
    SegmentHeader,
};
use super::io::SegmentIo;
use super::pending::Pending;
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

/// An open segment, written up to its extent but for what is pending or waits in a block.
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

    /// Writes a record, laid out for this place; how many bytes of its payload were copied into `blocks`.
    pub(super) fn append<'a>(
        &mut self,
        message: &ArchiveMessage<'a>,
        layout: &Layout,
        blocks: &mut Blocks,
        pending: &mut Pending<'_, '_, 'a>,
    ) -> io::Result<usize> {
        let header = RecordHeader::encode(message, self.header, self.extent.records, layout.skipped);
        let [pubsub_topic, content_topic, meta, payload] = format::pieces(message);
        for piece in [&header, pubsub_topic, content_topic, meta, &ZEROES[..layout.skipped as usize]] {
            self.gather(piece, blocks, pending)?;
        }
        let lent = self.whole_pages(payload);
        self.gather(&payload[..lent.start], blocks, pending)?;
        self.lend(payload, lent.clone(), blocks, pending)?;
        self.gather(&payload[lent.end..], blocks, pending)?;
        self.pad(RECORD_ALIGNMENT as usize, blocks, pending)?;
        self.extent.add(message.timestamp);
        Ok(payload.len() - lent.len())
    }

    /// Writes what was gathered, up to a multiple of [`ALIGNMENT`], and returns when the disk has it.
    pub(super) fn sync(&mut self, blocks: &mut Blocks, pending: &mut Pending<'_, '_, '_>) -> io::Result<()> {
        self.pad(ALIGNMENT, blocks, pending)?;
        self.hand_out(blocks, pending);
        self.write(blocks, pending)?;
        pending.finish()?;
        self.io.sync()
    }

    /// The part of a payload, to be written next, that can be written from where it lies; empty if it is to be copied.
    fn whole_pages(&self, payload: &[u8]) -> Range<usize> {
        let (start, alignment) = (payload.as_ptr().addr(), self.io.alignment());
        let first = start.next_multiple_of(alignment) - start;
        let as_in_memory = (self.extent.bytes + first as u64).is_multiple_of(alignment as u64);
        if payload.len() < IN_PLACE_BYTES_MIN || !as_in_memory {
            return 0..0;
        }
        first..(start + payload.len()) / alignment * alignment - start
    }

    fn gather(&mut self, bytes: &[u8], blocks: &mut Blocks, pending: &mut Pending<'_, '_, '_>) -> io::Result<()> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let before = rest.len();
            rest = blocks.gather(rest);
            self.extent.bytes += (before - rest.len()) as u64;
            if blocks.is_full() {
                self.hand_out(blocks, pending);
                self.write_if_much(blocks, pending)?;
            }
        }
        Ok(())
    }

    fn lend<'a>(
        &mut self,
        payload: &'a [u8],
        part: Range<usize>,
        blocks: &mut Blocks,
        pending: &mut Pending<'_, '_, 'a>,
    ) -> io::Result<()> {
        if part.is_empty() {
            return Ok(());
        }
        self.hand_out(blocks, pending);
        let (place, bytes) = (self.place(), part.len() as u64);
        pending.lend(payload, part, place);
        self.extent.bytes += bytes;
        self.write_if_much(blocks, pending)
    }

    fn pad(&mut self, alignment: usize, blocks: &mut Blocks, pending: &mut Pending<'_, '_, '_>) -> io::Result<()> {
        let bytes = self.extent.bytes.next_multiple_of(alignment as u64) - self.extent.bytes;
        self.gather(&ZEROES[..bytes as usize], blocks, pending)
    }

    /// Takes what was gathered out of its block.
    fn hand_out(&self, blocks: &mut Blocks, pending: &mut Pending<'_, '_, '_>) {
        let bytes = blocks.gathered();
        if bytes > 0 {
            let offset = self.extent.bytes - bytes as u64;
            pending.push(Piece::Kept(blocks.take(Location { segment: self.extent.id, offset })));
        }
    }

    fn write_if_much(&self, blocks: &Blocks, pending: &mut Pending<'_, '_, '_>) -> io::Result<()> {
        if pending.is_much() { self.write(blocks, pending) } else { Ok(()) }
    }

    fn write(&self, blocks: &Blocks, pending: &mut Pending<'_, '_, '_>) -> io::Result<()> {
        let offset = self.extent.bytes - (blocks.gathered() + pending.bytes()) as u64;
        pending.write(&*self.io, offset)
    }
}
