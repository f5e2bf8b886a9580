//! Reading a segment without its index, from some record on to its end.
//!
//! A record whose checksum fails is passed by: its header says where the next one begins. Where no header can be read, the scan goes on
//! at the next multiple of 8 that has one. Damage is only what a whole record lies behind; all that is behind the last whole record is the
//! torn end of a write that was never acknowledged.

use std::io;
use std::os::unix::fs::FileExt;

use super::files::OpenSegment;
use super::format::{ALIGNMENT, RECORD_ALIGNMENT, RECORD_HEADER_BYTES, RECORD_MAGIC, RecordHeader};

/// Bytes looked through at once for the next header.
const SEARCH_BYTES: usize = 1 << 20;

/// What a scan meets.
pub(super) enum Met<'a> {
    /// A whole record, at `offset`, and its topics.
    Record { offset: u64, header: &'a RecordHeader, pubsub_topic: &'a str, content_topic: &'a str },
    /// Bytes from `offset` that hold no whole record, though one lies behind them; `records` by their sequence.
    Damage { offset: u64, bytes: u64, records: u32 },
}

/// Where a scan ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct End {
    /// The end of the last whole record.
    pub(super) offset: u64,
    /// The sequence number of the next record.
    pub(super) sequence: u32,
}

/// A scan of one segment.
pub(super) struct Scan<'a> {
    segment: &'a OpenSegment,
    file_bytes: u64,
    end: End,
    /// One record at a time, or a stretch that is searched.
    buffer: Vec<u8>,
}

impl<'a> Scan<'a> {
    /// A scan from `start` on, where all before is known.
    pub(super) fn new(segment: &'a OpenSegment, start: End) -> io::Result<Self> {
        let file_bytes = segment.file.metadata()?.len();
        Ok(Self { segment, file_bytes, end: start, buffer: Vec::new() })
    }

    /// Reports everything up to the end of the file to `meet`.
    pub(super) fn run<E: From<io::Error>>(mut self, mut meet: impl FnMut(Met<'_>) -> Result<(), E>) -> Result<End, E> {
        let mut at = self.end.offset;
        while let Some((offset, header)) = self.next_header(at)? {
            at = offset + header.record_bytes();
            if let Some((pubsub_topic, content_topic)) = self.read_topics(offset, &header)? {
                let skipped = self.skipped(offset)?;
                if skipped || header.sequence != self.end.sequence {
                    let (from, records) = (self.end.offset, header.sequence - self.end.sequence);
                    meet(Met::Damage { offset: from, bytes: offset - from, records })?;
                }
                meet(Met::Record {
                    offset,
                    header: &header,
                    pubsub_topic: &pubsub_topic,
                    content_topic: &content_topic,
                })?;
                self.end = End { offset: at, sequence: header.sequence + 1 };
            }
        }
        Ok(self.end)
    }

    /// The topics of a record, if all of it is whole.
    fn read_topics(&mut self, offset: u64, header: &RecordHeader) -> io::Result<Option<(String, String)>> {
        self.read(offset, header.record_bytes() as usize)?;
        let Some([pubsub_topic, content_topic, ..]) = header.parts(&self.buffer, self.segment.header) else {
            return Ok(None);
        };
        let text = |part: &[u8]| String::from_utf8(part.to_vec()).ok();
        Ok(text(pubsub_topic).zip(text(content_topic)))
    }

    /// Whether anything but padding lies between the last whole record and `offset`.
    fn skipped(&mut self, offset: u64) -> io::Result<bool> {
        let gap = offset - self.end.offset;
        if gap >= ALIGNMENT as u64 {
            return Ok(true);
        }
        self.read(self.end.offset, gap as usize)?;
        Ok(self.buffer.iter().any(|byte| *byte != 0))
    }

    /// The next header at or behind `from` that can be read, belongs here, and whose record ends within the file.
    fn next_header(&mut self, from: u64) -> io::Result<Option<(u64, RecordHeader)>> {
        let mut at = from;
        let header_bytes = RECORD_HEADER_BYTES as u64;
        while at + header_bytes <= self.file_bytes {
            // The first look is for the next record, which mostly is where it should be; the longer ones are searches.
            let bytes = if at == from { ALIGNMENT } else { SEARCH_BYTES };
            self.read(at, bytes.min((self.file_bytes - at) as usize))?;
            let places = (0..=self.buffer.len() - RECORD_HEADER_BYTES).step_by(RECORD_ALIGNMENT as usize);
            let mut candidates = places.filter(|place| self.buffer[*place..*place + 4] == RECORD_MAGIC);
            let found = candidates.find_map(|place| {
                let header = RecordHeader::decode(&self.buffer[place..], self.segment.header)?;
                let offset = at + place as u64;
                let fits = offset + header.record_bytes() <= self.file_bytes && header.sequence >= self.end.sequence;
                fits.then_some((offset, header))
            });
            if found.is_some() {
                return Ok(found);
            }
            // So far that a header that begins in this stretch and ends in the next is found there.
            at += (self.buffer.len() - RECORD_HEADER_BYTES) as u64 / RECORD_ALIGNMENT * RECORD_ALIGNMENT
                + RECORD_ALIGNMENT;
        }
        Ok(None)
    }

    fn read(&mut self, offset: u64, bytes: usize) -> io::Result<()> {
        self.buffer.resize(bytes, 0);
        self.segment.file.read_exact_at(&mut self.buffer, offset)
    }
}
