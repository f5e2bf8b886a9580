//! What lies in a segment file, byte by byte. All numbers are little-endian.
//!
//! ```text
//! block 0, 4 096 bytes:  two copies of the segment header, at 0 and at 2 048; the rest zero
//!   magic 8 │ version u32 │ segment u32 │ salt u64 │ checksum u64 of the 24 bytes before
//! then records, each at a multiple of 8; the first record of a batch at a multiple of 4 096; what lies between is zero
//!   magic u32 │ version u8 │ checksum kind u8 │ zero u16 │ segment u32 │ sequence u32 │ hash 32 │ timestamp i64 │ message version u32
//!   bytes of pubsub topic, content topic, meta and payload, u32 each │ skipped u32
//!   checksum u64 of these four │ checksum u64 of the header
//!   pubsub topic │ content topic │ meta │ skipped zeroes │ payload │ zeroes to the next multiple of 8
//! ```
//!
//! Zeroes are skipped so that a payload lies in the file as it lies in memory, page by page: its whole pages are then written from there.
//! Version 1 of a record had none, and a zero in the place of their number; version 1 of a segment has such records only.
//!
//! A record counts only in the segment that it names, at its place in the sequence of that segment (0 for the first record), and if both
//! checksums hold. They start from the salt, which is drawn anew for each segment: nobody who can choose a payload can write something
//! into it that a rescan would take for a record.
//!
//! The checksum is XXH3 with 64 bits, over what a record holds. The message id is a digest of the encoded message, which no record holds;
//! records that did would save this pass on the way in, a sixth of what storing costs, and pay seven times as much on the way out, where
//! every record is checked.

use std::hash::{BuildHasher, RandomState};
use std::ops::Range;

use twox_hash::XxHash3_64;

use crate::{ArchiveMessage, Hash, PAYLOAD_BYTES_MAX};

/// Direct writes begin and end at multiples of this, in the file and in memory: no block device asks for more.
pub(super) const ALIGNMENT: usize = 4_096;
/// Bytes of the block that the segment headers lie in.
pub(super) const SEGMENT_HEADER_BYTES: u64 = ALIGNMENT as u64;
/// Bytes of a record before its topics.
pub(super) const RECORD_HEADER_BYTES: usize = 96;
/// Shorter payloads are cheaper to copy than to hand to the kernel piece by piece.
pub(super) const IN_PLACE_BYTES_MIN: usize = 32 << 10;
/// Records begin at multiples of this.
pub(super) const RECORD_ALIGNMENT: u64 = 8;
/// Most bytes of topics and meta together; the network allows less for the whole message.
const FIELDS_BYTES_MAX: usize = 1 << 20;
/// Most bytes of a record: nothing longer is ever written, and no claim of more is believed.
pub(super) const RECORD_BYTES_MAX: u64 = ((RECORD_HEADER_BYTES + FIELDS_BYTES_MAX + ALIGNMENT + PAYLOAD_BYTES_MAX)
    as u64)
    .next_multiple_of(RECORD_ALIGNMENT);

const SEGMENT_MAGIC: [u8; 8] = *b"LVDASEG\x01";
const SEGMENT_VERSION: u32 = 2;
const SEGMENT_HEADER_COPIES: [usize; 2] = [0, ALIGNMENT / 2];
/// First bytes of every record.
pub(super) const RECORD_MAGIC: [u8; 4] = *b"LREC";
const RECORD_VERSION: u8 = 2;
const CHECKSUM_XXH3: u8 = 1;
const HEADER_CHECKSUM_AT: usize = RECORD_HEADER_BYTES - 8;

/// The place of a record: it is also the id of its row in the index, so that rows lie there in the order of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Location {
    pub(super) segment: u32,
    pub(super) offset: u64,
}

impl Location {
    pub(super) fn id(self) -> i64 {
        (i64::from(self.segment) << 32) | (self.offset / RECORD_ALIGNMENT) as i64
    }

    pub(super) fn of_id(id: i64) -> Self {
        Self { segment: (id >> 32) as u32, offset: (id as u64 & 0xffff_ffff) * RECORD_ALIGNMENT }
    }
}

/// What a segment file says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SegmentHeader {
    pub(super) id: u32,
    pub(super) salt: u64,
}

