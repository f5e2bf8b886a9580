//! The newest records in memory: they are asked for most, and direct writes leave nothing of them in the page cache.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use super::format::Location;

/// What was last written: from blocks as much as there are blocks, see [`super::block::Blocks`], and payloads that are held where they
/// lay when they were written.
#[derive(Debug, Default)]
pub(super) struct Recent {
    pieces: Mutex<Pieces>,
}

/// Both in the order of the log.
#[derive(Debug, Default)]
struct Pieces {
    gathered: VecDeque<Piece>,
    held: VecDeque<Piece>,
    /// Bytes of the slots of all that is held, and the most there may be.
    held_bytes: usize,
    held_bytes_max: usize,
}

/// A stretch of a segment.
#[derive(Debug)]
struct Piece {
    /// The turn of the block that it lies in; of a payload, the bytes of its slot.
    tag: u64,
    place: Location,
    bytes: Bytes,
}

impl Recent {
    /// Slots of so many bytes may be held.
    pub(super) fn set_held_bytes_max(&self, held_bytes_max: usize) {
        self.lock().held_bytes_max = held_bytes_max;
    }

    /// Adds what goes to `place`, behind everything before.
    pub(super) fn add(&self, turn: u64, place: Location, bytes: Bytes) {
        self.lock().gathered.push_back(Piece { tag: turn, place, bytes });
    }

    /// Adds a part of a payload that went to `place`, behind all parts before, and lets go of as many of these as it takes.
    pub(super) fn hold(&self, place: Location, bytes: Bytes, slot_bytes: usize) {
        let pieces = &mut *self.lock();
        pieces.held_bytes += slot_bytes;
        pieces.held.push_back(Piece { tag: slot_bytes as u64, place, bytes });
        while pieces.held_bytes > pieces.held_bytes_max
            && let Some(oldest) = pieces.held.pop_front()
        {
            pieces.held_bytes -= oldest.tag as usize;
        }
    }

    /// Lets go of what lies in blocks up to the one of `turn`.
    pub(super) fn remove_up_to(&self, turn: u64) {
        let gathered = &mut self.lock().gathered;
        while gathered.front().is_some_and(|piece| piece.tag <= turn) {
            gathered.pop_front();
        }
    }

    /// Lets go of every payload that is held.
    pub(super) fn release(&self) {
        let mut pieces = self.lock();
        pieces.held.clear();
        pieces.held_bytes = 0;
    }

    /// Fills `record` with what was written to `place` on; false unless all of it is here.
    pub(super) fn read(&self, place: Location, record: &mut [u8]) -> bool {
        let pieces = self.lock();
        let (mut at, mut rest) = (place, record);
        while !rest.is_empty() {
            let Some(bytes) = from(&pieces.gathered, at).or_else(|| from(&pieces.held, at)) else { return false };
            let (filled, unfilled) = rest.split_at_mut(bytes.len().min(rest.len()));
            filled.copy_from_slice(&bytes[..filled.len()]);
            at.offset += filled.len() as u64;
            rest = unfilled;
        }
        true
    }

    /// Nothing that can panic leaves the pieces between two states.
    fn lock(&self) -> MutexGuard<'_, Pieces> {
        self.pieces.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What follows in the piece that `place` lies in.
fn from(pieces: &VecDeque<Piece>, place: Location) -> Option<&[u8]> {
    let behind = pieces.partition_point(|piece| key(piece.place) <= key(place));
    let piece = pieces.get(behind.checked_sub(1)?).filter(|piece| piece.place.segment == place.segment)?;
    piece.bytes.get((place.offset - piece.place.offset) as usize..).filter(|bytes| !bytes.is_empty())
}

fn key(place: Location) -> (u32, u64) {
    (place.segment, place.offset)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::{Location, Recent};

    #[test]
    fn records_are_found_whole_or_not_at_all() {
        let recent = Recent::default();
        let text: Vec<u8> = (0..100).collect();
        let add = |turn, segment, offset: u64, range: std::ops::Range<usize>| {
            recent.add(turn, Location { segment, offset }, Bytes::copy_from_slice(&text[range]));
        };
        add(0, 1, 10, 10..20);
        add(0, 1, 20, 20..40);
        add(1, 1, 40, 40..41);
        // A gap, and another segment.
        add(1, 1, 50, 50..60);
        add(2, 2, 60, 60..70);
        let read = |segment, offset: u64, bytes: usize| {
            let mut record = vec![0; bytes];
            recent.read(Location { segment, offset }, &mut record).then_some(record)
        };
        for (segment, from, to) in [(1, 10, 41), (1, 15, 25), (1, 40, 41), (1, 50, 60), (2, 60, 70), (2, 69, 70)] {
            assert_eq!(read(segment, from, (to - from) as usize).as_deref(), Some(&text[from as usize..to as usize]));
        }
        for (segment, from, to) in
            [(1, 9, 12), (1, 30, 42), (1, 41, 50), (1, 55, 65), (1, 60, 70), (2, 65, 71), (3, 60, 61)]
        {
            assert_eq!(read(segment, from, (to - from) as usize), None, "{segment}: {from}..{to}");
        }
        recent.remove_up_to(1);
        assert_eq!((read(1, 50, 10), read(2, 60, 10).is_some()), (None, true));
    }

    #[test]
    fn payloads_are_held_as_far_as_their_slots_have_room() {
        let recent = Recent::default();
        recent.set_held_bytes_max(250);
        for number in 0..4_u8 {
            let offset = u64::from(number) * 30;
            recent.add(0, Location { segment: 1, offset }, Bytes::copy_from_slice(&[number; 10]));
            let payload = Bytes::copy_from_slice(&[number + 100; 20]);
            recent.hold(Location { segment: 1, offset: offset + 10 }, payload, 100);
        }
        let read = |offset: u64| {
            let mut record = [0; 30];
            recent.read(Location { segment: 1, offset }, &mut record).then_some((record[0], record[29]))
        };
        assert_eq!([0, 30, 60, 90].map(read), [None, None, Some((2, 102)), Some((3, 103))]);
        recent.release();
        assert_eq!(read(90), None);
    }
}