impl SegmentHeader {
    /// The header of a new segment.
    pub(super) fn new(id: u32) -> Self {
        // The standard library seeds its hash maps with random keys, which is all the randomness needed here.
        Self { id, salt: RandomState::new().hash_one(id) }
    }

    /// The first block of the file.
    pub(super) fn encode(self) -> Vec<u8> {
        let mut block = vec![0; ALIGNMENT];
        for at in SEGMENT_HEADER_COPIES {
            block[at..at + 8].copy_from_slice(&SEGMENT_MAGIC);
            block[at + 8..at + 12].copy_from_slice(&SEGMENT_VERSION.to_le_bytes());
            block[at + 12..at + 16].copy_from_slice(&self.id.to_le_bytes());
            block[at + 16..at + 24].copy_from_slice(&self.salt.to_le_bytes());
            let checksum = XxHash3_64::oneshot(&block[at..at + 24]);
            block[at + 24..at + 32].copy_from_slice(&checksum.to_le_bytes());
        }
        block
    }

    /// Reads the first block of a file, by whichever copy is whole.
    pub(super) fn decode(block: &[u8]) -> Option<Self> {
        SEGMENT_HEADER_COPIES.into_iter().find_map(|at| {
            let copy = block.get(at..at + 32)?;
            let whole = copy[..8] == SEGMENT_MAGIC
                && (1..=SEGMENT_VERSION).contains(&u32_at(copy, 8))
                && u64_at(copy, 24) == XxHash3_64::oneshot(&copy[..24]);
            whole.then(|| Self { id: u32_at(copy, 12), salt: u64_at(copy, 16) })
        })
    }
}

/// The header of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RecordHeader {
    pub(super) sequence: u32,
    pub(super) hash: Hash,
    pub(super) timestamp: i64,
    pub(super) version: u32,
    /// Lengths of pubsub topic, content topic, meta and payload.
    pub(super) lengths: [u32; 4],
    /// Zeroes before the payload.
    skipped: u32,
    checksum: u64,
}

/// Whether the archive takes `message`: not if it is too large.
pub(super) fn fits(message: &ArchiveMessage<'_>) -> bool {
    let [pubsub_topic, content_topic, meta, payload] = pieces(message).map(<[u8]>::len);
    let fields = pubsub_topic.saturating_add(content_topic).saturating_add(meta);
    payload <= PAYLOAD_BYTES_MAX && fields <= FIELDS_BYTES_MAX
}

/// Where a record goes, and how long it is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) place: Location,
    /// Zeroes before the payload.
    pub(super) skipped: u32,
    /// Bytes of the record, padding included.
    pub(super) bytes: u64,
}

impl Layout {
    /// That of `message` at `place`, if pieces of memory at multiples of `alignment` may be written to such places of the file.
    pub(super) fn new(message: &ArchiveMessage<'_>, place: Location, alignment: usize) -> Self {
        let [pubsub_topic, content_topic, meta, payload] = pieces(message);
        let before = RECORD_HEADER_BYTES + pubsub_topic.len() + content_topic.len() + meta.len();
        let skipped = if payload.len() < IN_PLACE_BYTES_MIN {
            0
        } else {
            payload.as_ptr().addr().wrapping_sub(place.offset as usize + before) % alignment
        };
        let bytes = ((before + skipped + payload.len()) as u64).next_multiple_of(RECORD_ALIGNMENT);
        Self { place, skipped: skipped as u32, bytes }
    }
}

/// The variable parts of a record, in their order.
pub(super) fn pieces<'a>(message: &ArchiveMessage<'a>) -> [&'a [u8]; 4] {
    [message.pubsub_topic.as_bytes(), message.content_topic.as_bytes(), message.meta, message.payload]
}

impl RecordHeader {
    /// The header of `message`, as record `sequence` of `segment`. Reads the payload once, for its checksum.
    pub(super) fn encode(
        message: &ArchiveMessage<'_>,
        segment: SegmentHeader,
        sequence: u32,
        skipped: u32,
    ) -> [u8; RECORD_HEADER_BYTES] {
        let pieces = pieces(message);
        let mut bytes = [0; RECORD_HEADER_BYTES];
        bytes[..4].copy_from_slice(&RECORD_MAGIC);
        bytes[4..6].copy_from_slice(&[RECORD_VERSION, CHECKSUM_XXH3]);
        bytes[8..12].copy_from_slice(&segment.id.to_le_bytes());
        bytes[12..16].copy_from_slice(&sequence.to_le_bytes());
        bytes[16..48].copy_from_slice(&message.hash);
        bytes[48..56].copy_from_slice(&message.timestamp.to_le_bytes());
        bytes[56..60].copy_from_slice(&message.version.to_le_bytes());
        for (cell, piece) in bytes[60..76].chunks_exact_mut(4).zip(pieces) {
            cell.copy_from_slice(&(piece.len() as u32).to_le_bytes());
        }
        bytes[76..80].copy_from_slice(&skipped.to_le_bytes());
        let checksum = checksum_of(segment.salt, pieces);
        bytes[80..88].copy_from_slice(&checksum.to_le_bytes());
        let checksum = XxHash3_64::oneshot_with_seed(segment.salt, &bytes[..HEADER_CHECKSUM_AT]);
        bytes[HEADER_CHECKSUM_AT..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// Reads a header of `segment`; nothing unless its checksum holds and it belongs there.
    pub(super) fn decode(bytes: &[u8], segment: SegmentHeader) -> Option<Self> {
        let bytes = bytes.first_chunk::<RECORD_HEADER_BYTES>()?;
        let ours = bytes[..4] == RECORD_MAGIC
            && (1..=RECORD_VERSION).contains(&bytes[4])
            && bytes[5] == CHECKSUM_XXH3
            && u32_at(bytes, 8) == segment.id
            && u64_at(bytes, HEADER_CHECKSUM_AT)
                == XxHash3_64::oneshot_with_seed(segment.salt, &bytes[..HEADER_CHECKSUM_AT]);
        let mut hash = [0; 32];
        hash.copy_from_slice(&bytes[16..48]);
        let header = || Self {
            sequence: u32_at(bytes, 12),
            hash,
            timestamp: u64_at(bytes, 48).cast_signed(),
            version: u32_at(bytes, 56),
            lengths: [60, 64, 68, 72].map(|at| u32_at(bytes, at)),
            skipped: u32_at(bytes, 76),
            checksum: u64_at(bytes, 80),
        };
        ours.then(header).filter(|header| header.record_bytes() <= RECORD_BYTES_MAX)
    }

    /// Bytes of the whole record, padding included.
    pub(super) fn record_bytes(&self) -> u64 {
        let variable: u64 = self.lengths.iter().map(|length| u64::from(*length)).sum();
        (RECORD_HEADER_BYTES as u64 + variable + u64::from(self.skipped)).next_multiple_of(RECORD_ALIGNMENT)
    }

    /// Where in the record the payload lies.
    pub(super) fn payload_range(&self) -> Range<usize> {
        let [pubsub_topic, content_topic, meta, payload] = self.lengths.map(|length| length as usize);
        let start = RECORD_HEADER_BYTES + pubsub_topic + content_topic + meta + self.skipped as usize;
        start..start + payload
    }

    /// The variable parts of `record`, which begins with this header; nothing if it is shorter than they are, or damaged.
    pub(super) fn parts<'a>(&self, record: &'a [u8], segment: SegmentHeader) -> Option<[&'a [u8]; 4]> {
        let mut rest = record.get(RECORD_HEADER_BYTES..)?;
        let mut parts = [&[][..]; 4];
        for (part, length) in parts[..3].iter_mut().zip(self.lengths) {
            (*part, rest) = rest.split_at_checked(length as usize)?;
        }
        parts[3] = record.get(self.payload_range())?;
        (checksum_of(segment.salt, parts) == self.checksum).then_some(parts)
    }
}

/// Each part starts from the checksum of those before it; their lengths are in the header.
fn checksum_of(salt: u64, parts: [&[u8]; 4]) -> u64 {
    parts.into_iter().fold(salt, XxHash3_64::oneshot_with_seed)
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut number = [0; 4];
    number.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(number)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut number = [0; 8];
    number.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(number)
}

#[cfg(test)]
mod tests {
    use super::{ALIGNMENT, IN_PLACE_BYTES_MIN, Layout, Location, RECORD_HEADER_BYTES, RecordHeader, SegmentHeader};
    use crate::ArchiveMessage;

    #[test]
    fn places_and_ids_agree() {
        for place in [(0, 4_096), (1, 8), (7, 64 << 20), (i32::MAX as u32, (1 << 35) - 8)] {
            let place = Location { segment: place.0, offset: place.1 };
            assert_eq!(Location::of_id(place.id()), place);
            assert!(place.id() >= 0);
        }
    }

    #[test]
    fn segment_header_survives_the_loss_of_either_copy() {
        let header = SegmentHeader::new(9);
        assert_ne!(header.salt, SegmentHeader::new(9).salt);
        for (first, second) in [(false, false), (true, false), (false, true), (true, true)] {
            let mut block = header.encode();
            block[17] ^= u8::from(first);
            block[2_048 + 13] ^= u8::from(second);
            assert_eq!(SegmentHeader::decode(&block), (!(first && second)).then_some(header));
        }
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        let segment = SegmentHeader::new(3);
        let message = ArchiveMessage {
            hash: [5; 32],
            pubsub_topic: "/waku/2/rs/0/0",
            content_topic: "/test/1/format/proto",
            payload: &[0x5a; 77],
            version: 1,
            timestamp: -1,
            meta: &[1, 2, 3],
        };
        let mut record = RecordHeader::encode(&message, segment, 11, 21).to_vec();
        let [pubsub_topic, content_topic, meta, payload] = super::pieces(&message);
        let zeroes = &[0; 21][..];
        [pubsub_topic, content_topic, meta, zeroes, payload].iter().for_each(|piece| record.extend_from_slice(piece));
        let whole = |record: &[u8]| {
            let header = RecordHeader::decode(record, segment)?;
            header.parts(record, segment).map(|parts| (header, parts.map(<[u8]>::to_vec)))
        };
        let (header, parts) = whole(&record).unwrap();
        assert_eq!((header.sequence, header.hash, header.timestamp, header.version), (11, [5; 32], -1, 1));
        assert_eq!(parts, super::pieces(&message).map(<[u8]>::to_vec));
        assert_eq!(header.record_bytes(), (record.len() as u64).next_multiple_of(8));
        assert_eq!(RecordHeader::decode(&record, SegmentHeader { id: 4, ..segment }), None);
        assert_eq!(RecordHeader::decode(&record, SegmentHeader { salt: !segment.salt, ..segment }), None);
        let skipped = header.payload_range().start - 21..header.payload_range().start;
        for bit in 0..record.len() * 8 {
            record[bit / 8] ^= 1 << (bit % 8);
            // What is skipped says nothing.
            assert_eq!(whole(&record).is_some(), skipped.contains(&(bit / 8)), "bit {bit}");
            record[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn long_payloads_lie_in_the_file_as_in_memory() {
        let memory = vec![1; IN_PLACE_BYTES_MIN + 3 * ALIGNMENT];
        for (start, bytes) in [(0, IN_PLACE_BYTES_MIN), (1, IN_PLACE_BYTES_MIN), (4_095, 40_000), (7, 100)] {
            let payload = &memory[start..start + bytes];
            let message = ArchiveMessage {
                hash: [5; 32],
                pubsub_topic: "/waku/2/rs/0/0",
                content_topic: "/test/1/format/proto",
                payload,
                version: 1,
                timestamp: 0,
                meta: &[],
            };
            let place = Location { segment: 1, offset: 4_096 + 8 * start as u64 };
            let layout = Layout::new(&message, place, ALIGNMENT);
            let before = RECORD_HEADER_BYTES + message.pubsub_topic.len() + message.content_topic.len();
            let at = place.offset as usize + before + layout.skipped as usize;
            if bytes < IN_PLACE_BYTES_MIN {
                assert_eq!(layout.skipped, 0);
            } else {
                assert_eq!(at % ALIGNMENT, payload.as_ptr().addr() % ALIGNMENT);
            }
            assert!((layout.skipped as usize) < ALIGNMENT && layout.bytes.is_multiple_of(8));
            assert_eq!(Layout::new(&message, place, 1).skipped, 0, "where any place will do");
        }
    }
}
